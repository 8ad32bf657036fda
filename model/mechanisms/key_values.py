"""What attention keeps of earlier positions: their keys and values."""

from __future__ import annotations

import torch
from torch import Tensor


class KeyValueCache:
    """Keys and values so far, each [batch head position d_head].

    Concatenates instead of writing into a buffer: a trace may still hold the tensors of an earlier step.
    """

    def __init__(self, k: Tensor | None = None, v: Tensor | None = None) -> None:
        self.k, self.v = k, v

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add k, v of the new positions and return those of all positions. With no new position, nothing changes."""
        if self.k is None or self.v is None:
            self.k, self.v = k, v
        elif k.shape[-2]:
            self.k, self.v = torch.cat((self.k, k), dim=-2), torch.cat((self.v, v), dim=-2)
        return self.k, self.v

    @property
    def positions(self) -> int:
        return 0 if self.k is None else self.k.shape[-2]

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in (self.k, self.v) if x is not None)

    def select(self, rows: Tensor) -> None:
        if self.k is not None and self.v is not None:
            self.k, self.v = self.k[rows], self.v[rows]

    def copy(self) -> KeyValueCache:
        return KeyValueCache(self.k, self.v)  # nothing is written in place, so both can share the tensors
