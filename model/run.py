"""A run as a model takes it: what is read, under which masks, with which edits. A trace is a pure function of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from model.taps import Edit
from model.trace import Masks, Padding


@dataclass(frozen=True)
class Run:
    """`ids` are read (PADs are not among them), `target` is an encoder-decoder's beginning, START included or not.

    `looks_ahead`: an edit lets an earlier query see a later key, so that what was computed before does not hold when
    the text grows.
    """

    ids: Sequence[int]
    target: Sequence[int] | None = None
    use: Masks = field(default_factory=Masks)
    pad: Padding = field(default_factory=Padding)
    edit: Mapping[str, Edit] = field(default_factory=dict)
    looks_ahead: bool = False

    @property
    def is_pad(self) -> list[bool]:
        """Which positions are PADs, by where they were put: a PAD's id may have other uses."""
        pads, rest = [True] * self.pad.count, [False] * len(self.ids)
        return [*pads, *rest] if self.pad.side == "left" else [*rest, *pads]

    @property
    def pads_take_no_position(self) -> bool:
        """Position ids follow the padding mask."""
        return self.use.padding and self.pad.follow
