"""The arithmetic of interventions: edits of a tap's tensor, as `taps.record` applies them.

An edit gets a copy, so it may write in place. With a cache, the tensor's first row is `first_query`. What a request may
ask for, and how it is checked, is in the app.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from chumoku.model.describe import Role, Side
from chumoku.model.masks import EDITED, REASONS
from chumoku.model.taps import Edit

ALL = sum(REASONS.values())


@dataclass(frozen=True)
class AblateHead:
    """Sets a head's numbers to 0. On z, before W_O, the head then writes nothing to the stream."""

    head: int

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head ..]"""
        x[:, self.head] = 0.0
        return x


@dataclass(frozen=True)
class EditCells:
    """Forbids cells of a mask (reason `edited`), or allows them. None: every head, query or key.

    `lifts`: the reasons that allowing lifts, bit by bit; None: all. Forbidding one cell in all heads of a layer is
    attention knockout (Geva et al. 2023).
    """

    allow: bool
    head: int | None = None
    query: int | None = None
    key: int | None = None
    lifts: int | None = None

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x: reasons, uint8 [batch head query key]; a cell that does not exist (yet) is skipped."""
        every, row = slice(None), None if self.query is None else self.query - first_query
        if (row is None or 0 <= row < x.shape[-2]) and (self.key is None or self.key < x.shape[-1]):
            heads, rows, keys = (every if place is None else place for place in (self.head, row, self.key))
            cells = x[:, heads, rows, keys]
            kept = 0 if self.lifts is None else ALL & ~self.lifts
            x[:, heads, rows, keys] = cells & kept if self.allow else cells | EDITED
        return x


@dataclass
class OtherRun:
    """The run that patches copy from: its lengths, the taps to copy, and their tensors once it has run."""

    lengths: Mapping[Side, int]
    """The number of tokens on each side, PADs, [CLS] and START included."""
    taps: set[str] = field(default_factory=set)
    tensors: Mapping[str, Tensor] = field(default_factory=dict)


class ReplaceRows:
    """Activation patching: replaces row t of a tensor by row t of the other run's, in one head or in all. `row` None:
    every row that both have."""

    def __init__(self, other: OtherRun, tap: str, role: Role, head: int | None, row: int | None) -> None:
        self.other, self.tap, self.role, self.row = other, tap, role, row
        self.axis = role.dims.split().index("position")
        self.before = (slice(None) if head is None else head, *(slice(None),) * (self.axis - 1))[: self.axis]

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head? position ..]"""
        theirs = self.other.tensors[self.tap]  # head? position ..
        first = 0 if self.role.rows == "key" else first_query
        for row in range(theirs.shape[self.axis]) if self.row is None else (self.row,):
            if 0 <= row - first < x.shape[1 + self.axis]:
                x[(slice(None), *self.before, row - first)] = theirs[(*self.before, row)].to(x.device)
        return x


class Composed:
    """Several edits of one tap, applied in order, each to the result of the previous edit."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self.edits = edits

    def __call__(self, x: Tensor, first_query: int = 0) -> Tensor:
        x = x.clone(memory_format=torch.contiguous_format)  # all heads may share one broadcast mask
        for edit in self.edits:
            x = edit(x, first_query)
        return x
