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
from chumoku.model.masks import EDITED
from chumoku.model.taps import Edit


@dataclass(frozen=True)
class AblateHead:
    """A head's numbers become 0: on z, before W_O, the head writes nothing to the stream."""

    head: int

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head ..]"""
        x[:, self.head] = 0.0
        return x


@dataclass(frozen=True)
class EditCells:
    """Forbid cells of a mask (reason `edited`), or allow them, whatever forbade them. None: every head, query or key.

    On one cell of all heads of a layer this is attention knockout (Geva et al. 2023).
    """

    allow: bool
    head: int | None = None
    query: int | None = None
    key: int | None = None

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x: reasons, uint8 [batch head query key]; a cell that does not exist (yet) is skipped."""
        every, row = slice(None), None if self.query is None else self.query - first_query
        if (row is None or 0 <= row < x.shape[-2]) and (self.key is None or self.key < x.shape[-1]):
            heads, rows, keys = (every if place is None else place for place in (self.head, row, self.key))
            cells = x[:, heads, rows, keys]
            x[:, heads, rows, keys] = cells & 0 if self.allow else cells | EDITED
        return x


@dataclass
class OtherRun:
    """A run that patches take numbers from: its lengths, the taps to take, and their tensors once it has run."""

    lengths: Mapping[Side, int]
    """The number of tokens on each side, PADs, [CLS] and START included."""
    taps: set[str] = field(default_factory=set)
    tensors: Mapping[str, Tensor] = field(default_factory=dict)


class ReplaceRows:
    """Activation patching: row t of a tensor becomes row t of the other run's, in one head or in all. `row` None: every
    row that both have."""

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
    """Several edits of one tap as one: each gets the result of the one before."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self.edits = edits

    def __call__(self, x: Tensor, first_query: int = 0) -> Tensor:
        x = x.clone(memory_format=torch.contiguous_format)  # one mask was broadcast over all heads
        for edit in self.edits:
            x = edit(x, first_query)
        return x
