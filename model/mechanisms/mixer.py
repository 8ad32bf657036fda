"""What every mechanism is to a block: one call, a cache of its own kind, and a description of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

from torch import Tensor, nn

if TYPE_CHECKING:
    from model.config import ModelConfig


@dataclass(frozen=True)
class Identity:
    """`op` of some roles (or parameters) gives another: what a trace of this mechanism must agree with."""

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
    """The role that shows who looks at whom, `head query key` in [0, 1]; None where there is no such tensor."""
    n_head: int
    n_kv_head: int
    d_head: int
    scale: float | None = None
    """What scores are multiplied by before the softmax; None without scores."""
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Role → the roles that add up to it."""
    identities: tuple[Identity, ...] = ()


class MixerCache(Protocol):
    """What a mixer remembers of the positions before. Only the mixer knows what is in it; a fork goes on from a
    `copy`, for nothing can be taken back."""

    @property
    def positions(self) -> int:
        """How many positions it has seen."""

    @property
    def nbytes(self) -> int: ...

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order."""

    def copy(self) -> Self: ...


class Mixer(nn.Module):
    """What lets positions see each other. A mechanism is one subclass in a file of its own, and a line in `MECHANISMS`.

    Its parameters are drawn as all others are (`stack.init_weights`), unless `init_weights` draws them again.
    """

    @staticmethod
    def describe(config: ModelConfig) -> MixerDescription:
        """What it is, from a config alone."""
        raise NotImplementedError

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        raise NotImplementedError

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

        x_query [batch query d_model] asks, x_key_value [batch key d_model] answers: the same tensor in self-attention.
        `query_positions` and `key_positions` int64 [1|batch query|key] are their position ids; `is_pad` bool [batch
        key] says which keys are PADs (None: none). With a cache the keys are the new positions only, or none at all;
        `mask` of reasons [batch 1|head query key] is over all of them, those in the cache first.
        """
        raise NotImplementedError

    def new_cache(self) -> MixerCache:
        """A cache that has seen nothing."""
        raise NotImplementedError

    def writers(self) -> Iterator[nn.Linear]:
        """The matrices that write into the residual stream: they are drawn smaller, the deeper the model."""
        raise NotImplementedError

    def init_weights(self) -> None:
        """Draw what wants other random numbers than a Linear or an Embedding has."""

    def lay_out_for_reading(self) -> None:
        """Arrange the weights in memory for a model that is only read; shapes and values stay."""

    def fuse(self) -> None:
        """Take the fastest form there is, taps or no taps: for training."""


def mixers(model: nn.Module) -> Iterator[Mixer]:
    """Every mixer of a model."""
    return (module for module in model.modules() if isinstance(module, Mixer))


def fuse_attention(model: nn.Module) -> None:
    """Let every mixer of `model` take its fastest form, which shows nothing."""
    for mixer in mixers(model):
        mixer.fuse()
