"""Small pictures of heads: for a long text, a cell of the picture is the largest of n × n weights.

All patterns of 24 × 16 heads and 1,024 tokens are 1.6 GB, so they are pooled when they are captured (`taps.keeping`).
The largest, not the mean: a picture shows where weight is, and a single weight of 0.9 among 64 must be visible. Blocks
are powers of two, so that pooling composes: larger blocks can be pooled from smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from chumoku.model.describe import Description, Side
from chumoku.model.taps import Keep

PICTURES = 4_000_000
"""Limit for the cells of all heads' pictures together, a byte each on the wire. With 144 heads a picture then has 83 to
166 cells a side, with 384 heads 51 to 102. The page draws it 16 to 96 CSS pixels wide, so about one per cell."""


def block_of(description: Description, lengths: Mapping[Side, int]) -> int:
    """The n of the n × n weights in each cell: the smallest power of two whose pictures fit into `PICTURES`; 1 means no
    pooling. `lengths`: the number of tokens on each side."""
    n = 1
    while cells(description, lengths, n) > PICTURES and n < max(lengths.values()):
        n *= 2
    return n


def cells(description: Description, lengths: Mapping[Side, int], n: int = 1) -> int:
    """The number of cells of all heads' pictures together."""
    return sum(
        attention.n_layer
        * attention.n_head
        * blocks(lengths[attention.queries], n)
        * blocks(lengths[attention.keys], n)
        for attention in description.attentions
        if attention.overview is not None
    )


def blocks(length: int, n: int) -> int:
    """The number of blocks of n positions; the last one may be smaller."""
    return -(-length // n)


def largest(x: Tensor, n: int) -> Tensor:
    """[.. query key] → [.. block block]: the largest of each n × n block; blocks at the ends may be smaller."""
    n_query, n_key = x.shape[-2:]
    pad = (0, -n_key % n, 0, -n_query % n)
    x = functional.pad(x, pad, value=float("-inf") if x.is_floating_point() else 0) if any(pad) else x
    pooled: Tensor = x.unflatten(-2, (-1, n)).amax(-2).unflatten(-1, (-1, n)).amax(-1)
    return pooled


def least(reasons: Tensor, n: int) -> Tensor:
    """Pools a mask (uint8 reasons, [.. query key] → [.. block block]): 0 where any cell of a block is allowed."""
    shared = reasons.dim() > 2 and reasons.stride(-3) == 0  # one mask for all heads
    pooled = 255 - largest(255 - (reasons[..., :1, :, :] if shared else reasons), n)
    return pooled.expand(*reasons.shape[:-2], *pooled.shape[-2:])


def pooling(description: Description, names: Iterable[str], n: int) -> dict[str, Keep]:
    """The functions that pool the overviews and masks among `names` (for `taps.keeping`); none if n is 1."""
    if n == 1:
        return {}
    kept: dict[str, Keep] = {name: lambda x: largest(x, n) for name in names if name in description.overviews}
    return kept | {name: lambda x: least(x, n) for name in names if name in description.masks}


def rows(description: Description, names: Iterable[str], queries: Sequence[int]) -> dict[str, Keep]:
    """The functions that keep only these queries, exact, of the `head query key` tensors among `names`."""

    def chosen(x: Tensor) -> Tensor:
        return x.index_select(-2, torch.tensor(queries, device=x.device))

    return {name: chosen for name in names if description.taps[name].dims == "head query key"}
