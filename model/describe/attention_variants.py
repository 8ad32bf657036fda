"""Attentions of ours, changed where a model of another library differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chumoku.model.describe.description import Description
from chumoku.model.describe.parts import Attention, Role
from chumoku.model.mechanisms.mixer import Identity
from chumoku.model.mechanisms.rotary import BASE


def each_attention(description: Description, change: Callable[[Attention], Attention]) -> Description:
    return replace(description, attentions=tuple(map(change, description.attentions)))


def named(one: Attention, name: str) -> tuple[str, ...]:
    """A tap or a parameter beside q, in each layer."""
    return tuple(tap.removesuffix("q") + name for tap in one.roles["q"].taps)


def with_heads(
    description: Description, n_head: int, n_kv_head: int, d_head: int, base: float = BASE, scale: float | None = None
) -> Description:
    """Heads of any width, which may share keys and values (Ainslie et al. 2023), turned with another base. Their
    products are multiplied by `scale`; None: by 1/√d_head. Raises `ValueError` for heads that cannot share evenly."""
    if n_head % n_kv_head:
        raise ValueError(f"{n_head} heads cannot share {n_kv_head} keys and values evenly")

    def change(one: Attention) -> Attention:
        return replace(
            one, n_head=n_head, n_kv_head=n_kv_head, d_head=d_head, base=None if base == BASE else base,
            scale=d_head**-0.5 if scale is None else scale,
        )  # fmt: skip

    return each_attention(description, change)


def without_biases(description: Description, of: str) -> Description:
    """Attentions without b_Q for "q" in `of`, and so on."""
    gone = {f"b_{x}" for x in of}

    def change(one: Attention) -> Attention:
        parameters = {role: names for role, names in one.parameters.items() if role not in gone}
        identities = tuple(replace(x, of=tuple(role for role in x.of if role not in gone)) for x in one.identities)
        return replace(one, parameters=parameters, identities=identities)

    return each_attention(description, change)


def with_score_bias(description: Description, role: str) -> Description:
    """Self-attentions whose scores have a part that depends on positions alone: a role of its own, beside
    `content_scores`."""

    def change(one: Attention) -> Attention:
        if one.queries != one.keys:
            return one
        dims, roles = one.roles["scores"].dims, dict[str, Role]()
        for name, found in one.roles.items():
            if name == "scores":
                roles |= {part: Role(dims, named(one, part)) for part in (CONTENT, role)}
            roles[name] = found
        product = next(x for x in one.identities if x.gives == "scores")
        identities = tuple(replace(x, gives=CONTENT) if x is product else x for x in one.identities)
        parts = dict(one.parts) | {"scores": (CONTENT, role)}
        return replace(one, roles=roles, parts=parts, identities=identities)

    return each_attention(description, change)


CONTENT = "content_scores"


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


def seen_early(description: Description, *roles: str) -> Description:
    """Roles that are captured where they are computed, before a cache adds those of earlier positions: a step has them
    for its own positions alone, as it has queries."""

    def change(one: Attention) -> Attention:
        return replace(one, roles=dict(one.roles) | {role: replace(one.roles[role], rows="query") for role in roles})

    return each_attention(description, change)


def with_frequencies(description: Description, frequencies: tuple[float, ...] | None) -> Description:
    """Pairs that are turned by another angle per position than the base says."""
    return each_attention(description, lambda one: replace(one, frequencies=frequencies))


def with_rotary_dims(description: Description, turned: int) -> Description:
    """Only the first dimensions of a head are turned."""

    def change(one: Attention) -> Attention:
        return replace(one, rotary_dims=None if turned == one.d_head else turned)

    return each_attention(description, change)
