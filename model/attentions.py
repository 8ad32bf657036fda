"""Where a model attends: one entry per attention, with the path of its taps and its query and key sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.config import Family, ModelConfig

Side = Literal["source", "target"]
"""The sentence that is read (in every family), and what an encoder-decoder writes."""


@dataclass(frozen=True)
class Attention:
    """An attention of each layer. Its taps begin with `path`, which has a `{layer}`; `causal`: as trained."""

    id: str
    path: str
    queries: Side
    keys: Side
    causal: bool

    def tap(self, layer: int, part: str) -> str:
        """A tap's name, e.g. `layers.3.attn.pattern`."""
        return f"{self.path.format(layer=layer)}.{part}"


ATTENTIONS: dict[Family, tuple[Attention, ...]] = {
    "decoder-only": (Attention("self", "layers.{layer}.attn", "source", "source", causal=True),),
    "encoder-only": (Attention("self", "layers.{layer}.attn", "source", "source", causal=False),),
    "encoder-decoder": (
        Attention("encoder", "encoder.layers.{layer}.attn", "source", "source", causal=False),
        Attention("decoder", "decoder.layers.{layer}.attn", "target", "target", causal=True),
        Attention("cross", "decoder.layers.{layer}.cross_attn", "target", "source", causal=False),
    ),
}


def attentions(config: ModelConfig) -> tuple[Attention, ...]:
    """The attentions of a model, in the order of the forward pass."""
    return ATTENTIONS[config.family]
