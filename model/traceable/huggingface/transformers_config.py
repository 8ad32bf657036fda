"""A `config.json` of transformers, read without transformers. Settings that we cannot show are refused by name.

Also the angles of rotary positions, and the names of activations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

WINDOW = 1024
"""The most tokens that the page draws; a model may read more. `layout.drawable` lowers it for models with many
layers."""
MOST = 2**24
LARGEST = 1e30
"""Limit for any number in a config."""


@dataclass(frozen=True)
class TransformersConfig:
    """A model's settings. The methods raise `ValueError` for a setting that is missing, of another type, or refused."""

    model_type: str
    architecture: str
    """The class that the weights belong to."""
    values: Mapping[str, Any]
    processor: Mapping[str, Any] = field(default_factory=dict)
    """For a model that reads pictures, its `preprocessor_config.json`; empty without one."""

    def whole(self, name: str, default: int | None = None) -> int:
        found = self.values.get(name)
        found = default if found is None else found
        if type(found) is not int or not 0 < found <= MOST:
            raise ValueError(f"config.json: {name} must be a whole number from 1 to {MOST:,}, got {str(found)[:40]}")
        return found

    def number(self, name: str, default: float) -> float:
        found = self.values.get(name)
        found = default if found is None else found
        if type(found) not in (int, float) or abs(found) > LARGEST:
            raise ValueError(f"config.json: {name} must be a number, got {str(found)[:40]}")
        return float(found)

    def positive(self, name: str, default: float, least: float = 0.0) -> float:
        """A number above 0 that is at least `least`."""
        if (found := self.number(name, default)) <= 0 or found < least:
            bound = f"from {least:g} on" if least else "above 0"
            raise ValueError(f"config.json: {name} must be a number {bound}, got {found:g}")
        return found

    def table(self, name: str) -> Mapping[str, Any]:
        """Settings below one name; empty if left out or null."""
        found = self.values.get(name) or {}
        if not isinstance(found, Mapping):
            raise ValueError(f"config.json: {name} must be an object, got {str(found)[:40]}")
        return found

    def flag(self, name: str, default: bool) -> bool:
        found = self.values.get(name, default)
        return default if found is None else bool(found)

    def text(self, name: str, default: str) -> str:
        return str(self.values.get(name) or default)

    def token(self, name: str) -> int | None:
        """The id of a token, or the first of several; None without one."""
        found = self.values.get(name)
        found = found[0] if isinstance(found, list) and found else found
        return found if type(found) is int and found >= 0 else None

    def renamed(self, names: Mapping[str, str]) -> TransformersConfig:
        """The same settings, with some copied to other names: new name → old name."""
        return replace(self, values=dict(self.values) | {new: self.values.get(old) for new, old in names.items()})

    def window(self, name: str, default: int | None = None) -> int:
        """The most tokens that the model reads here."""
        return min(self.whole(name, default), WINDOW)

    def labels(self) -> tuple[str, ...]:
        """The names of a classifier's classes, in the order of their ids."""
        named = self.table("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
        if not all(id.isdecimal() for id in named):
            raise ValueError(f"config.json: id2label must have whole numbers as keys, got {', '.join(named)[:40]}")
        return tuple(str(named[id]) for id in sorted(named, key=int))

    def refuse(self, *names: str) -> None:
        """Refuse settings that change what the model computes, if they are on."""
        for name in names:
            if self.values.get(name):
                raise ValueError(
                    f"config.json: {self.model_type} with {name}={self.values[name]!r} cannot be shown yet"
                )

    def need(self, name: str, value: object) -> None:
        """Refuse any other value of a setting. A setting that is left out or null has this value."""
        if (found := self.values.get(name)) not in (None, value):
            raise ValueError(f"config.json: {self.model_type} with {name}={found!r} cannot be shown yet")


KINDS = ("default", "linear", "llama3")
"""Kinds of rotary positions that only rotate, by angles that do not depend on the length of the text."""


LEAST_BASE = 1.0
"""With a smaller base, later pairs would rotate by more than a radian per position."""


def rope_of(settings: TransformersConfig) -> TransformersConfig:
    """All settings, with those for rotary positions moved to the top level."""
    given = settings.table("rope_parameters") or settings.table("rope_scaling")
    return TransformersConfig(settings.model_type, settings.architecture, dict(settings.values) | dict(given))


def kind_of_angles(settings: TransformersConfig) -> str:
    rope = rope_of(settings)
    return rope.text("rope_type", rope.text("type", "default"))


def base_of(settings: TransformersConfig, default: float = 10_000.0) -> float:
    return rope_of(settings).positive("rope_theta", default, LEAST_BASE)


def whole_head(settings: TransformersConfig, d_head: int) -> int:
    """d_head, if all of a head's dimensions are rotated. Raises `ValueError` if only some are."""
    if rope_of(settings).number("partial_rotary_factor", 1.0) != 1.0:
        raise ValueError(f"config.json: {settings.model_type} that turns a part of each head cannot be shown yet")
    return in_pairs(settings, d_head, d_head)


def in_pairs(settings: TransformersConfig, turned: int, d_head: int) -> int:
    """`turned`, if that many of a head's dimensions can be rotated in pairs; otherwise raises `ValueError`."""
    if turned % 2 or not 0 < turned <= d_head:
        raise ValueError(
            f"config.json: {settings.model_type} turns {turned} of a head's {d_head} dimensions: it takes pairs"
        )
    return turned


def frequencies_of(settings: TransformersConfig, turned: int, base: float) -> tuple[float, ...] | None:
    """The angle of each pair of the `turned` dimensions per position; None if it follows from the base alone.
    Raises `ValueError` for a kind that is not in `KINDS`."""
    rope, kind = rope_of(settings), kind_of_angles(settings)
    plain = [base ** (-two_i / turned) for two_i in range(0, turned, 2)]
    if kind == "default":
        return None
    if kind == "linear":
        factor = rope.positive("factor", 1.0)
        return tuple(frequency / factor for frequency in plain)
    if kind == "llama3":
        return of_llama3(plain, rope)
    raise ValueError(f"config.json: {settings.model_type} with rotary positions of type {kind} cannot be shown yet")


def of_llama3(plain: list[float], rope: TransformersConfig) -> tuple[float, ...]:
    """Llama 3.1: slow pairs are slowed by `factor`, fast pairs stay, pairs in between are interpolated."""
    low, high, factor = (rope.positive(name, 1.0) for name in ("low_freq_factor", "high_freq_factor", "factor"))
    if low >= high:
        raise ValueError(f"config.json: low_freq_factor must be below high_freq_factor, got {low:g} and {high:g}")
    window = rope.positive("original_max_position_embeddings", 8192)

    def slowed(frequency: float) -> float:
        turns = window * frequency / (2 * math.pi)  # within the trained window
        kept = min(max((turns - low) / (high - low), 0.0), 1.0)
        return (1 - kept) * frequency / factor + kept * frequency

    return tuple(map(slowed, plain))


NAMES = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
"""gelu is x Φ(x), gelu_tanh its approximation by a tanh (Hendrycks and Gimpel 2016), silu is x σ(x). The page shows
their formulas."""


def activation_of(theirs: str) -> str:
    """The description's name of an activation. An unknown one keeps its name and is shown without a formula."""
    return NAMES.get(theirs, theirs)
