"""A run as a model sees it: the ids, the masks and the edits. A trace is a pure function of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chumoku.model.taps import Edit
from chumoku.model.trace import Masks, Padding, pads_among


@dataclass(frozen=True)
class Run:
    """`ids` are read (without PADs); `target` is the beginning of an encoder-decoder's target, with or without START.

    `looks_ahead`: an edit lets an earlier query see a later key, so earlier results become invalid when the text grows.
    """

    ids: Sequence[int]
    target: Sequence[int] | None = None
    use: Masks = field(default_factory=Masks)
    pad: Padding = field(default_factory=Padding)
    edit: Mapping[str, Edit] = field(default_factory=dict)
    looks_ahead: bool = False
    cache: bool = True
    """Whether a text that grows keeps keys and values. Off, each step reads all of it again: the same numbers up to
    rounding."""
    token_types: Sequence[int] = ()
    """The token type of each of `ids`, for a model that reads two texts together; empty: 0 for all."""
    pixels: bytes | None = None
    """The bytes of a picture whose `ids` are places only (`pictures/picture.py`)."""

    @property
    def is_pad(self) -> list[bool]:
        """Which positions of the source are the PADs that `pad` adds."""
        return pads_among(len(self.ids), self.pad)

    @property
    def keeps(self) -> bool:
        """Whether what was read stays valid, and is kept, while the text grows (if the model is causal)."""
        return self.cache and self.use.causal is not False and not self.looks_ahead

    @property
    def pads_take_no_position(self) -> bool:
        """Whether position ids skip masked PADs."""
        return self.use.padding and self.pad.take_no_position
