"""The attentions of a description with a path each, for the page's old fields: to go with the last that asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from model.config import ModelConfig
from model.describe import Side, describe


@dataclass(frozen=True)
class Attention:
    """One attention of every layer: `path` holds `{layer}`, its taps follow (`….pattern`); `causal`: as trained."""

    id: str
    path: str
    queries: Side
    keys: Side
    causal: bool

    def tap(self, layer: int, part: str) -> str:
        """A tap's name, e.g. `layers.3.attn.pattern`."""
        return f"{self.path.format(layer=layer)}.{part}"


def attentions(config: ModelConfig) -> tuple[Attention, ...]:
    """The attentions of a model, in the order of the forward pass."""
    return tuple(
        Attention(
            one.id,
            one.tap("attn_out", 0).rpartition(".")[0].replace(".0.", ".{layer}."),
            one.queries,
            one.keys,
            one.causal,
        )
        for one in describe(config).attentions
    )
