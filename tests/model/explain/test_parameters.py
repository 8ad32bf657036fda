"""Parameters counted by part, against the shapes that the papers' formulas give."""

from typing import Any

import pytest

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.parameters import count_parameters
from tests.model.explain.helpers import a_model

V, D, F, L, N = 258, 15, 22, 2, 24


def by_part(checkpoint: Checkpoint) -> dict[str, int]:
    sums: dict[str, int] = {}
    for one in count_parameters(checkpoint.model).counts:
        sums[one.part] = sums.get(one.part, 0) + one.n
    return sums


@pytest.mark.parametrize("tied", [True, False])
def test_a_decoder(tied: bool) -> None:
    checkpoint = a_model("decoder-only", "pre", tie_embeddings=tied)
    square = L * (D * D + D)
    assert by_part(checkpoint) == {
        "E": V * D, "positions": N * D, "W_Q": square, "W_K": square, "W_V": square, "W_O": square,
        "W_1": L * (D * F + F), "W_2": L * (F * D + D), "LayerNorm": (2 * L + 1) * 2 * D, "unembedding": V * D,
    }  # fmt: skip
    got = count_parameters(checkpoint.model)
    assert got.untied_total - got.total == tied * V * D
    assert [one.tied for one in got.counts if one.part == "unembedding"] == [tied]


@pytest.mark.parametrize("order", ["pre", "post", "res-post"])
def test_totals_are_those_of_torch(family: Checkpoint, order: str) -> None:
    for tied in (True, False):
        checkpoint = a_model(family.config.family, order, tie_embeddings=tied)
        got = count_parameters(checkpoint.model)
        assert got.total == sum(p.numel() for p in checkpoint.model.parameters())
        assert got.untied_total == sum(p.numel() for _, p in checkpoint.model.named_parameters(remove_duplicate=False))
        assert got.total == sum(one.n for one in got.counts if not one.tied)
        assert all(one.n == sum(size(shape) for shape in one.shapes) for one in got.counts)


def size(shape: list[int]) -> int:
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def test_a_translator_shares_one_matrix_three_times_and_its_positions_are_computed() -> None:
    got = count_parameters(a_model("encoder-decoder", "post", position="sinusoidal").model)
    v = V + 1
    assert got.untied_total - got.total == 2 * v * D
    assert got.position_table == [N, D]
    assert not any(one.part == "positions" for one in got.counts)
    assert {(one.stack, one.attention) for one in got.counts if one.part == "W_Q"} == {
        ("encoder", "encoder"), ("decoder", "decoder"), ("decoder", "cross"),
    }  # fmt: skip


def test_the_shipped_models_figures_are_those_of_their_weights(zoo: Checkpoint) -> None:
    got: Any = count_parameters(zoo.model)
    assert got.total == sum(p.numel() for p in zoo.model.parameters())
