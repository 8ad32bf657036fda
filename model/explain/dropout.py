"""Dropout switched on (Srivastava et al. 2014): what it removes from one sentence, and how repeated runs differ.

While training, each number is zero with probability p, and 1/(1 − p) times as large otherwise: at the start of the
stream, in the attention weights, and in what each sublayer adds to the stream. A model in use drops nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Unpack

import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Description
from chumoku.model.explain.anatomy import Options
from chumoku.model.explain.forcing import Forced, forced
from chumoku.model.taps import Edit

What = Literal["start", "weights", "added"]
"""Where numbers are dropped: at the start of a stream, among attention weights, in what a sublayer adds."""


@dataclass
class Removed:
    """How many numbers a run set to zero, of those that were not zero before."""

    n: int = 0
    of: int = 0


@dataclass(frozen=True)
class Dropped:
    """One run with dropout: its seed, what it removed, and its losses."""

    seed: int
    removed: dict[What, Removed]
    losses: Forced


def dropout_taps(description: Description) -> dict[str, What]:
    """The taps that a model drops from while training. An attention-free mixer has no weights."""
    found: dict[str, What] = {}
    for stack in description.stacks:
        found[stack.stream[0]] = "start"
        for part in stack.sublayers:
            if isinstance(part, AttentionSublayer) and "pattern" in description.attention(part.attention).roles:
                found[description.attention(part.attention).roles["pattern"].taps[part.layer]] = "weights"
            found[part.added.tap] = "added"
    return found


def with_dropout(
    checkpoint: Checkpoint, ids: Sequence[int], seed: int, p: float, **options: Unpack[Options]
) -> Dropped:
    """One run whose dropout draws from a generator with this seed. Raises what `trace` raises."""
    dropout = Dropout(p, seed)
    edits = dict(options.get("edit") or {})
    taps = dropout_taps(checkpoint.description).items()
    dropping: Options = {**options, "edit": edits | {tap: dropout.edit(what, edits.get(tap)) for tap, what in taps}}
    losses = forced(checkpoint, ids, **dropping)
    return Dropped(seed, dropout.removed, losses)


class Dropout:
    """Draws for one run, in the order of its forward pass, and counts what is removed."""

    def __init__(self, p: float, seed: int) -> None:
        self.p, self.generator = p, torch.Generator().manual_seed(seed)
        self.removed: dict[What, Removed] = {}

    def edit(self, what: What, before: Edit | None) -> Edit:
        """An edit that drops, after another one of the same tap."""

        def drop(x: Tensor, first_query: int) -> Tensor:
            x = x if before is None else before(x, first_query)
            kept = (torch.rand(x.shape, generator=self.generator) >= self.p).to(x.device)
            there = x != 0
            count = self.removed.setdefault(what, Removed())
            count.n, count.of = count.n + int((there & ~kept).sum()), count.of + int(there.sum())
            return x * kept / (1 - self.p)

        return drop
