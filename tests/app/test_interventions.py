from typing import Any

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app.services.interventions import Kind, Where
from tests.app.helpers import trace

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
    with pytest.raises(TypeError, match=r"abstract method '?change"):
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
