"""Attentions of ours, changed where a model of another library differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chumoku.model.describe.description import Description
from chumoku.model.describe.parts import Attention, Role
from chumoku.model.mechanisms.mixer import Identity


def each_attention(description: Description, change: Callable[[Attention], Attention]) -> Description:
    return replace(description, attentions=tuple(map(change, description.attentions)))


def named(one: Attention, name: str) -> tuple[str, ...]:
    """A tap or a parameter beside q, in each layer."""
    return tuple(tap.removesuffix("q") + name for tap in one.roles["q"].taps)


def with_normed_heads(description: Description, eps: float) -> Description:
    """An RMSNorm of each head's q and k after their projections, before they are turned (Dehghani et al. 2023)."""

    def change(one: Attention) -> Attention:
        projected = {f"{x}_projected": Role(one.roles[x].dims, named(one, f"{x}_projected")) for x in "qk"}
        gains = {f"gain_{x}": named(one, f"{x}_norm.weight") for x in "qk"}
        norms = tuple(Identity("rms_norm", (f"{x}_projected", f"gain_{x}"), x) for x in "qk")
        return replace(
            one, roles=projected | dict(one.roles), parameters=dict(one.parameters) | gains,
            identities=norms + one.identities, norm_eps=eps,
        )  # fmt: skip

    return each_attention(description, change)


def with_rotary_dims(description: Description, turned: int) -> Description:
    """Only the first dimensions of a head are turned."""

    def change(one: Attention) -> Attention:
        return replace(one, rotary_dims=None if turned == one.d_head else turned)

    return each_attention(description, change)
