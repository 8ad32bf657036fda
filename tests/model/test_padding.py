"""PADs change nothing: padded on either side or batched with longer sentences, a sentence is computed as if alone."""

import pytest
import torch

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import Family
from chumoku.model.taps import record, tap_dims
from chumoku.model.trace import Masks, Padding, trace
from tests.model.helpers import (
    FAMILIES,
    NORM_ORDERS,
    POSITIONS,
    close,
    random_ids,
    target_of,
    tiny_checkpoint,
    tiny_model,
)
from tests.pairwise import pairwise

TEXT = "The little cat sat on the"


def check_padded(checkpoint: Checkpoint, ids: list[int], pad: Padding, tolerance: float = 1e-5) -> None:
    """Tensors of real tokens equal those without PADs. Only the source is padded."""
    options = target_of(checkpoint, ids[::-1])
    alone, padded = trace(checkpoint, ids, **options), trace(checkpoint, ids, pad=pad, **options)
    start = pad.count if pad.side == "left" else 0
    real = slice(start, start + len(alone.ids))
    assert padded.position_ids[real] == alone.position_ids == list(range(len(alone.ids)))
    for name, dims in alone.dims.items():
        sides = source_axes(name) if checkpoint.config.family == "encoder-decoder" else {"position", "query", "key"}
        cut = tuple(real if axis in sides else slice(None) for axis in dims.split())
        close(padded.tensors[name][cut], alone.tensors[name], tolerance)


def source_axes(name: str) -> set[str]:
    """The dimensions of an encoder-decoder's tap that are positions of its source."""
    if name.startswith("encoder."):
        return {"position", "query", "key"}
    if ".cross_attn." in name:
        return {"position", "key"} if name.endswith((".k", ".v")) else {"key"}
    return set()


@pytest.mark.parametrize(
    ("side", "position", "norm_order", "kind"), pairwise(["left", "right"], POSITIONS, NORM_ORDERS, FAMILIES)
)
def test_pads_move_no_token(side: str, position: str, norm_order: str, kind: Family) -> None:
    checkpoint = tiny_checkpoint(kind, position=position, norm_order=norm_order)
    check_padded(checkpoint, list(b"attention"), Padding(6, side))


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_zoo_model_keeps_what_the_app_promises(zoo: Checkpoint, side: str) -> None:
    """app/README.md: attention weights within 1e-5, any other tensor within 1e-5 of its own largest number."""
    ids = zoo.tokenizer.encode(TEXT)
    options = target_of(zoo, ids)
    alone, padded = trace(zoo, ids, **options), trace(zoo, ids, pad=Padding(9, side), **options)
    start = 9 if side == "left" else 0
    real = slice(start, start + len(alone.ids))
    for name, dims in alone.dims.items():
        sides = source_axes(name) if zoo.config.family == "encoder-decoder" else {"position", "query", "key"}
        cut = tuple(real if axis in sides else slice(None) for axis in dims.split())
        gap = (padded.tensors[name][cut].double() - alone.tensors[name].double()).abs().max()
        largest = 1.0 if name.endswith(".pattern") else float(alone.tensors[name].double().abs().max())
        assert float(gap) <= 1e-5 * largest, name


@pytest.mark.parametrize("side", ["left", "right"])
def test_pads_move_no_token_in_a_zoo_model(zoo: Checkpoint, side: str) -> None:
    ids, names = zoo.tokenizer.encode(TEXT), ["logits"]
    check_padded(zoo, ids, Padding(9, side), 2e-4)
    options = target_of(zoo, ids)
    alone, padded = (trace(zoo, ids, names, pad=pad, **options) for pad in (Padding(), Padding(9, side)))
    real = padded.tensors["logits"]
    if zoo.config.family == "decoder-only":
        real = real[9:] if side == "left" else real[:-9]
    close(real.softmax(-1), alone.tensors["logits"].softmax(-1), 1e-5)


def test_without_the_padding_mask_left_pads_are_tokens_like_any(tiny: Checkpoint) -> None:
    ids, names = list(b"attention"), ["logits", "layers.0.attn.mask"]
    unmasked = trace(tiny, ids, names, use=Masks(padding=False), pad=Padding(3))
    assert unmasked.position_ids == list(range(12))
    assert set(unmasked.tensors["layers.0.attn.mask"].unique().tolist()) == {0, masks.CAUSAL}
    assert not torch.allclose(unmasked.tensors["logits"][3:], trace(tiny, ids, names).tensors["logits"], atol=1e-2)


@pytest.mark.parametrize(("position", "moved"), [("learned", True), ("sinusoidal", True), ("none", False)])
def test_position_ids_that_do_not_follow_the_padding_mask_count_pads_too(position: str, moved: bool) -> None:
    """Even masked PADs shift the positions then, if the model has any."""
    checkpoint, ids, names = tiny_checkpoint(position=position), list(b"attention"), ["logits", "layers.0.attn.mask"]
    counted = trace(checkpoint, ids, names, pad=Padding(3, follow=False))
    assert counted.position_ids == list(range(12))
    assert (counted.tensors["layers.0.attn.mask"][:, :, :3] & masks.PADDING).all()
    alone = trace(checkpoint, ids, names).tensors["logits"]
    assert torch.allclose(counted.tensors["logits"][3:], alone, atol=1e-4) != moved


def test_the_mask_says_which_cells_are_pads(tiny: Checkpoint) -> None:
    mask = trace(tiny, list(b"ab"), ["layers.0.attn.mask"], pad=Padding(1, "right")).tensors["layers.0.attn.mask"]
    assert mask[0].tolist() == [[0, 1, 3], [0, 0, 3], [0, 0, 2]]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("causal", [True, False])
def test_a_batch_of_lengths_equals_each_alone(side: str, causal: bool) -> None:
    model, lengths, longest = tiny_model(), (1, 4, 9), 9
    rows = [random_ids(n, seed=n) for n in lengths]
    pad = torch.tensor(257)
    pads = [pad.expand(longest - n) for n in lengths]
    padded = [(p, row) if side == "left" else (row, p) for p, row in zip(pads, rows, strict=True)]
    batch = torch.stack([torch.cat(pair) for pair in padded])
    is_pad = batch == pad
    with record(tap_dims(model)) as together:
        model(batch, masks.decoder_mask(is_pad, use_causal=causal), masks.position_ids(is_pad))
    for n, row in enumerate(rows):
        is_pad_alone = torch.zeros(1, len(row), dtype=torch.bool)
        alone = model(row[None], masks.decoder_mask(is_pad_alone, use_causal=causal))[0]
        close(together.tensors["logits"][n][~is_pad[n]], alone, 1e-5)
        assert all(tensor.isfinite().all() for tensor in together.tensors.values())
