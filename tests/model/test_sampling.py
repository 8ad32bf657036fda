"""From logits to a token, over the whole vocabulary first."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from chumoku.model.sampling import (
    Distribution,
    SamplingSettings,
    distribution,
    draw,
    endings,
    likeliest,
    most_likely,
    uniform,
)
from tests.model.helpers import BORDER, close, randn, rounding_decides

# Halves up to 15 give many ties. Millionths up to 30 give none, not even by rounding.
a_logit = st.one_of(st.integers(-30, 30).map(lambda x: x / 2), st.floats(-30, 30).map(lambda x: round(x, 6)))
some_logits = st.lists(a_logit, min_size=1, max_size=30).map(lambda xs: torch.tensor(xs, dtype=torch.float64))
# At temperature 0.1 the least of these still has a probability above the smallest float: e^(-60 / 0.1).
warm = st.floats(0.1, 5)
temperatures = st.one_of(st.just(0.0), warm)
top_ks = st.integers(0, 35)
top_ps = st.floats(0.01, 1)
some_settings = st.builds(SamplingSettings, temperature=temperatures, top_k=top_ks, top_p=top_ps, min_p=st.floats(0, 1))


def softmax(logits: Tensor) -> list[float]:
    """Computed by hand with Python floats."""
    exponentials = [math.exp(x - max(logits.tolist())) for x in logits.tolist()]
    return [e / math.fsum(exponentials) for e in exponentials]


@given(some_logits, some_settings)
def test_before_is_the_softmax_over_the_whole_vocabulary(logits: Tensor, settings: SamplingSettings) -> None:
    dist = distribution(logits, settings)
    close(dist.before, torch.tensor(softmax(logits), dtype=torch.float64), 1e-12)


@given(some_logits, some_settings)
@example(torch.zeros(10, dtype=torch.float64), SamplingSettings(1.0, top_k=3, top_p=5e-324))
def test_after_is_a_distribution_over_the_kept(logits: Tensor, settings: SamplingSettings) -> None:
    dist = distribution(logits, settings)
    assert abs(float(dist.after.sum()) - 1) < 1e-12
    assert (dist.after[~dist.kept] == 0).all()
    assert dist.n_kept >= 1
    assert dist.kept[logits.argmax()]
    assert not dist.kept.all() or abs(sum(dist.masses)) < 1e-12


@given(some_logits, some_settings)
def test_the_mass_that_is_cut_is_the_probability_of_what_was_cut(logits: Tensor, settings: SamplingSettings) -> None:
    dist = distribution(logits, settings)
    if settings.temperature == 0:
        assert (dist.n_kept, sum(dist.masses)) == (1, 0)
    else:
        tempered = torch.tensor(softmax(logits / settings.temperature), dtype=torch.float64)
        assert math.isclose(sum(dist.masses), float(tempered[~dist.kept].sum()), abs_tol=1e-12)
        close(dist.after[dist.kept], tempered[dist.kept] / tempered[dist.kept].sum(), 1e-9)


@given(some_logits, some_settings)
@example(torch.tensor([0.0, 4.0], dtype=torch.float64), SamplingSettings(2.0))
@example(torch.tensor([9.0, 9.0, 0.0], dtype=torch.float64), SamplingSettings())
def test_the_mass_that_is_cut_is_a_probability(logits: Tensor, settings: SamplingSettings) -> None:
    dist = distribution(logits, settings)
    assert 0 <= sum(dist.masses) < 1
    assert not dist.kept.all() or sum(dist.masses) == 0


@given(some_logits, warm, top_ks)
def test_top_k_keeps_the_k_likeliest_ties_to_the_lower_id(logits: Tensor, temperature: float, top_k: int) -> None:
    kept = distribution(logits, SamplingSettings(temperature, top_k)).kept.nonzero().flatten().tolist()
    likeliest = sorted(range(len(logits)), key=lambda i: (-float(logits[i]), i))
    assert sorted(kept) == sorted(likeliest[: top_k or None])


@given(some_logits, warm, top_ks, top_ps)
def test_top_p_keeps_the_smallest_set_that_reaches_p(
    logits: Tensor, temperature: float, top_k: int, top_p: float
) -> None:
    before, dist = (distribution(logits, SamplingSettings(temperature, top_k, p)) for p in (1.0, top_p))
    shares = before.after[dist.kept]  # of the tokens that top-k keeps
    assert float(shares.sum()) >= top_p - 1e-9
    assert float(shares.sum() - shares.min()) < top_p + 1e-9
    cut = before.after[before.kept & ~dist.kept]
    assert len(cut) == 0 or cut.max() <= shares.min()


def test_top_p_is_a_share_of_what_top_k_leaves() -> None:
    assert distribution(torch.zeros(10), SamplingSettings(top_k=4, top_p=0.5)).kept.tolist() == 2 * [True] + 8 * [False]


@given(some_logits, st.integers(1, 40))
def test_the_most_likely_are_in_order_with_ties_by_the_lower_id(p: Tensor, n: int) -> None:
    expected = sorted(range(len(p)), key=lambda i: (-float(p[i]), i))[:n]
    assert likeliest(p, n).tolist() == expected


@given(some_logits, top_ks, top_ps)
def test_temperature_0_is_one_hot_on_the_first_argmax(logits: Tensor, top_k: int, top_p: float) -> None:
    dist = distribution(logits, SamplingSettings(0.0, top_k, top_p))
    best = logits.tolist().index(max(logits.tolist()))
    assert dist.after.nonzero().tolist() == [[best]]
    assert dist.after[best] == 1


@given(some_logits, st.floats(0, 1e-3, exclude_min=True), some_settings)
def test_a_temperature_near_0_is_nearly_greedy(logits: Tensor, temperature: float, rest: SamplingSettings) -> None:
    """Down to the smallest positive float."""
    dist = distribution(logits, SamplingSettings(temperature, rest.top_k, rest.top_p))
    assert abs(float(dist.after.sum()) - 1) < 1e-12
    assert dist.kept[logits.argmax()]


@given(some_logits, some_settings, st.data())
def test_banned_tokens_have_no_probability_anywhere(
    logits: Tensor, settings: SamplingSettings, data: st.DataObject
) -> None:
    ids = st.integers(0, len(logits) - 1)
    banned = data.draw(st.lists(ids, max_size=len(logits) - 1, unique=True))
    copy = logits.clone()
    dist = distribution(logits, settings, banned)
    assert torch.equal(logits, copy), "the model's own tensor is unchanged"
    assert (dist.before[banned] == 0).all()
    assert (dist.after[banned] == 0).all()
    assert not dist.kept[banned].any()
    assert abs(float(dist.before.sum()) - 1) < 1e-12


@given(some_logits, some_settings, st.floats(0, 1, exclude_max=True))
def test_draw_takes_the_token_whose_share_holds_u(logits: Tensor, settings: SamplingSettings, u: float) -> None:
    dist = distribution(logits, settings)
    after = dist.after.tolist()
    drawn, below = draw(dist, u), 0.0
    for i in sorted(range(len(after)), key=lambda i: (-after[i], i)):
        if i == drawn:
            break
        below += after[i]
    assert dist.kept[drawn]
    assert below - 1e-9 <= u <= below + after[drawn] + 1e-9


@pytest.mark.parametrize("u", [0.0, 1 - 2**-53])
def test_the_ends_of_the_line_are_the_most_and_the_least_likely(u: float) -> None:
    dist = distribution(torch.tensor([1.0, 3.0, 2.0, -40.0]), SamplingSettings(top_k=3))
    assert draw(dist, u) == (1 if u == 0 else 0)


def drawn_otherwise(a: Tensor, b: Tensor, order: Callable[[Tensor], Tensor]) -> tuple[float, list[float]]:
    """The share of [0, 1) in which two distributions [vocab], each in its `order`, draw different tokens, and a u of
    each interval of it."""
    orders = [order(a), order(b)]
    ends = [p[by].cumsum(-1) for p, by in zip((a, b), orders, strict=True)]
    cuts = torch.cat((torch.zeros(1, dtype=a.dtype), *ends)).clamp(max=1).unique()
    middles = (cuts[1:] + cuts[:-1]) / 2
    tokens = [by[torch.searchsorted(end, middles, right=True).clamp(max=len(by) - 1)]
              for by, end in zip(orders, ends, strict=True)]  # fmt: skip
    differ = tokens[0] != tokens[1]
    return float(cuts.diff()[differ].sum()), middles[differ].tolist()


def by_probability(p: Tensor) -> Tensor:
    return p.argsort(descending=True, stable=True)


PLAIN = SamplingSettings()


@pytest.mark.parametrize("settings", [PLAIN, SamplingSettings(0.8, top_k=20), SamplingSettings(min_p=0.01)])
def test_rounding_changes_a_draw_only_at_a_border_or_between_two_that_are_equally_likely(
    settings: SamplingSettings,
) -> None:
    """As float32 does it: a text of 100 tokens of mini-sinusoidal, read at once or one by one, has logits up to 2e-5
    apart."""
    swapped = 0
    for seed in range(6):
        logits = randn(1000, seed=seed)
        a, b = (distribution(logits + 1e-5 * randn(1000, seed=100 * side + seed), settings) for side in (3, 4))
        for u in drawn_otherwise(a.after, b.after, by_probability)[1]:
            assert rounding_decides(a, u), (seed, u)
            borders = a.after[a.ranked].cumsum(-1)
            swapped += bool((borders - u).abs().min() > BORDER)
    assert swapped or settings != PLAIN, "the draws that a border alone does not explain"


ORDERS: dict[str, tuple[Callable[[Tensor], Tensor], float]] = {
    "id": (lambda p: torch.arange(len(p)), 2),
    "rounded to 1e-4": (lambda p: (p.log() / 1e-4).round().argsort(descending=True, stable=True), 0.8),
    "rounded to 1e-2": (lambda p: (p.log() / 1e-2).round().argsort(descending=True, stable=True), 0.8),
}


@pytest.mark.parametrize(("order", "times"), ORDERS.values(), ids=ORDERS.keys())
def test_another_order_of_the_tokens_changes_no_fewer_draws(order: Callable[[Tensor], Tensor], times: float) -> None:
    ours = theirs = 0.0
    for seed in range(40):
        logits = 4 * randn(1000, seed=seed)  # a few tokens have most of it, as of a trained model
        a, b = (distribution(logits + 1e-5 * randn(1000, seed=100 * side + seed), PLAIN) for side in (3, 4))
        ours += drawn_otherwise(a.after, b.after, by_probability)[0]
        theirs += drawn_otherwise(a.after, b.after, order)[0]
    assert theirs > times * ours


def chi_square(counts: Counter[int], expected: Tensor) -> float:
    return sum((counts[i] - e) ** 2 / e for i, e in enumerate(expected.tolist()) if e > 0)


CHI_SQUARE_999 = {6: 22.458, 9: 27.877}
"""The 99.9 % quantile of chi-square, by degrees of freedom."""


@pytest.mark.parametrize(
    ("settings", "freedom"), [(SamplingSettings(seed=1), 9), (SamplingSettings(0.7, top_k=7, seed=2), 6)]
)
def test_draws_have_the_frequencies_of_the_distribution(settings: SamplingSettings, freedom: int) -> None:
    dist = distribution(randn(10, seed=4), settings)
    counts = Counter(draw(dist, uniform(settings.seed, index)) for index in range(5000))
    assert chi_square(counts, 5000 * dist.after) < CHI_SQUARE_999[freedom]
    assert sum(counts.values()) == sum(counts[i] for i in dist.kept.nonzero().flatten().tolist())


@pytest.mark.parametrize("of", ["indices", "seeds"])
def test_u_is_uniform_over_indices_and_over_seeds(of: str) -> None:
    us = [uniform(7, n) if of == "indices" else uniform(n, 7) for n in range(5000)]
    assert all(0 <= u < 1 for u in us)
    assert len(set(us)) == 5000
    assert chi_square(Counter(int(10 * u) for u in us), torch.full((10,), 500.0)) < CHI_SQUARE_999[9]


def test_u_depends_on_seed_and_index_alone() -> None:
    assert uniform(7, 3) == uniform(7, 3)
    assert len({uniform(7, 3), uniform(7, 4), uniform(8, 3), uniform(3, 7)}) == 4
    assert uniform(7, 3) == 0.9750335537195014, "a shared link must replay the same text after an upgrade too"
    for place in [(0, 0), (7, 255), (2**32 - 1, 2**32 - 1), (2**32, 5), (5, 2**32), (2**53, 2**40)]:
        assert uniform(*place) == np.random.default_rng(place).random()


@given(logits=some_logits, banned=st.sets(st.integers(0, 29), max_size=3))
def test_the_most_likely_is_the_first_candidate(logits: Tensor, banned: set[int]) -> None:
    never = sorted(id for id in banned if id < len(logits) - 1)
    before = distribution(logits, SamplingSettings(), never).before
    assert most_likely(logits, never) == int(likeliest(before, 1)[0])


def test_entropy_is_in_bits() -> None:
    fair = distribution(torch.zeros(8), SamplingSettings())
    assert math.isclose(fair.entropy_bits, 3)
    certain = Distribution(
        torch.tensor([1.0, 0.0]),
        torch.tensor([1.0, 0.0]),
        torch.tensor([True, False]),
        torch.zeros(2),
        torch.tensor([0]),
        (0.0, 0.0, 0.0),
    )
    assert certain.entropy_bits == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": math.inf}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"top_k": -1}, "top_k"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_p": math.nan}, "top_p"),
        ({"seed": -1}, "seed"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SamplingSettings(**wrong)


def reference(
    logits: np.ndarray, settings: SamplingSettings, never: list[int], seen: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """`before` and `after` over the whole vocabulary, written out in NumPy from the papers' definitions."""
    x = logits.astype(np.float64)
    x[never] = -np.inf
    before = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
    for i in set(seen):
        x[i] = x[i] / settings.repetition_penalty if x[i] > 0 else x[i] * settings.repetition_penalty
    for *start, last in settings.banned:
        if start == seen[len(seen) - len(start) :]:
            x[last] = -np.inf
    if settings.temperature == 0:
        return before, np.eye(len(x))[x.argmax()]
    p = np.exp((x - x.max()) / settings.temperature)
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    kept = order[: settings.top_k or None]
    below = np.cumsum(p[kept]) - p[kept]
    kept = kept[below < settings.top_p * p[kept].sum()]
    kept = kept[p[kept] >= settings.min_p * p[order[0]]]
    after = np.zeros_like(p)
    after[kept] = p[kept] / p[kept].sum()
    return before, after


MANY = [
    SamplingSettings(1.0, seed=5),
    SamplingSettings(0.8, top_k=20, top_p=0.95, seed=6),
    SamplingSettings(
        1.4, top_k=12, top_p=0.9, seed=7, min_p=0.05, repetition_penalty=1.3, banned=((4,), (2, 9), (9, 5))
    ),
    SamplingSettings(0.0, seed=8, banned=((int(randn(60, seed=9).argmax()),),)),
]


@pytest.mark.parametrize("settings", MANY)
def test_20_000_draws_have_the_references_probabilities_within_the_binomial_bound(settings: SamplingSettings) -> None:
    logits, never, seen, n = 3 * randn(60, seed=9), [59], [7, 3, 3, 2], 20_000
    before, after = reference(logits.numpy(), settings, never, seen)
    dist = distribution(logits, settings, never, seen)
    close(dist.before, torch.from_numpy(before), 1e-12)
    close(dist.after, torch.from_numpy(after), 1e-12)
    counts = Counter(draw(dist, uniform(settings.seed, index)) for index in range(n))
    for token, p in enumerate(after):
        bound = 4.5 * math.sqrt(n * p * (1 - p)) + (0 < p < 1)  # of 60 tokens, all are within it but for 1 of 2,000
        assert abs(counts[token] - n * p) <= bound, (token, counts[token], n * p)


@given(some_logits, some_settings, st.data())
def test_what_is_banned_is_not_written_but_stays_among_the_models_own(
    logits: Tensor, settings: SamplingSettings, data: st.DataObject
) -> None:
    ids = data.draw(st.lists(st.integers(0, len(logits) - 1), max_size=len(logits) - 1, unique=True))
    dist = distribution(logits, replace(settings, banned=tuple((one,) for one in ids)))
    close(dist.before, distribution(logits, settings).before, 1e-12)
    assert (dist.after[ids] == 0).all()
    assert (dist.cut[ids] == 1).all()
    assert (dist.cut == 1).sum() == len(ids)
    assert abs(float(dist.after.sum()) - 1) < 1e-12
    assert 0 <= sum(dist.masses) <= 1 + 1e-12


def test_a_banned_sequence_is_banned_where_the_text_ends_with_its_beginning() -> None:
    assert endings([(5,), (1, 2), (2, 1, 7), (3, 3, 8)], [9, 2, 1]) == [2, 5, 7]
    assert endings([(5,), (1, 2), (4, 1, 2)], [1]) == [2, 5]


def test_banning_every_token_is_refused() -> None:
    with pytest.raises(ValueError, match="every token is banned"):
        distribution(torch.zeros(3), SamplingSettings(banned=((0,), (2,))), [1])
