"""One matrix for many heads: their mean or maximum, and attention rollout (Abnar & Zuidema 2020).

Weights are [layer head query key], each row a distribution over keys, or zeros where no key is allowed. A mean of
weights is no head's pattern: whoever shows one names it as what it is.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Over = Literal["heads", "layers", "both"]
How = Literal["mean", "max"]


def summarised(weights: Tensor, over: Over, how: How = "mean") -> Tensor:
    """The mean or the maximum over the heads of each layer [layer query key], over the layers for each head number
    [head query key], or over both [query key], in float64. The rows of a mean add up to 1; those of a maximum may
    exceed it."""
    dims = {"heads": (1,), "layers": (0,), "both": (0, 1)}[over]
    exact = weights.double()
    return exact.mean(dims) if how == "mean" else exact.amax(dims)


def rollout(weights: Tensor) -> Tensor:
    """Attention rollout of self-attention, float64 [layer query key]: how much of each input is in a position after
    each layer, if each layer were half its mean head and half its input.

    Ã(l) = (Ā(l) + I) / 2 with rows scaled to a sum of 1, and R(l) = Ã(l) R(l−1) with R(−1) = I (section 3 of the
    paper). A query without any allowed key keeps itself. Neither V nor the FFNs are looked at. Raises `ValueError` if
    queries and keys are not the same positions.
    """
    queries, keys = weights.shape[2:]
    if queries != keys:
        raise ValueError(f"attention rollout is of self-attention, got {queries} queries and {keys} keys")
    itself = torch.eye(keys, dtype=torch.float64)
    after, layers = itself, []
    for mean in summarised(weights.cpu(), "heads"):
        mixed = (mean + itself) / 2
        after = mixed / mixed.sum(-1, keepdim=True) @ after
        layers.append(after)
    return torch.stack(layers)
