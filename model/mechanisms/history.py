"""What a mechanism keeps of earlier positions if it needs all of them: softmax attention their keys and values."""

from __future__ import annotations

from threading import Lock
from typing import Self

import torch
from torch import Tensor

SPARE = 16
"""At least this many positions fit after those that are kept, before all of them move to a larger buffer."""


class History:
    """Some tensors of every position so far, each [batch .. position d], in the order in which they came.

    What was kept once never changes: a trace may still hold the tensors of an earlier step, and a copy shares them.
    """

    def __init__(self, *kept: Tensor, buffer: Buffer | None = None) -> None:
        self.kept, self.buffer = kept, buffer

    def append(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Add those of the new positions and return those of all. With no new position, nothing changes."""
        if not self.kept:
            self.kept = self._begun(new)
            return new
        if new[0].shape[-2]:
            self.kept = self._extended(new)
        return self.kept

    def _begun(self, new: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if not torch.is_inference_mode_enabled():
            return new
        self.buffer = Buffer(new)
        return self.buffer.write(new, 0)

    def _extended(self, new: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if not torch.is_inference_mode_enabled():  # autograd allows no writing in place
            return tuple(torch.cat(pair, dim=-2) for pair in zip(self.kept, new, strict=True))
        if self.buffer is None or not self.buffer.claim(self.kept, new):
            self.buffer = Buffer(self.kept, new[0].shape[-2])
            self.buffer.write(self.kept, 0)
        return self.buffer.write(new, self.kept[0].shape[-2])

    @property
    def positions(self) -> int:
        return self.kept[0].shape[-2] if self.kept else 0

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in self.kept)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.kept

    def select(self, rows: Tensor) -> None:
        self.kept = tuple(x[rows] for x in self.kept)

    def copy(self) -> Self:
        return type(self)(*self.kept, buffer=self.buffer)


class Buffer:
    """Room for the positions after those that are kept, shared by all copies of a history.

    Only the first copy to grow writes after the others' positions; a copy that grows another way gets a buffer of its
    own. So a text of n tokens that is kept after each of them takes the memory of n positions, not of n².
    """

    def __init__(self, like: tuple[Tensor, ...], more: int = 0) -> None:
        """For as many positions as `like` has, and `more`."""
        self.used = like[0].shape[-2] + more
        self.size = self.used + max(SPARE, self.used // 4)
        self.lock = Lock()
        self.tensors = tuple(x.new_empty((*x.shape[:-2], self.size, x.shape[-1])) for x in like)

    def claim(self, kept: tuple[Tensor, ...], new: tuple[Tensor, ...]) -> bool:
        """Whether `new` may be written after `kept`: that is in this buffer, nothing is after it, and there is room."""
        if kept[0].data_ptr() != self.tensors[0].data_ptr():
            return False
        n, more = kept[0].shape[-2], new[0].shape[-2]
        with self.lock:
            free = self.used == n and n + more <= self.size
            self.used += more if free else 0
        return free

    def write(self, new: tuple[Tensor, ...], at: int) -> tuple[Tensor, ...]:
        """Returns the tensors up to the end of `new`."""
        end = at + new[0].shape[-2]
        for x, buffer in zip(new, self.tensors, strict=True):
            buffer[..., at:end, :] = x
        return tuple(buffer[..., :end, :] for buffer in self.tensors)
