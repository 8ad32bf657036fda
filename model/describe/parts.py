"""The parts of a description. Their fields are the keys of its JSON, except for those in `description.WIRE`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from chumoku.model.config import NormOrder, PositionKind
from chumoku.model.mechanisms.mixer import Identity

Side = Literal["source", "target"]
"""`source`: the sentence that is read (in every family); `target`: what an encoder-decoder writes."""


@dataclass(frozen=True)
class TapRef:
    """A tap's name, and the names of its dimensions."""

    tap: str
    dims: str

    @property
    def module(self) -> str:
        """The module that the tap belongs to, e.g. `layers.3.ffn`."""
        return self.tap.rpartition(".")[0]


@dataclass(frozen=True)
class Role:
    """The name of one tensor of an attention in each of its layers."""

    dims: str
    taps: tuple[str, ...]
    rows: Literal["query", "key"] = "query"
    """Which positions its rows are: the queries', or the keys', which include cached ones."""


@dataclass(frozen=True)
class Norm:
    """A norm: before its sublayer, after the sum, or on the output of the sublayer. An RMSNorm (Zhang and Sennrich
    2019) subtracts no mean and has no `bias`."""

    kind: Literal["layer_norm", "rms_norm"]
    eps: float
    place: NormOrder
    roles: Mapping[str, TapRef]
    parameters: Mapping[str, str]

    @property
    def module(self) -> str:
        return self.roles["out"].module


@dataclass(frozen=True)
class Sublayer:
    """A sublayer writes to a residual stream.

    `reads` is the stream before it and `leaves` the stream after it; `writes` is its own output, and `input` the input
    of its first matrices. Without a residual connection `leaves` is `writes`.
    """

    kind: Literal["attention", "ffn"]
    layer: int
    reads: TapRef
    writes: TapRef
    leaves: TapRef
    input: TapRef
    norm: Norm | None

    @property
    def added(self) -> TapRef:
        """What it adds to the stream: its output, normalised with `res-post`."""
        return self.norm.roles["out"] if self.norm and self.norm.place == "res-post" else self.writes

    @property
    def module(self) -> str:
        return self.writes.module


@dataclass(frozen=True)
class AttentionSublayer(Sublayer):
    """The sublayer of the attention with this id, in this layer."""

    attention: str


@dataclass(frozen=True)
class FfnSublayer(Sublayer):
    """post = activation(pre), times the role that `gate` names if there is one (Shazeer 2020).

    With the roles `value` and `receptance` (RWKV), what it writes is post · W_2, the `value`, times σ(receptance)."""

    roles: Mapping[str, TapRef]
    parameters: Mapping[str, str]
    activation: str
    gate: str | None
    d_ff: int
    beside: TapRef | None = None
    """What another sublayer adds to the stream at the same time, if both read the same stream (a parallel residual,
    Black et al. 2022): `leaves` is `reads` + `beside` + `writes`."""


@dataclass(frozen=True)
class Layer:
    sublayers: tuple[AttentionSublayer | FfnSublayer, ...]
    scale: float | None = None
    """The next layer reads the stream times this factor; None: unscaled."""


@dataclass(frozen=True)
class Embedding:
    """The start of a stream: E[id] · scale + position + token type, normalised where there is a `norm`. Without
    positions, `roles` has no `positional`; where a model does not tell two texts apart, no `token_types`."""

    roles: Mapping[str, TapRef]
    scale: float
    positions: PositionKind
    parameters: Mapping[str, str | None]
    norm: Norm | None = None


@dataclass(frozen=True)
class Stack:
    """Embeddings and layers. `leaves`: its output, after the final norm if there is one."""

    id: str
    side: Side
    embedding: Embedding
    layers: tuple[Layer, ...]
    final_norm: Norm | None
    leaves: TapRef

    @property
    def prefix(self) -> str:
        """The prefix of all its taps: empty, `encoder.` or `decoder.`."""
        return self.embedding.roles["embedding"].tap.removesuffix("embedding")

    @property
    def module(self) -> str:
        """The module that has its layers; empty: the model itself."""
        return self.prefix.removesuffix(".")

    @property
    def sublayers(self) -> list[AttentionSublayer | FfnSublayer]:
        """All sublayers that write to its stream, first to last."""
        return [sublayer for layer in self.layers for sublayer in layer.sublayers]

    @property
    def ffns(self) -> list[FfnSublayer]:
        return [sublayer for sublayer in self.sublayers if isinstance(sublayer, FfnSublayer)]

    @property
    def stream(self) -> list[str]:
        """The taps of the stream before the first layer and after every layer: n_layer + 1 names."""
        return [self.sublayers[0].reads.tap, *(layer.sublayers[-1].leaves.tap for layer in self.layers)]

    @property
    def before_layers(self) -> list[str]:
        """The taps of the stream before each layer. Where only attentions are seen, a layer leaves what the next one
        reads."""
        ends = [layer.sublayers[-1] for layer in self.layers]
        seen = all(end.leaves != end.writes for end in ends)
        return self.stream[:-1] if seen else [layer.sublayers[0].reads.tap for layer in self.layers]


@dataclass(frozen=True)
class Attention:
    """One attention in each layer of a stack. `causal`: as trained."""

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
    contribution_roles: tuple[str, ...] = ()
    """The roles and parameters that give what each key adds to each query; empty if keys cannot be separated."""
    base: float | None = None
    """For rotary positions: pair i at position p is rotated by p · base^(−2i/d_head). None: 10,000, or no rotation."""
    bases: tuple[float, ...] | None = None
    """The base in each layer, where layers differ. None: `base`."""
    frequencies: tuple[float, ...] | None = None
    """The angle of each pair per position, if it does not follow from the base. None: it does."""
    rotary_dims: int | None = None
    """How many of a head's first dimensions are rotated; the angle's d_head is this number. None: all."""
    norm_eps: float | None = None
    """ε of an RMSNorm of each head's q and k after their projections. None: no such norm."""
    bias_reach: int | None = None
    """The distance from which the learned position bias is 0. None: never, or no such bias."""
    softcap: float | None = None
    """The bound of the scores c · tanh(x / c), x the scaled products (Gemma team 2024). None: no such step."""

    def tap(self, role: str, layer: int) -> str:
        """A role's tap in a layer. Raises `KeyError` listing the known roles."""
        if role not in self.roles:
            raise KeyError(f"attention {self.id!r} has no role {role!r}; known are {', '.join(self.roles)}")
        return self.roles[role].taps[layer]

    @property
    def has_heads_to_ablate(self) -> bool:
        """Whether each head has an output z before W_O, which can be set to 0."""
        return "z" in self.roles and self.roles["z"].dims.split()[0] == "head"

    def side_of(self, role: str) -> Side:
        """The side whose tokens are the rows of a role."""
        return self.keys if self.roles[role].rows == "key" else self.queries


@dataclass(frozen=True)
class Logits:
    """The logits, computed from the last state of `stack`; `unembedding` is None if that takes more than a matrix.
    `labels` are the names of what a head gives, if nothing is predicted."""

    tap: str
    dims: str
    stack: str
    parameters: Mapping[str, str | None]
    labels: tuple[str, ...] = ()
