"""What a mechanism keeps of earlier positions if it needs all of them: softmax attention their keys and values."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor


class History:
    """Some tensors of every position so far, each [batch .. position d], in the order in which they came.

    Concatenates instead of writing into a buffer: a trace may still hold the tensors of an earlier step.
    """

    def __init__(self, *kept: Tensor) -> None:
        self.kept = kept

    def append(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Add those of the new positions and return those of all. With no new position, nothing changes."""
        if not self.kept:
            self.kept = new
        elif new[0].shape[-2]:
            self.kept = tuple(torch.cat(pair, dim=-2) for pair in zip(self.kept, new, strict=True))
        return self.kept

    @property
    def positions(self) -> int:
        return self.kept[0].shape[-2] if self.kept else 0

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in self.kept)

    def select(self, rows: Tensor) -> None:
        self.kept = tuple(x[rows] for x in self.kept)

    def copy(self) -> Self:
        return type(self)(*self.kept)  # nothing is written in place, so both can share the tensors
