"""The parts of a description. Their fields are the keys of its JSON (DESIGN.md, section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from model.config import NormOrder, PositionKind
from model.mechanisms.mixer import Identity

Side = Literal["source", "target"]
"""The sentence that is read, in every family, and what an encoder-decoder writes."""


@dataclass(frozen=True)
class TapRef:
    """A tap's name, and the names of its dimensions."""

    tap: str
    dims: str

    @property
    def module(self) -> str:
        """The module that the tap lies in, e.g. `layers.3.ffn`."""
        return self.tap.rpartition(".")[0]


@dataclass(frozen=True)
class Role:
    """What one tensor of an attention is called in each of its layers."""

    dims: str
    taps: tuple[str, ...]


@dataclass(frozen=True)
class Norm:
    """A LayerNorm: before its sublayer, behind the sum, or on what the sublayer wrote."""

    kind: Literal["layer_norm"]
    eps: float
    place: NormOrder
    roles: Mapping[str, TapRef]
    parameters: Mapping[str, str]

    @property
    def module(self) -> str:
        return self.roles["out"].module


@dataclass(frozen=True)
class Sublayer:
    """What writes into a residual stream.

    `reads` is the stream before it and `leaves` the stream after it; `writes` is what it computed itself, and `input`
    what its first matrices multiply.
    """

    kind: Literal["attention", "ffn"]
    layer: int
    reads: TapRef
    writes: TapRef
    leaves: TapRef
    input: TapRef
    norm: Norm

    @property
    def module(self) -> str:
        return self.writes.module


@dataclass(frozen=True)
class AttentionSublayer(Sublayer):
    """Its tensors are those of the attention with this id, in this layer."""

    attention: str


@dataclass(frozen=True)
class FfnSublayer(Sublayer):
    roles: Mapping[str, TapRef]
    parameters: Mapping[str, str]
    activation: Literal["relu"]
    gate: str | None
    d_ff: int


@dataclass(frozen=True)
class Layer:
    sublayers: tuple[AttentionSublayer | FfnSublayer, ...]


@dataclass(frozen=True)
class Embedding:
    """The start of a stream: E[id] · scale + position."""

    roles: Mapping[str, TapRef]
    scale: float
    positions: PositionKind
    parameters: Mapping[str, str | None]


@dataclass(frozen=True)
class Stack:
    """Embeddings with layers above. `leaves`: what it hands on, behind its last norm where there is one."""

    id: str
    side: Side
    embedding: Embedding
    layers: tuple[Layer, ...]
    final_norm: Norm | None
    leaves: TapRef

    @property
    def prefix(self) -> str:
        """What the names of all its taps begin with: nothing, `encoder.` or `decoder.`."""
        return self.embedding.roles["embedding"].tap.removesuffix("embedding")

    @property
    def sublayers(self) -> list[AttentionSublayer | FfnSublayer]:
        """All that writes into its stream, first to last."""
        return [sublayer for layer in self.layers for sublayer in layer.sublayers]

    @property
    def ffns(self) -> list[FfnSublayer]:
        return [one for one in self.sublayers if isinstance(one, FfnSublayer)]

    @property
    def stream(self) -> list[str]:
        """The taps of the stream before the first layer and after every layer: n_layer + 1 names."""
        return [self.sublayers[0].reads.tap, *(layer.sublayers[-1].leaves.tap for layer in self.layers)]


@dataclass(frozen=True)
class Attention:
    """One kind of place where a model attends, in each of its layers. `causal`: as it was trained."""

    id: str
    kind: str
    stack: str
    queries: Side
    keys: Side
    causal: bool
    n_layer: int
    n_head: int
    n_kv_head: int
    d_head: int
    scale: float | None
    overview: str | None
    roles: Mapping[str, Role]
    parameters: Mapping[str, tuple[str, ...]]
    parts: Mapping[str, tuple[str, ...]]
    identities: tuple[Identity, ...]

    def tap(self, role: str, layer: int) -> str:
        """A role's tap in a layer; raises `KeyError` naming the roles there are."""
        if role not in self.roles:
            raise KeyError(f"attention {self.id!r} has no role {role!r}; known are {', '.join(self.roles)}")
        return self.roles[role].taps[layer]


@dataclass(frozen=True)
class Logits:
    """What is read off the last state of `stack`."""

    tap: str
    dims: str
    stack: str
    parameters: Mapping[str, str | None]
