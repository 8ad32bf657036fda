"""The skew against indexing element by element, and what it saves."""

import pytest
import torch

from chumoku.model.mechanisms.distances import apart, are_consecutive, skew, unskew
from chumoku.model.mechanisms.relative import RelativeAttention
from tests.model.helpers import close, randn
from tests.model.mechanisms.small import small_mixer

SIZES = [(1, 1), (1, 5), (5, 5), (2, 7), (4, 1), (3, 2)]


@pytest.mark.parametrize(("n_query", "n_key"), SIZES)
def test_the_skew_moves_each_row(n_query: int, n_key: int) -> None:
    x = randn(2, n_query, n_key + n_query - 1)
    found = skew(x, n_key)
    assert found.shape == (2, n_query, n_key)
    for i in range(n_query):
        for j in range(n_key):
            close(found[:, i, j], x[:, i, j - i + n_query - 1], 0.0)


@pytest.mark.parametrize(("n_query", "n_key"), [(1, 1), (5, 5), (2, 7)])
def test_under_a_causal_mask_as_many_columns_as_keys_are_enough(n_query: int, n_key: int) -> None:
    x = randn(n_query, n_key + n_query - 1)
    allowed = torch.ones(n_query, n_key, dtype=torch.bool).tril(n_key - n_query)
    few, all_ = skew(x[:, :n_key], n_key), skew(x, n_key)
    close(few[allowed], all_[allowed], 0.0)


@pytest.mark.parametrize(("n_query", "n_key"), SIZES)
def test_unskew_is_its_inverse(n_query: int, n_key: int) -> None:
    x = randn(3, n_query, n_key)
    by_distance = unskew(x)
    assert by_distance.shape == (3, n_query, n_key + n_query - 1)
    close(skew(by_distance, n_key), x, 0.0)
    close(by_distance.sum(), x.sum())  # and zeros elsewhere


@pytest.mark.parametrize("first_key", [0, 2])
def test_by_skew_and_by_row_agree(first_key: int) -> None:
    """The queries are the last of the keys, as with a cache, or begin elsewhere."""
    mixer = small_mixer("relative")
    assert isinstance(mixer, RelativeAttention)
    queries, keys = torch.arange(4, 9)[None], torch.arange(first_key, 9)[None]
    rows = apart(queries, keys).clamp(-mixer.n, mixer.n) + mixer.n
    q, pattern = randn(2, 3, 5, 4), randn(2, 3, 5, 9 - first_key)
    rows = rows.expand(2, -1, -1)
    close(mixer.skewed_scores(q, queries, keys), mixer.scores_by_row(q, rows))
    close(mixer.skewed_values(pattern, queries, keys), mixer.values_by_row(pattern, rows))


def test_what_counts_as_consecutive() -> None:
    assert are_consecutive(torch.tensor([[3, 4, 5]]))
    assert not are_consecutive(torch.tensor([[0, 0, 1]]))  # a PAD that takes no position
    assert not are_consecutive(torch.tensor([[0, 1], [1, 2]]))  # rows of a batch differ
    assert are_consecutive(torch.tensor([[4, 5], [4, 5]]))
