"""Special tokens, which end, pad or begin texts, or hide a token. None can be typed."""

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
    """A tokenizer's special ids: PAD, END, the first token of a text or target, [MASK], the token after every text that
    is read (`last`), and the token before every source of an encoder-decoder (`before`)."""

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
        """Ids that a model never predicts: all except END, and except `before`, which a target may contain too."""
        return sorted(set(self.ids) - {self.end, self.before})


def special_names(family: Family, mask_token: bool = False) -> tuple[str, ...]:
    """The names of a model's special ids, in the order of the ids."""
    return (*SPECIAL[family], MASK) if mask_token else SPECIAL[family]


def special_of(family: Family, vocab_size: int, mask_token: bool = False) -> Special:
    """The special ids of one of our models: the last of its vocabulary."""
    names = special_names(family, mask_token)
    ids = {name: vocab_size - len(names) + n for n, name in enumerate(names)}
    return Special(ids[PAD], ids[END], ids.get(CLS, ids.get(START)), ids.get(MASK))
