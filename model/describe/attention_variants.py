"""Variants of our attentions' descriptions for models of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chumoku.model.describe.description import Description
from chumoku.model.describe.parts import Attention, Role
from chumoku.model.mechanisms.mixer import Identity
from chumoku.model.mechanisms.rotary import BASE


def each_attention(description: Description, change: Callable[[Attention], Attention]) -> Description:
    return replace(description, attentions=tuple(map(change, description.attentions)))


def named(attention: Attention, name: str) -> tuple[str, ...]:
    """The names, one per layer, of a tap or parameter in the same module as q."""
    return tuple(tap.removesuffix("q") + name for tap in attention.roles["q"].taps)


def with_heads(
    description: Description, n_head: int, n_kv_head: int, d_head: int, base: float = BASE, scale: float | None = None
) -> Description:
    """Heads of any width, which may share keys and values (grouped-query attention, Ainslie et al. 2023), rotated with
    another `base`. Scores are scaled by `scale`, or by 1/√d_head if it is None. Raises `ValueError` for heads that
    cannot share evenly."""
    if n_head % n_kv_head:
        raise ValueError(f"{n_head} heads cannot share {n_kv_head} keys and values evenly")

    def change(attention: Attention) -> Attention:
        return replace(
            attention, n_head=n_head, n_kv_head=n_kv_head, d_head=d_head, base=None if base == BASE else base,
            scale=d_head**-0.5 if scale is None else scale,
        )  # fmt: skip

    return each_attention(description, change)


def without_biases(description: Description, of: str) -> Description:
    """Attentions without the biases that `of` names by letters: b_Q for "q", and so on."""
    gone = {f"b_{x}" for x in of}

    def change(attention: Attention) -> Attention:
        parameters = {role: names for role, names in attention.parameters.items() if role not in gone}
        identities = tuple(
            replace(x, of=tuple(role for role in x.of if role not in gone)) for x in attention.identities
        )
        return replace(attention, parameters=parameters, identities=identities)

    return each_attention(description, change)


def with_score_bias(description: Description, role: str, of: tuple[str, ...] = ()) -> Description:
    """Self-attentions whose scores are `content_scores` plus a part that depends on positions, named `role`; that part
    may be the sum of the roles in `of`."""

    def change(attention: Attention) -> Attention:
        if attention.queries != attention.keys:
            return attention
        dims, roles = attention.roles["scores"].dims, dict[str, Role]()
        for name, found in attention.roles.items():
            if name == "scores":
                roles |= {part: Role(dims, named(attention, part)) for part in (CONTENT, *of, role)}
            roles[name] = found
        product = next(x for x in attention.identities if x.gives == "scores")
        identities = tuple(replace(x, gives=CONTENT) if x is product else x for x in attention.identities)
        parts = dict(attention.parts) | {"scores": (CONTENT, role)} | ({role: of} if of else {})
        return replace(attention, roles=roles, parts=parts, identities=identities)

    return each_attention(description, change)


CONTENT = "content_scores"


UNCAPPED = "uncapped_scores"


def with_softcap(description: Description, cap: float) -> Description:
    """Scores that a tanh keeps between −`cap` and `cap`, after the scaling and before the mask."""

    def change(attention: Attention) -> Attention:
        roles = dict[str, Role]()
        for name, found in attention.roles.items():
            if name == "scores":
                roles[UNCAPPED] = Role(found.dims, named(attention, UNCAPPED))
            roles[name] = found
        product = next(x for x in attention.identities if x.gives == "scores")
        rest = tuple(x for x in attention.identities if x is not product)
        capped = (replace(product, gives=UNCAPPED), Identity("softcap", (UNCAPPED,), "scores"))
        return replace(attention, roles=roles, identities=capped + rest, softcap=cap)

    return each_attention(description, change)


def with_normed_heads(description: Description, eps: float) -> Description:
    """An RMSNorm of each head's q and k after their projections and before any rotation (Dehghani et al. 2023)."""

    def change(attention: Attention) -> Attention:
        projected = {f"{x}_projected": Role(attention.roles[x].dims, named(attention, f"{x}_projected")) for x in "qk"}
        gains = {f"gain_{x}": named(attention, f"{x}_norm.weight") for x in "qk"}
        norms = tuple(Identity("rms_norm", (f"{x}_projected", f"gain_{x}"), x) for x in "qk")
        return replace(
            attention, roles=projected | dict(attention.roles), parameters=dict(attention.parameters) | gains,
            identities=norms + attention.identities, norm_eps=eps,
        )  # fmt: skip

    return each_attention(description, change)


def seen_early(description: Description, *roles: str) -> Description:
    """Roles that are captured before a cache adds earlier positions: like queries, a step has them only for its new
    positions."""

    def change(attention: Attention) -> Attention:
        return replace(
            attention,
            roles=dict(attention.roles) | {role: replace(attention.roles[role], rows="query") for role in roles},
        )

    return each_attention(description, change)


def with_frequencies(description: Description, frequencies: tuple[float, ...] | None) -> Description:
    """Rotary angles per position that do not follow from the base; None: they do."""
    return each_attention(description, lambda attention: replace(attention, frequencies=frequencies))


def with_rotary_dims(description: Description, turned: int) -> Description:
    """Only the first `turned` dimensions of a head are rotated."""

    def change(attention: Attention) -> Attention:
        return replace(attention, rotary_dims=None if turned == attention.d_head else turned)

    return each_attention(description, change)


def with_bases(description: Description, bases: tuple[float, ...]) -> Description:
    """Rotary positions whose base differs between layers."""
    return each_attention(description, lambda attention: replace(attention, bases=bases))
