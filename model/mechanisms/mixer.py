"""What a mechanism says of itself: its tensors by role, its parameters, and what must hold between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
