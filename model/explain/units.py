"""FFN units on one sentence: which fire, which never do, and the strongest units and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import FfnSublayer
from chumoku.model.explain.anatomy import Options
from chumoku.model.trace import trace


@dataclass(frozen=True)
class FfnUnits:
    """One FFN. A unit fires on a token if `ffn.post` = max(0, pre) > 0. PADs are excluded: `positions` are the counted
    positions of the sentence that `path`'s stack reads."""

    path: str
    """The FFN's module, e.g. `decoder.layers.0.ffn`."""
    stack: str
    layer: int
    positions: list[int]
    fires: Tensor
    """int64 [d_ff]: on how many positions each unit fires."""
    dead: list[int]
    """Units that fire on no position."""
    always_on: list[int]
    """Units that fire on every position."""
    top_units: Tensor
    """int64 [position k]: each token's strongest units, strongest first."""
    top_activations: Tensor
    """float32 [position k]: their values; 0 if fewer fire."""
    top_positions: Tensor
    """int64 [d_ff k]: each unit's strongest tokens, as positions."""
    top_values: Tensor
    """float32 [d_ff k]: their values; 0 if the unit does not fire."""


@torch.inference_mode()
def units(checkpoint: Checkpoint, ids: Sequence[int], *, k: int = 8, **options: Unpack[Options]) -> list[FfnUnits]:
    """Every FFN's units on a sentence. Raises what `trace` raises, and `ValueError` for a k below 1."""
    if k < 1:
        raise ValueError(f"there is one unit or more to show, got k={k}")
    stacks = checkpoint.description.stacks
    run = trace(checkpoint, ids, [ffn.roles["post"].tap for stack in stacks for ffn in stack.ffns], **options)
    found = []
    for stack in stacks:
        positions = [t for t, is_pad in enumerate(run.pads(stack.side)) if not is_pad]
        for ffn in stack.ffns:
            found.append(count(ffn, stack.id, run.tensors[ffn.roles["post"].tap][positions], positions, k))
    return found


def count(ffn: FfnSublayer, stack: str, post: Tensor, positions: list[int], k: int) -> FfnUnits:
    """post [position d_ff], at the counted positions."""
    n, d_ff = post.shape
    fires = (post > 0).sum(0)  # d_ff
    activations, top_units = post.topk(min(k, d_ff), dim=1)  # position k
    values, at = post.T.topk(min(k, n), dim=1)  # d_ff k
    return FfnUnits(
        ffn.module, stack, ffn.layer, positions, fires, *extremes(fires, n), top_units, activations,
        torch.tensor(positions)[at], values,
    )  # fmt: skip


def extremes(fires: Tensor, n: int) -> tuple[list[int], list[int]]:
    """The units that fire on none and on all of n tokens; fires [d_ff]. Without tokens, both are empty."""
    if n == 0:
        return [], []
    return torch.nonzero(fires == 0).flatten().tolist(), torch.nonzero(fires == n).flatten().tolist()
