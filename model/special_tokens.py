"""Special tokens: what separates texts, fills them up, begins them or hides a token. None can be typed."""

from __future__ import annotations

from dataclasses import dataclass

from chumoku.model.config import Family

END = "<|endoftext|>"
PAD = "<|pad|>"
START = "<|start|>"
"""The first token of a target: row 0 of a decoder predicts the token after it."""
CLS = "[CLS]"
"""The first token of an encoder-only model's text: the class is read from its last state."""
MASK = "[MASK]"
"""Stands in for a hidden token: a masked language model predicts the token there."""

SPECIAL: dict[Family, tuple[str, ...]] = {
    "decoder-only": (END, PAD),
    "encoder-only": (END, PAD, CLS),
    "encoder-decoder": (END, PAD, START),
}


@dataclass(frozen=True)
class Special:
    """The special ids that a tokenizer has: what pads a text, what ends it, what it begins with, what hides a token,
    what stands after every text that is read, and before every source of an encoder-decoder."""

    pad: int | None = None
    end: int | None = None
    first: int | None = None
    mask: int | None = None
    last: int | None = None
    before: int | None = None

    @property
    def ids(self) -> list[int]:
        every = (self.pad, self.end, self.first, self.mask, self.last, self.before)
        return [i for i in every if i is not None]

    @property
    def never_sampled(self) -> list[int]:
        """What a model never predicts: all of them except END, and what a target may contain as well as a source."""
        return sorted(set(self.ids) - {self.end, self.before})


def special_names(family: Family, mask_token: bool = False) -> tuple[str, ...]:
    """The names of a model's special ids, in the order of the ids."""
    return (*SPECIAL[family], MASK) if mask_token else SPECIAL[family]


def special_of(family: Family, vocab_size: int, mask_token: bool = False) -> Special:
    """The special ids of a model of ours: they are the last of its vocabulary."""
    names = special_names(family, mask_token)
    ids = {name: vocab_size - len(names) + n for n, name in enumerate(names)}
    return Special(ids[PAD], ids[END], ids.get(CLS, ids.get(START)), ids.get(MASK))
