"""Distances between positions, and the skew, which turns a matrix by distance into a matrix by key without a gather."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def apart(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """j − i for each query i and key j: int64 [1|batch query key]; negative for earlier keys.

    From position ids [1|batch query|key], so that a PAD without a position changes no distance.
    """
    return key_positions[:, None, :] - query_positions[:, :, None]


def are_consecutive(positions: Tensor) -> bool:
    """Whether these positions [1|batch position] are p, p + 1, …, the same in every row."""
    return bool((positions.diff() == 1).all() and (positions == positions[:1]).all())


def skew(x: Tensor, n_key: int) -> Tensor:
    """[.. query distance] → [.. query key]: out[i, j] = x[i, j − i + query_len − 1] (Huang et al. 2018, section 3.4).

    Row i moves query_len − 1 − i places to the left. query_len queries and n_key keys have n_key + query_len − 1
    distances, one per column. Under a causal mask, whose queries are the last query_len of n_key positions, the first
    n_key columns are enough: what is then read beyond a row's end belongs to forbidden keys.

    No element is copied one by one: in memory, out[i, j] is query_len − 1 + i · (columns − 1) + j elements from the
    start of `x`, so `out` is the same memory read as a matrix with one column fewer.
    """
    n_query, columns = x.shape[-2:]
    if n_query == 1:
        return x[..., :n_key]
    flat = x.flatten(-2)[..., n_query - 1 :]
    if columns == n_key:  # rows overlap by one element, which only a forbidden key reads
        return flat.unfold(-1, n_key, columns - 1)
    rows = flat[..., : n_query * (columns - 1)].reshape(*x.shape[:-1], columns - 1)
    return rows[..., :n_key]


def unskew(x: Tensor) -> Tensor:
    """[.. query key] → [.. query distance], the inverse: out[i, j − i + query_len − 1] = x[i, j], zeros elsewhere."""
    n_query, n_key = x.shape[-2:]
    if n_query == 1:
        return x
    columns = n_key + n_query - 1
    flat = F.pad(x, (0, columns - 1 - n_key)).flatten(-2)
    return F.pad(flat, (n_query - 1, 1)).reshape(*x.shape[:-1], columns)
