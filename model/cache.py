"""The KV cache of a model: for each layer, the kind of cache that its mixer uses."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from chumoku.model.mechanisms import MixerCache


class Cache:
    """The cache of a stack: one `MixerCache` per layer. A fork continues from a `copy`."""

    def __init__(self, layers: Sequence[MixerCache]) -> None:
        self.layers = list(layers)

    @property
    def positions(self) -> int:
        """The number of cached positions."""
        return self.layers[0].positions

    @property
    def nbytes(self) -> int:
        return sum(layer.nbytes for layer in self.layers)

    @property
    def tensors(self) -> list[Tensor]:
        return [x for layer in self.layers for x in layer.tensors]

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order, as beam search does with its beams."""
        for layer in self.layers:
            layer.select(rows)

    def copy(self) -> Cache:
        return Cache([layer.copy() for layer in self.layers])


class DecoderCache(Cache):
    """The cache of a decoder: for the target so far and, in `cross`, for the source, which is read once."""

    def __init__(self, layers: Sequence[MixerCache], cross: Cache) -> None:
        super().__init__(layers)
        self.cross = cross

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.cross.nbytes

    @property
    def tensors(self) -> list[Tensor]:
        return super().tensors + self.cross.tensors

    def select(self, rows: Tensor) -> None:
        super().select(rows)
        self.cross.select(rows)

    def copy(self) -> DecoderCache:
        return DecoderCache(super().copy().layers, self.cross.copy())
