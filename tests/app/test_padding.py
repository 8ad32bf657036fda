"""PADs on either side of a sentence: with the padding mask on and position ids that follow it, no number changes."""

import itertools

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.trace import Masks, Padding
from chumoku.model.trace import trace as run
from tests.app.helpers import TEXT, trace

PATTERN, MASK = "layers.2.attn.pattern", "layers.2.attn.mask"
WANT = [PATTERN, MASK, "embedding", "positional", "layers.5.resid_post", "logits"]
COUNT = 3

CASES = list(itertools.product(["left", "right"], [True, False], [True, False], [True, False]))


def real(side: str, n: int) -> slice:
    """The slice of the sentence between its PADs."""
    return slice(COUNT, COUNT + n) if side == "left" else slice(0, n)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("side", ["left", "right"])
async def test_a_padded_run_is_the_single_run(client: AsyncClient, gpt: Checkpoint, side: str, causal: bool) -> None:
    masks = {"causal": causal, "padding": True}
    alone, _ = await trace(client, want=["*"], masks=masks)
    padded, meta = await trace(client, want=["*"], masks=masks, pad={"count": COUNT, "side": side})
    n = len(gpt.tokenizer.encode(TEXT))
    here = real(side, n)
    for name, tensor in padded.items():
        dims = meta["dims"][name].split()
        at = tuple(here if dim in ("position", "query", "key") else slice(None) for dim in dims)
        if not name.endswith("mask"):
            np.testing.assert_allclose(tensor[at], alone[name], rtol=1e-5, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(padded[PATTERN][:, here, here], alone[PATTERN], rtol=0, atol=1e-5)
    assert meta["position_ids"][here] == list(range(n))
    assert meta["pad"] == {"count": COUNT, "side": side, "follow": True}


@pytest.mark.parametrize(("side", "causal", "padding", "follow"), CASES)
async def test_every_setting_is_the_models_own(
    client: AsyncClient, gpt: Checkpoint, side: str, causal: bool, padding: bool, follow: bool
) -> None:
    pad = {"count": COUNT, "side": side, "follow": follow}
    tensors, meta = await trace(client, want=WANT, masks={"causal": causal, "padding": padding}, pad=pad)
    ids = gpt.tokenizer.encode(TEXT)
    expected = run(gpt, ids, WANT, use=Masks(causal, padding), pad=Padding(COUNT, side, follow))  # type: ignore[arg-type]
    for name in WANT:
        np.testing.assert_array_equal(tensors[name], expected.tensors[name].numpy(), err_msg=name)
    assert meta["position_ids"] == expected.position_ids
    assert meta["text"] == TEXT
    pads = [token["index"] for token in meta["tokens"] if token["id"] == gpt.tokenizer.pad_id]
    n = len(ids)
    assert pads == ([0, 1, 2] if side == "left" else [n, n + 1, n + 2])
    assert bool((tensors[MASK][:, :, pads] & 2).all()) == padding
    if not (padding and follow):
        assert meta["position_ids"] == list(range(n + COUNT))  # a PAD counts like any token


@pytest.mark.parametrize("switch", [{"follow": False}, {"padding": False}])
async def test_left_pads_that_count_move_the_sentence(client: AsyncClient, switch: dict[str, bool]) -> None:
    """Its learned positions differ then; without the mask, weight leaks to the PADs too."""
    masks = {"causal": True, "padding": switch.get("padding", True)}
    pad = {"count": COUNT, "side": "left", "follow": switch.get("follow", True)}
    alone, _ = await trace(client, want=WANT)
    padded, _ = await trace(client, want=WANT, masks=masks, pad=pad)
    here = slice(COUNT, None)
    np.testing.assert_array_equal(padded["embedding"][here], alone["embedding"])
    assert np.abs(padded["positional"][here] - alone["positional"]).max() > 1e-2
    assert np.abs(padded["logits"][here] - alone["logits"]).max() > 1e-2
    leaked = padded[PATTERN][:, here, :COUNT].sum()
    assert (leaked > 0) == (not masks["padding"])


async def test_right_pads_are_in_the_future(client: AsyncClient) -> None:
    """Under the causal mask no real position sees them, so the padding mask and the positions make no difference."""
    alone, _ = await trace(client, want=["logits"])
    pad = {"count": COUNT, "side": "right", "follow": False}
    padded, _ = await trace(client, want=["logits"], masks={"padding": False}, pad=pad)
    np.testing.assert_allclose(padded["logits"][:-COUNT], alone["logits"], rtol=1e-5, atol=1e-5)
