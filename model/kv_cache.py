"""The KV cache: keys and values of earlier positions, kept so that a new token costs one row, not a triangle."""

from __future__ import annotations

import torch
from torch import Tensor


class LayerCache:
    """One attention's keys and values so far, each [batch head position d_head].

    Concatenates instead of writing into a buffer: a trace may still hold the tensors of an earlier step.
    """

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add the new positions' k, v; return those of all positions. None new: what is kept, as it is."""
        if self.k is None or self.v is None:
            self.k, self.v = k, v
        elif k.shape[-2]:
            self.k, self.v = torch.cat((self.k, k), dim=-2), torch.cat((self.v, v), dim=-2)
        return self.k, self.v


class KVCache:
    """One `LayerCache` for each layer."""

    def __init__(self, n_layer: int) -> None:
        self.layers = [LayerCache() for _ in range(n_layer)]

    @property
    def seq_len(self) -> int:
        """Positions kept so far."""
        k = self.layers[0].k
        return 0 if k is None else k.shape[-2]

    @property
    def nbytes(self) -> int:
        """Bytes that the keys and values take."""
        return sum(x.nbytes for layer in self.layers for x in (layer.k, layer.v) if x is not None)
