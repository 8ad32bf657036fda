"""How far a pair of dimensions is turned per position, from a config: rotary positions and their scaled kinds."""

from __future__ import annotations

import math

from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

KINDS = ("default", "linear", "llama3")
"""Those whose angles do not depend on how long a text is, and which turn without stretching."""


LEAST_BASE = 1.0
"""With a smaller one, later pairs would turn faster than by a whole radian per position."""


def rope_of(settings: TransformersConfig) -> TransformersConfig:
    """The settings of rotary positions, beside the others."""
    given = settings.table("rope_parameters") or settings.table("rope_scaling")
    return TransformersConfig(settings.model_type, settings.architecture, dict(settings.values) | dict(given))


def kind_of(settings: TransformersConfig) -> str:
    rope = rope_of(settings)
    return rope.text("rope_type", rope.text("type", "default"))


def base_of(settings: TransformersConfig, default: float = 10_000.0) -> float:
    return rope_of(settings).positive("rope_theta", default, LEAST_BASE)


def whole_head(settings: TransformersConfig, d_head: int) -> int:
    """How many of a head's dimensions are turned: all. Raises `ValueError` where only a part is."""
    if rope_of(settings).number("partial_rotary_factor", 1.0) != 1.0:
        raise ValueError(f"config.json: {settings.model_type} that turns a part of each head cannot be shown yet")
    return in_pairs(settings, d_head, d_head)


def in_pairs(settings: TransformersConfig, turned: int, d_head: int) -> int:
    """`turned`, if that many of a head's dimensions can be turned in pairs."""
    if turned % 2 or not 0 < turned <= d_head:
        raise ValueError(
            f"config.json: {settings.model_type} turns {turned} of a head's {d_head} dimensions: it takes pairs"
        )
    return turned


def frequencies_of(settings: TransformersConfig, turned: int, base: float) -> tuple[float, ...] | None:
    """The angle of each pair of the `turned` dimensions per position; None where it follows from the base alone.
    Raises `ValueError` for a kind that is not in `KINDS`."""
    rope, kind = rope_of(settings), kind_of(settings)
    plain = [base ** (-two_i / turned) for two_i in range(0, turned, 2)]
    if kind == "default":
        return None
    if kind == "linear":
        factor = rope.positive("factor", 1.0)
        return tuple(one / factor for one in plain)
    if kind == "llama3":
        return of_llama3(plain, rope)
    raise ValueError(f"config.json: {settings.model_type} with rotary positions of type {kind} cannot be shown yet")


def of_llama3(plain: list[float], rope: TransformersConfig) -> tuple[float, ...]:
    """Slow pairs are slowed by `factor`, fast ones stay, those between are between (Llama 3.1)."""
    low, high, factor = (rope.positive(name, 1.0) for name in ("low_freq_factor", "high_freq_factor", "factor"))
    if low >= high:
        raise ValueError(f"config.json: low_freq_factor must be below high_freq_factor, got {low:g} and {high:g}")
    window = rope.positive("original_max_position_embeddings", 8192)

    def slowed(one: float) -> float:
        turns = window * one / (2 * math.pi)  # within the trained window
        kept = min(max((turns - low) / (high - low), 0.0), 1.0)
        return (1 - kept) * one / factor + kept * one

    return tuple(map(slowed, plain))
