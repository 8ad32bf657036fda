"""A `config.json` of transformers, read without it: settings by name, and refusals of those that we do not show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

WINDOW = 1024
"""The most tokens that the page draws; a model may read more. (With many layers it draws fewer: `layout.drawable`.)"""
MOST = 2**24
LARGEST = 1e30
"""Of any number: none of a model's comes near."""


@dataclass(frozen=True)
class TransformersConfig:
    """Raises `ValueError` naming the first setting that is missing, of another type, or refused."""

    model_type: str
    architecture: str
    """The class that the weights belong to."""
    values: Mapping[str, Any]
    processor: Mapping[str, Any] = field(default_factory=dict)
    """Of a model that reads pictures, its `preprocessor_config.json`; empty without one."""

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
        """A number above 0, and not below `least`."""
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
        """The id of a token, the first of several; None if there is none."""
        found = self.values.get(name)
        found = found[0] if isinstance(found, list) and found else found
        return found if type(found) is int and found >= 0 else None

    def renamed(self, names: Mapping[str, str]) -> TransformersConfig:
        """The same with some settings under another family's names."""
        return replace(self, values=dict(self.values) | {new: self.values.get(old) for new, old in names.items()})

    def window(self, name: str, default: int | None = None) -> int:
        """The most tokens that it reads here."""
        return min(self.whole(name, default), WINDOW)

    def labels(self) -> tuple[str, ...]:
        """A classifier's classes, by id."""
        named = self.table("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
        if not all(id.isdecimal() for id in named):
            raise ValueError(f"config.json: id2label must have whole numbers as keys, got {', '.join(named)[:40]}")
        return tuple(str(named[id]) for id in sorted(named, key=int))

    def refuse(self, *names: str) -> None:
        """Refuse settings that change what the model computes, where they are on."""
        for name in names:
            if self.values.get(name):
                raise ValueError(
                    f"config.json: {self.model_type} with {name}={self.values[name]!r} cannot be shown yet"
                )

    def need(self, name: str, value: object) -> None:
        """Refuse any other value of a setting; left out or null, it has this one."""
        if (found := self.values.get(name)) not in (None, value):
            raise ValueError(f"config.json: {self.model_type} with {name}={found!r} cannot be shown yet")
