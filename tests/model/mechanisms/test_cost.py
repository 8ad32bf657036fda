"""What each mechanism says it costs, against a count: of the products of matrices that torch makes, and of every
multiplication in plain loops over the formula."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp, prod

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from chumoku.model import masks
from chumoku.model.config import ModelConfig
from chumoku.model.mechanisms import MECHANISMS, distances, relative
from chumoku.model.mechanisms.mixer import CostTerm, sizes
from chumoku.model.mechanisms.relative import RelativeAttention

N, D, H, S, R = 7, 8, 2, 3, 5
SIZES = sizes(D, H, S, R)
IN_MATRICES = {"scores", "values", "table_scores", "table_values", "bias", "numerator", "denominator"}
"""The terms that the factored forms compute as products of matrices."""


def value(factor: str, n: int, sizes: Mapping[str, int]) -> int:
    """A factor at T = n."""
    if factor.isdigit():
        return int(factor)
    reach = min(sizes["s"], n)
    by_length = {"T": n, "2T−1": 2 * n - 1, "near": reach * n - reach * (reach - 1) // 2}
    return by_length[factor] if factor in by_length else sizes[factor]


def count(terms: Iterable[CostTerm], n: int, sizes: Mapping[str, int]) -> int:
    """The sum at T = n."""
    return sum(prod(value(factor, n, sizes) for factor in term.of) for term in terms)


class Counted(float):
    """A number that counts the multiplications and divisions it takes part in."""

    made = 0

    def __add__(self, other: float) -> Counted:
        return Counted(float(self) + float(other))

    __radd__ = __add__

    def __mul__(self, other: float) -> Counted:
        Counted.made += 1
        return Counted(float(self) * float(other))

    def __truediv__(self, other: float) -> Counted:
        Counted.made += 1
        return Counted(float(self) / float(other))


Row = list[Counted]


def some(*shape: int) -> list[Row]:
    return [[Counted(random.gauss(0, 1)) for _ in range(shape[-1])] for _ in range(shape[0])]


def dot(a: Sequence[Counted], b: Sequence[Counted]) -> Counted:
    return sum((x * y for x, y in zip(a, b, strict=True)), Counted(0))


def e(x: float) -> Counted:
    return Counted(exp(x))


def softmax() -> None:
    for _ in range(H):
        d = D // H
        q, k, v = some(N, d), some(N, d), some(N, d)
        for t in range(N):
            scores = [dot(q[t], k[i]) / Counted(d**0.5) for i in range(N)]
            tops = [e(score) for score in scores]
            weights = [top / sum(tops) for top in tops]
            for f in range(d):
                dot(weights, [v[i][f] for i in range(N)])


def aft_full() -> None:
    q, k, v, by_query, by_key = some(N, D), some(N, D), some(N, D), some(N, R), some(N, R)
    keyed = [[e(k[i][f]) * v[i][f] for f in range(D)] for i in range(N)]
    for t in range(N):
        w = [e(dot(by_query[t], by_key[i])) for i in range(N)]
        for f in range(D):
            above = dot(w, [keyed[i][f] for i in range(N)])
            q[t][f] * (above / dot(w, [e(k[i][f]) for i in range(N)]))


def aft_local() -> None:
    q, k, v, by_query, by_key = some(N, D), some(N, D), some(N, D), some(N, R), some(N, R)
    above, below, keyed = [Counted(0)] * D, [Counted(0)] * D, []
    for t in range(N):
        keyed.append([e(k[t][f]) * v[t][f] for f in range(D)])
        above = [above[f] + keyed[t][f] for f in range(D)]
        below = [below[f] + e(k[t][f]) for f in range(D)]
        near = range(max(0, t - S + 1), t + 1)
        more = [Counted(exp(dot(by_query[t], by_key[i])) - 1) for i in near]
        for f in range(D):
            top = above[f] + dot(more, [keyed[i][f] for i in near])
            q[t][f] * (top / (below[f] + dot(more, [e(k[i][f]) for i in near])))


def aft_simple() -> None:
    q, k, v = some(N, D), some(N, D), some(N, D)
    above, below = [Counted(0)] * D, [Counted(0)] * D
    for t in range(N):
        for f in range(D):
            above[f] += e(k[t][f]) * v[t][f]
            below[f] += e(k[t][f])
            q[t][f] * (above[f] / below[f])


NAIVE: dict[str, Callable[[], None]] = {
    "softmax": softmax,
    "aft-full": aft_full,
    "aft-local": aft_local,
    "aft-simple": aft_simple,
}


@pytest.mark.parametrize("name", NAIVE)
def test_a_mechanism_counts_every_multiplication_of_its_formula(name: str) -> None:
    cost = MECHANISMS[name].cost()
    Counted.made = 0
    NAIVE[name]()
    assert cost is not None
    assert Counted.made == count(cost.multiplications, N, SIZES)


@pytest.mark.parametrize("name", ["softmax", "relative", "rotary", "aft-full"])
def test_torch_counts_as_many_in_products_of_matrices(name: str) -> None:
    config = ModelConfig(16, 1, H, D, D, N, mechanism=name, reach=S, rank=R)
    mixer = MECHANISMS[name].build(config).eval()
    mixer.fuse(N)
    x, at = torch.randn(1, N, D), torch.arange(N)[None]
    with FlopCounterMode(display=False) as counter:
        mixer(x, x, masks.causal(N, N)[None, None], at, at)
    projections = sum(isinstance(part, nn.Linear) for part in mixer.modules()) * N * D * D
    cost = MECHANISMS[name].cost()
    assert cost is not None
    products = [term for term in cost.multiplications if term.what in IN_MATRICES]
    assert counter.get_total_flops() // 2 - projections == count(products, N, SIZES)


def test_what_the_skew_holds_and_what_it_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix that is skewed, and the vectors that the naive form looks up, as tensors."""
    mixer = RelativeAttention(D, H, S).eval()
    skewed = []
    monkeypatch.setattr(relative, "skew", lambda x, n_key: skewed.append(x) or distances.skew(x, n_key))
    x, at = torch.randn(1, N, D), torch.arange(N)[None]
    mixer(x, x, masks.causal(N, N)[None, None], at, at)
    rows = distances.apart(at, at).clamp(-S, S) + S
    pairs = [table[rows] for table in (mixer.table_k, mixer.table_v)]  # a^K_ij and a^V_ij
    cost = RelativeAttention.cost()
    assert sum(one.numel() for one in skewed) == count(cost.skewed, N, SIZES)
    assert sum(one.numel() for one in pairs) == count(cost.naive, N, SIZES)
    assert set(cost.skewed) <= set(cost.numbers)


def test_the_worked_example() -> None:
    """10,000 tokens: 10⁸ scores in one head, each a product of vectors; as float32 they are 400 MB."""
    cost = MECHANISMS["softmax"].cost()
    assert cost is not None
    (weights,) = (term for term in cost.numbers if term.what == "weights")
    assert count([weights], 10_000, sizes(64, 1)) == 10**8
    assert 4 * count([weights], 10_000, sizes(64, 1)) == 400_000_000
    scores = [term for term in cost.multiplications if term.what == "scores"]
    assert count(scores, 10_000, sizes(64, 1)) == 64 * 10**8


def test_a_window_wider_than_the_text_has_every_earlier_pair() -> None:
    cost = MECHANISMS["aft-local"].cost()
    assert cost is not None
    (numerator,) = (term for term in cost.multiplications if term.what == "numerator")
    assert count([numerator], 4, sizes(1, 1, reach=100)) == 4 + 3 + 2 + 1
    assert count([numerator], 5, sizes(1, 1, reach=2)) == 5 + 4
