from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from httpx import AsyncClient
from torch import Tensor

from chumoku.app.services.interventions.site import Kind, Where
from chumoku.model.checkpoint import Checkpoint
from tests.app.helpers import TEXT, parse_events, refused, trace

WANT = ["layers.1.*", "layers.2.attn.pattern", "logits"]


async def test_an_ablated_head_says_nothing(client: AsyncClient) -> None:
    plain, _ = await trace(client, want=WANT)
    cut, _ = await trace(client, want=WANT, interventions=[{"kind": "ablate", "where": {"layer": 1, "head": 5}}])
    assert not cut["layers.1.attn.z"][5].any()
    assert not cut["layers.1.attn.head_out"][5].any()
    others = [head for head in range(8) if head != 5]
    for part in ("z", "head_out"):
        np.testing.assert_array_equal(cut[f"layers.1.attn.{part}"][others], plain[f"layers.1.attn.{part}"][others])
    lost = plain["layers.1.attn.attn_out"] - cut["layers.1.attn.attn_out"]
    np.testing.assert_allclose(lost, plain["layers.1.attn.head_out"][5], atol=1e-4)
    np.testing.assert_array_equal(cut["layers.1.attn.pattern"], plain["layers.1.attn.pattern"])
    assert not np.array_equal(cut["logits"], plain["logits"])
    again, _ = await trace(client, want=WANT)
    np.testing.assert_array_equal(again["logits"], plain["logits"])  # the model itself is untouched


async def test_a_whole_layer_s_mask_is_allowed_and_the_layers_below_stay(client: AsyncClient) -> None:
    want = ["layers.*.attn.pattern", "layers.*.attn.mask"]
    plain, _ = await trace(client, want=want)
    opened = {"kind": "mask", "where": {"layer": 2}, "allow": True}
    free, _ = await trace(client, want=want, interventions=[opened])
    assert not free["layers.2.attn.mask"].any()
    assert (free["layers.2.attn.pattern"] > 0).all(), "every key has some weight"
    for layer in (0, 1):
        np.testing.assert_array_equal(free[f"layers.{layer}.attn.pattern"], plain[f"layers.{layer}.attn.pattern"])
    np.testing.assert_array_equal(free["layers.3.attn.mask"], plain["layers.3.attn.mask"])


async def test_a_column_is_forbidden(client: AsyncClient) -> None:
    edit = {"kind": "mask", "where": {"layer": 1, "key": 2}, "allow": False}
    tensors, _ = await trace(client, want=WANT, interventions=[edit])
    assert not tensors["layers.1.attn.pattern"][:, :, 2].any()


async def test_a_forbidden_cell_is_zero_and_says_why(client: AsyncClient) -> None:
    edit = {"kind": "mask", "where": {"layer": 1, "head": 3, "query": 6, "key": 2}, "allow": False}
    plain, _ = await trace(client, want=WANT)
    cut, _ = await trace(client, want=WANT, interventions=[edit])
    mask, pattern = cut["layers.1.attn.mask"], cut["layers.1.attn.pattern"]
    assert mask[3, 6, 2] == 8
    assert pattern[3, 6, 2] == 0
    assert pattern[3, 6].sum() == np.float32(1) or abs(pattern[3, 6].sum() - 1) < 1e-6
    kept = [key for key in range(7) if key != 2]
    row = plain["layers.1.attn.pattern"][3, 6]
    np.testing.assert_allclose(pattern[3, 6, kept], row[kept] / row[kept].sum(), atol=1e-6)
    mask[3, 6, 2] = 0
    np.testing.assert_array_equal(mask, plain["layers.1.attn.mask"])  # only this cell, only in this head
    untouched = np.ones(pattern.shape[:2], bool)
    untouched[3, 6] = False
    np.testing.assert_array_equal(pattern[untouched], plain["layers.1.attn.pattern"][untouched])


async def test_a_forbidden_future_cell_has_both_reasons(client: AsyncClient) -> None:
    edit = {"kind": "mask", "where": {"layer": 0, "head": 0, "query": 1, "key": 4}, "allow": False}
    tensors, _ = await trace(client, want=["layers.0.attn.mask"], interventions=[edit])
    assert tensors["layers.0.attn.mask"][0, 1, 4] == 1 | 8


async def test_a_future_cell_can_be_allowed(client: AsyncClient) -> None:
    edit = {"kind": "mask", "where": {"layer": 1, "head": 0, "query": 0, "key": 4}, "allow": True}
    tensors, _ = await trace(client, want=["layers.1.attn.*"], interventions=[edit])
    assert tensors["layers.1.attn.mask"][0, 0, 4] == 0
    row = tensors["layers.1.attn.pattern"][0, 0]
    assert row[4] > 0
    assert row[[1, 2, 3]].sum() == 0


async def test_a_row_with_nothing_allowed_is_zeros(client: AsyncClient) -> None:
    edit = {"kind": "mask", "where": {"layer": 1, "head": 0, "query": 0, "key": 0}, "allow": False}
    tensors, _ = await trace(client, want=["layers.1.attn.*", "logits"], interventions=[edit])
    assert not tensors["layers.1.attn.pattern"][0, 0].any()
    assert np.isfinite(tensors["logits"]).all()


def test_a_kind_says_how_it_changes_a_tap() -> None:
    with pytest.raises(TypeError, match=r"abstract method '?changes"):
        Kind(kind="ablate", where=Where(layer=0))  # type: ignore[abstract]


async def test_edits_add_up(client: AsyncClient) -> None:
    def cell(key: int, *, allow: bool) -> dict[str, Any]:
        return {"kind": "mask", "where": {"layer": 2, "head": 1, "query": 3, "key": key}, "allow": allow}

    several = [
        {"kind": "ablate", "where": {"layer": 1, "head": 0}},
        {"kind": "ablate", "where": {"layer": 1, "head": 7}},
        cell(1, allow=False),
        cell(2, allow=False),
        cell(1, allow=True),
    ]
    tensors, _ = await trace(client, want=["layers.1.attn.z", "layers.2.attn.mask"], interventions=several)
    assert [bool(z.any()) for z in tensors["layers.1.attn.z"]] == [False, *[True] * 6, False]
    assert tensors["layers.2.attn.mask"][1, 3, :4].tolist() == [0, 0, 8, 0]


def plain_gpt(checkpoint: Checkpoint, ids: list[int], allowed: Tensor) -> Tensor:
    """The logits of a GPT with ReLU, written out with torch's own attention; allowed bool [head query key]."""
    w, heads = checkpoint.model.state_dict(), checkpoint.config.n_head

    def linear(x: Tensor, name: str) -> Tensor:
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x: Tensor, name: str) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"], checkpoint.config.layer_norm_eps)

    x = w["token_embedding.weight"][ids] + w["positions.table.weight"][: len(ids)]  # position d_model
    for layer in (f"layers.{i}" for i in range(checkpoint.config.n_layer)):
        h = norm(x, f"{layer}.attn_residual.norm")
        q, k, v = (linear(h, f"{layer}.attn.w_{name}").unflatten(-1, (heads, -1)).transpose(0, 1) for name in "qkv")
        z = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)  # head position d_head
        x = x + linear(z.transpose(0, 1).flatten(1), f"{layer}.attn.w_o")
        h = linear(norm(x, f"{layer}.ffn_residual.norm"), f"{layer}.ffn.w_1").relu()
        x = x + linear(h, f"{layer}.ffn.w_2")
    return F.linear(norm(x, "final_norm"), w["token_embedding.weight"])


@pytest.mark.parametrize("allow", [True, False])
async def test_every_layer_at_once_is_a_changed_mask_and_one_edit_for_each_layer(
    client: AsyncClient, gpt: Checkpoint, allow: bool
) -> None:
    cell = {"head": 5, "query": 4, "key": 7 if allow else 2}
    tensors, meta = await trace(
        client, want=["logits"], interventions=[{"kind": "mask", "where": {"layer": None, **cell}, "allow": allow}]
    )
    one_each = [{"kind": "mask", "where": {"layer": i, **cell}, "allow": allow} for i in range(gpt.config.n_layer)]
    again, _ = await trace(client, want=["logits"], interventions=one_each)
    np.testing.assert_array_equal(tensors["logits"], again["logits"])
    allowed = torch.ones(gpt.config.n_head, *[len(meta["tokens"])] * 2, dtype=torch.bool).tril()
    allowed[5, 4, cell["key"]] = allow
    with torch.no_grad():
        expected = plain_gpt(gpt, [token["id"] for token in meta["tokens"]], allowed)
    np.testing.assert_allclose(tensors["logits"], expected, atol=1e-4)
    plain, _ = await trace(client, want=["logits"])
    assert np.abs(plain["logits"] - tensors["logits"])[4:].max() > 1e-2
    where = meta["run"]["interventions"][0]["where"]
    assert list(where.items()) == [("attention", "self"), ("layer", None), ("role", "mask"), *cell.items()]


async def test_an_edit_that_allows_lifts_the_reasons_that_it_names(client: AsyncClient) -> None:
    """A PAD after the text: its cells are forbidden as padding, and for earlier queries as later keys, too."""

    async def mask(*interventions: dict[str, Any]) -> np.ndarray:
        asked = {"pad": {"count": 1, "side": "right"}, "want": ["layers.0.attn.mask"]}
        tensors, meta = await trace(client, interventions=list(interventions), **asked)
        assert [one.get("lifts") for one in meta["run"]["interventions"]] == [one.get("lifts") for one in interventions]
        return tensors["layers.0.attn.mask"][0]

    def edit(allow: bool, *lifts: str) -> dict[str, Any]:
        named = {"lifts": list(lifts)} if lifts else {}
        return {"kind": "mask", "where": {"layer": 0, "head": 0}, "allow": allow, **named}

    trained = await mask()
    pad = len(trained) - 1
    assert (trained[0, pad], trained[pad, pad], trained[0, 1]) == (1 | 2, 2, 1)
    np.testing.assert_array_equal(await mask(edit(True, "causal")), trained & 254)
    np.testing.assert_array_equal(await mask(edit(True, "padding")), trained & 253)
    np.testing.assert_array_equal(await mask(edit(False), edit(True, "edited")), trained)
    np.testing.assert_array_equal(await mask(edit(False), edit(True, "causal", "padding", "window")), trained & 0 | 8)
    assert not (await mask(edit(False), edit(True))).any()
    for wrong in (edit(True, "wish"), edit(False, "edited"), edit(True) | {"lifts": []}):
        error = await refused(client, "/api/trace", 422, "invalid_request", text=TEXT, interventions=[wrong])
        assert error["where"].startswith("interventions[0].mask")


async def test_only_an_edit_that_lifts_the_causal_mask_makes_a_generation_recompute(client: AsyncClient) -> None:
    async def computed(**edit: Any) -> list[int]:
        changed = {"kind": "mask", "where": {"layer": 0, "query": 1}, **edit}
        asked = {"text": TEXT, "interventions": [changed], "temperature": 0, "max_new_tokens": 2}
        events = parse_events((await client.post("/api/generate", json=asked)).text)
        return [data["cache"]["computed"] for name, data in events if name == "step"]

    assert await computed(allow=True, lifts=["edited"]) == [1, 1]
    assert 1 not in await computed(allow=True)
