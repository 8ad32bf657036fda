"""Batches of similar length: little padding, and all examples equally often."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chumoku.model.training.length_buckets import LengthBuckets, pad_rows

# Like a corpus of sentences: mostly of similar length, few very short or long.
LENGTHS = np.exp(np.random.default_rng(0).normal(2.1, 0.4, 5000)).round().clip(2, 60).astype(int)
BUDGET = 150


@pytest.fixture(scope="module")
def batches() -> list[np.ndarray]:
    buckets, rng = LengthBuckets(LENGTHS, BUDGET), np.random.default_rng(1)
    return [buckets.draw(rng) for _ in range(8000)]


def test_every_example_is_about_as_likely_as_any_other(batches: list[np.ndarray]) -> None:
    """At both ends as in the middle: the shortest and the longest are not drawn half as often."""
    times = np.bincount(np.concatenate(batches), minlength=len(LENGTHS))[np.argsort(LENGTHS, kind="stable")]
    assert times.min() > 0
    for part in np.array_split(times, 10):
        assert 0.85 < part.mean() / times.mean() < 1.15
    for end in (times[:50], times[-50:]):
        assert 0.65 < end.mean() / times.mean() < 1.35


def test_an_example_is_drawn_as_often_as_its_weight_says() -> None:
    """Also beside examples of the same length that weigh less."""
    kinds = np.random.default_rng(2).permutation(np.repeat([0, 1], [4000, 1000]))
    buckets, rng = LengthBuckets(LENGTHS, BUDGET, np.array([1.0, 6.0])[kinds]), np.random.default_rng(1)
    times = np.bincount(np.concatenate([buckets.draw(rng) for _ in range(8000)]), minlength=len(LENGTHS))
    assert 5 < times[kinds == 1].mean() / times[kinds == 0].mean() < 6.5  # no example twice in a batch


def test_a_batch_is_as_large_as_the_budget_and_little_of_it_is_pad(batches: list[np.ndarray]) -> None:
    padded = np.array([len(batch) * LENGTHS[batch].max() for batch in batches])
    tokens = np.array([LENGTHS[batch].sum() for batch in batches])
    assert 0.9 * BUDGET < padded.mean() < 1.1 * BUDGET
    assert np.percentile(padded, 98) < 1.4 * BUDGET
    assert tokens.sum() / padded.sum() > 0.9


def test_batches_mix_neighbours(batches: list[np.ndarray]) -> None:
    """An example is not always in a batch with the same others."""
    example = int(batches[0][0])
    company = [set(batch.tolist()) - {example} for batch in batches if example in batch]
    assert len(company) > 5
    assert len(set.union(*company)) > 3 * max(map(len, company))


@settings(max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=60), budget=st.integers(1, 200),
    seed=st.integers(0, 2**32),
)  # fmt: skip
def test_a_batch_has_distinct_examples(lengths: list[int], budget: int, seed: int) -> None:
    buckets, rng = LengthBuckets(lengths, budget), np.random.default_rng(seed)
    for _ in range(5):
        batch = buckets.draw(rng).tolist()
        assert 1 <= len(batch) == len(set(batch))
        assert set(batch) <= set(range(len(lengths)))


def test_the_same_seed_draws_the_same_batches() -> None:
    first, second = (
        [LengthBuckets(LENGTHS, BUDGET).draw(rng).tolist() for _ in range(5)]
        for rng in (np.random.default_rng(3), np.random.default_rng(3))
    )
    assert first == second


def test_rows_are_padded_on_the_right() -> None:
    table = pad_rows([[1, 2, 3], [], np.array([4], dtype=np.uint16)], -1)
    assert table.dtype == torch.int64
    assert table.tolist() == [[1, 2, 3], [-1, -1, -1], [4, -1, -1]]
