"""The interface between a mechanism and a block: one call, a kind of cache, a description, and what it costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, Self

from torch import Tensor, nn

if TYPE_CHECKING:
    from chumoku.model.config import ModelConfig


Growth = Literal["1", "T"]


@dataclass(frozen=True)
class CostTerm:
    """The product of the symbols in `of`. `what` is the key of its name in the page's texts."""

    what: str
    of: tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    """What one layer costs for T tokens: `multiplications`, and the `numbers` held in memory, each a sum of terms.

    `time` and `space` are their orders of growth; `steps` is the number of sequential steps, and `path` how many of
    them lie between two distant tokens. `skewed` are the numbers that the skew holds, `naive` those that the formula
    as written would hold instead.
    """

    multiplications: tuple[CostTerm, ...]
    numbers: tuple[CostTerm, ...]
    time: str
    space: str
    steps: Growth
    path: Growth
    skewed: tuple[CostTerm, ...] = ()
    naive: tuple[CostTerm, ...] = ()


INPUTS = CostTerm("inputs", ("4", "T", "d"))
"""q (or the gate), k, v and the result, which every form holds."""
QUOTIENT, GATE = CostTerm("quotient", ("T", "d")), CostTerm("gate", ("T", "d"))


def sizes(d_model: int, n_head: int, reach: int = 16, rank: int = 32) -> dict[str, int]:
    """The values of the symbols that do not depend on T, for a layer of this shape."""
    return {"d": d_model, "h": n_head, "s": reach, "r": rank, "c": 2 * reach + 1, "d_k": d_model // n_head}


@dataclass(frozen=True)
class Identity:
    """The operation `op` on the roles (or parameters) `of` gives the role `gives`, in every trace of a mechanism."""

    op: str
    of: tuple[str, ...]
    gives: str


@dataclass(frozen=True)
class Parameter:
    """A parameter's name inside the mixer, and the names of its dimensions, a matrix's outputs first."""

    name: str
    dims: str


@dataclass(frozen=True)
class MixerDescription:
    """One attention as its mechanism sees it. A role's tap is an attribute of the mixer with the role's name.

    `attn_out` [position d_model] is the one role that every mechanism has: what is added to the residual stream.
    """

    roles: Mapping[str, str]
    """Role → the names of its dimensions."""
    parameters: Mapping[str, Parameter]
    """Role → parameter; a bias `b_x` belongs to the matrix `w_x`."""
    overview: str | None
    """The role that shows which query attends to which key, `head query key` in [0, 1]; None without one."""
    n_head: int
    n_kv_head: int
    d_head: int
    scale: float | None = None
    """The factor applied to scores before the softmax; None without scores."""
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Role → the roles that add up to it."""
    identities: tuple[Identity, ...] = ()
    contribution_roles: tuple[str, ...] = ()
    """The roles and parameters that `SeparatesKeys.key_contributions` needs; empty: keys cannot be separated."""
    bias_reach: int | None = None
    """The distance from which its learned position bias is 0; None: never, or no such bias."""
    by_key: tuple[str, ...] = ()
    """The roles whose positions are the keys', including cached ones. The positions of all others are the queries'."""


class MixerCache(Protocol):
    """What a mixer keeps of earlier positions. Only the mixer reads its contents. It cannot be truncated, so a fork
    continues from a `copy`."""

    @property
    def positions(self) -> int:
        """The number of positions it has seen."""

    @property
    def nbytes(self) -> int: ...

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All its tensors, so that memory that copies share is counted once."""

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order."""

    def copy(self) -> Self: ...


class Mixer(nn.Module, ABC):
    """Lets positions attend to each other. A mechanism is one subclass and a line in `MECHANISMS`.

    Its parameters are initialised like all others (`stack.init_weights`), unless its own `init_weights` changes them.
    """

    @staticmethod
    @abstractmethod
    def describe(config: ModelConfig) -> MixerDescription:
        """Its description, from a config alone. Raises `ValueError` for numbers that it cannot use."""

    @classmethod
    def cost(cls) -> Cost | None:
        """What one layer costs, by formula; None: unknown."""
        return None

    @classmethod
    @abstractmethod
    def build(cls, config: ModelConfig) -> Self:
        """A mixer with random weights."""

    @abstractmethod
    def forward(
        self,
        x_query: Tensor,
        x_key_value: Tensor,
        mask: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        is_pad: Tensor | None = None,
        cache: MixerCache | None = None,
    ) -> Tensor:
        """What is added to the residual stream: [batch query d_model].

        x_query [batch query d_model] gives the queries, x_key_value [batch key d_model] the keys and values; in
        self-attention they are the same tensor. `query_positions` and `key_positions` int64 [1|batch query|key] are
        position ids; `is_pad` bool [batch key] marks PADs (None: none). With a cache, the keys are only the new
        positions, or empty; `mask` of reasons [batch 1|head query key] covers all keys, cached ones first.
        """

    @abstractmethod
    def new_cache(self) -> MixerCache:
        """An empty cache."""

    @abstractmethod
    def writers(self) -> Iterator[nn.Linear]:
        """The matrices that write to the residual stream. They are initialised smaller in deeper models."""

    def init_weights(self) -> None:
        """Initialise parameters that need another distribution than a Linear or an Embedding."""

    def undecayed(self) -> tuple[nn.Parameter, ...]:
        """Matrices without weight decay: tables and biases by position. Vectors have none anyway."""
        return ()

    def lay_out_for_reading(self) -> None:
        """Arrange the weights in memory for a model that is only read; shapes and values stay."""

    def fuse(self, seq_len: int | None = None) -> None:
        """Switch to the form that trains fastest at sequences of this length (None: long). It may have no taps."""


def mixers(model: nn.Module) -> Iterator[Mixer]:
    """Every mixer of a model."""
    return (module for module in model.modules() if isinstance(module, Mixer))


def fuse_attention(model: nn.Module, seq_len: int | None = None) -> None:
    """Switch every mixer of `model` to the form that trains fastest at this length, which may have no taps."""
    for mixer in mixers(model):
        mixer.fuse(seq_len)


class SeparatesKeys(Protocol):
    """The additional method of a mixer whose description names `contribution_roles`."""

    @staticmethod
    def key_contributions(of: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """What each key adds to `attn_out` (without biases after the heads), as a sum over heads:
        weights [head query key] and values [head key d_model], so that key k adds Σ_h weights[h, q, k] values[h, k].
        Values that differ by query are [head query key d_model]. A mechanism with separate weights for each feature
        returns a "head" for each feature.

        `of` has the roles and parameters that `describe` names in `contribution_roles`, of one layer.
        """
