"""Several heads as one matrix: the mean or the largest of their weights, and attention rollout (Abnar & Zuidema 2020).

A mean of rows that sum to 1 does so, too; the largest weights do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

Over = Literal["heads", "layers", "both"]
How = Literal["mean", "max"]


def average(layers: Sequence[Tensor], over: Over, how: How = "mean", *, layer: int = 0, head: int = 0) -> Tensor:
    """One matrix [query key] of weights [head query key] by layer: over the heads of `layer`, over the layers of
    `head`, or over both; their `mean` or, element by element, their `max`."""
    if over == "heads":
        found = layers[layer]
    elif over == "layers":
        found = torch.stack([one[head] for one in layers])
    else:
        found = torch.cat(list(layers))
    return found.mean(0) if how == "mean" else found.amax(0)


def rollout(layers: Sequence[Tensor]) -> Tensor:
    """How much of each token of the text is in each query after each layer [layer query key], from weights
    [head query key] by layer: R_l = Ã_l R_{l-1}, where Ã is the mean over heads plus the identity, with rows of 1."""
    passed = torch.eye(layers[0].shape[-1], dtype=torch.float64)
    found = []
    for layer in layers:
        mixed = layer.double().mean(0) + torch.eye(len(passed), dtype=torch.float64)
        passed = mixed / mixed.sum(-1, keepdim=True) @ passed
        found.append(passed)
    return torch.stack(found).float()
