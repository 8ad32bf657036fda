"""Hand-made cross-attention: an alignment counts in any order; a sink or an even spread does not."""

import pytest
import torch
from torch import Tensor

from chumoku.model.explain.head_labels import name_heads
from chumoku.model.explain.head_scores import HeadKind, alignment_tally, cross_scores
from tests.model.helpers import close

T, S = 8, 10


def table(*keys: int, n: int = S) -> Tensor:
    return torch.eye(n)[list(keys)][None]


DIAGONAL = table(*range(T))
REVERSED = table(*reversed(range(T)))
SHUFFLED = table(3, 7, 1, 9, 0, 4, 8, 2)
TWO_TO_ONE = table(0, 0, 1, 1, 2, 2, 3, 3, n=4)
SINK = table(*[S - 1] * T)
EVEN = torch.full((1, T, S), 1 / S)


def kinds(pattern: Tensor) -> dict[HeadKind, float]:
    every = torch.ones(pattern.shape[1:], dtype=torch.bool)
    tallies = cross_scores(pattern, every)
    return {kind: float(one.score[0]) for kind, one in tallies.items()}


def label(pattern: Tensor) -> HeadKind | None:
    every = torch.ones(pattern.shape[1:], dtype=torch.bool)
    tallies = cross_scores(pattern[None], every)
    return name_heads({"cross": tallies})[0].label


@pytest.mark.parametrize("pattern", [DIAGONAL, REVERSED, SHUFFLED, TWO_TO_ONE])
def test_source_tokens_with_target_tokens_of_their_own_are_an_alignment_in_any_order(pattern: Tensor) -> None:
    assert kinds(pattern)["alignment"] == pytest.approx(1)
    assert label(pattern) == "alignment"


@pytest.mark.parametrize("pattern", [SINK, EVEN, 0.5 * SINK + 0.5 * table(*[4] * T), 0.6 * SINK + 0.4 * EVEN])
def test_equal_rows_are_not_an_alignment(pattern: Tensor) -> None:
    assert kinds(pattern)["alignment"] == pytest.approx(0, abs=1e-6)
    assert label(pattern) != "alignment"


def test_a_sink_does_not_hide_an_alignment() -> None:
    assert kinds(0.85 * SINK + 0.15 * SHUFFLED)["alignment"] > 0.8
    assert label(0.85 * SINK + 0.15 * DIAGONAL) == "alignment"
    assert label(0.95 * SINK + 0.05 * DIAGONAL) is None  # too little weight to call it an alignment


def test_even_and_first_are_recognised() -> None:
    assert label(EVEN) == "spread"
    assert label(table(*[0] * T)) == "first"
    assert label(SINK) is None


def test_it_is_cramers_v_of_the_table() -> None:
    """Equals χ² / (N (m − 1)), computed cell by cell, for rows of equal weight."""
    generator = torch.Generator().manual_seed(0)
    n = torch.randn(1, T, S, generator=generator, dtype=torch.float64).mul(2).softmax(-1)
    total, r, c = float(n.sum()), n[0].sum(1), n[0].sum(0)
    chi = sum(
        (float(n[0, i, j]) - float(r[i] * c[j]) / total) ** 2 / (float(r[i] * c[j]) / total)
        for i in range(T)
        for j in range(S)
    )
    got = alignment_tally(n, torch.ones(1, T, S, dtype=torch.bool)).score
    assert float(got) == pytest.approx(chi / (total * (min(T, S) - 1)))


def test_pads_of_the_source_are_not_keys() -> None:
    pattern = torch.cat((torch.zeros(1, T, 2), SHUFFLED), dim=-1)
    allowed = torch.ones(T, S + 2, dtype=torch.bool)
    allowed[:, :2] = False
    padded = cross_scores(pattern, allowed)
    every = torch.ones(T, S, dtype=torch.bool)
    for kind, one in cross_scores(SHUFFLED, every).items():
        close(padded[kind].score, one.score)
