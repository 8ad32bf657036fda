"""How far a pair of dimensions is turned per position, from a config: rotary positions and their scaled kinds."""

from __future__ import annotations

import math

from chumoku.model.subjects.huggingface.settings import Settings

KINDS = ("default", "linear", "llama3")
"""Those whose angles do not depend on how long a text is, and which turn without stretching."""


def rope_of(settings: Settings) -> Settings:
    """The settings of rotary positions, beside the others."""
    given = settings.values.get("rope_parameters") or settings.values.get("rope_scaling") or {}
    return Settings(settings.model_type, settings.architecture, dict(settings.values) | given)


def kind_of(settings: Settings) -> str:
    rope = rope_of(settings)
    return rope.text("rope_type", rope.text("type", "default"))


def base_of(settings: Settings) -> float:
    """Raises `ValueError` where only a part of each head is turned."""
    rope = rope_of(settings)
    if rope.number("partial_rotary_factor", 1.0) != 1.0:
        raise ValueError(f"config.json: {settings.model_type} that turns a part of each head cannot be shown yet")
    return rope.number("rope_theta", 10_000.0)


def frequencies_of(settings: Settings, turned: int, base: float) -> tuple[float, ...] | None:
    """The angle of each pair of the `turned` dimensions per position; None where it follows from the base alone.
    Raises `ValueError` for a kind that is not in `KINDS`."""
    rope, kind = rope_of(settings), kind_of(settings)
    plain = [base ** (-two_i / turned) for two_i in range(0, turned, 2)]
    if kind == "default":
        return None
    if kind == "linear":
        return tuple(one / rope.number("factor", 1.0) for one in plain)
    if kind == "llama3":
        return tuple(of_llama3(one, rope) for one in plain)
    raise ValueError(f"config.json: {settings.model_type} with rotary positions of type {kind} cannot be shown yet")


def of_llama3(plain: float, rope: Settings) -> float:
    """Slow pairs are slowed by `factor`, fast ones stay, those between are between (Llama 3.1)."""
    low, high, factor = (rope.number(name, 1.0) for name in ("low_freq_factor", "high_freq_factor", "factor"))
    turns = rope.number("original_max_position_embeddings", 8192) * plain / (2 * math.pi)  # within the trained window
    kept = min(max((turns - low) / (high - low), 0.0), 1.0)
    return (1 - kept) * plain / factor + kept * plain
