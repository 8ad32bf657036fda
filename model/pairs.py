"""Two texts that a model reads together (premise and hypothesis, question and context), as its tokenizer joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

Piece = tuple[tuple[int, int], ...]
"""Ids, each with its token type."""


@dataclass(frozen=True)
class PairTemplate:
    """What a tokenizer puts before, between and after two texts, and the token types of the texts (0 and 1 in BERT)."""

    before: Piece
    between: Piece
    after: Piece
    types: tuple[int, int]

    def joined(self, first: Sequence[int], second: Sequence[int]) -> tuple[list[int], int]:
        """The ids of both, and where the second part begins: after all that ends the first."""
        parts = (ids_of(self.before), first, ids_of(self.between), second, ids_of(self.after))
        return [id for part in parts for id in part], len(self.before) + len(first) + self.n_of_first

    @property
    def n_of_first(self) -> int:
        """How many of the ids between belong to the first text: all that share their token type with it, but only one
        where all types are the same, as RoBERTa's."""
        if self.types[0] == self.types[1]:
            return 1
        return sum(kind == self.types[0] for _, kind in self.between)

    def split(self, ids: Sequence[int]) -> int | None:
        """Where the second part of ids begins that were joined by hand; None where they are one text."""
        between = ids_of(self.between)
        n = len(between)
        found = (at for at in range(1, len(ids) - n) if list(ids[at : at + n]) == between)
        at = next(found, None)
        return None if at is None else at + self.n_of_first

    def token_types(self, n: int, second: int) -> list[int]:
        """The token types of `n` ids whose second part begins at `second`."""
        return [self.types[0]] * second + [self.types[1]] * (n - second)


def ids_of(piece: Piece) -> list[int]:
    return [id for id, _ in piece]


def template_of(encoded: Any, vocab_size: int) -> PairTemplate | None:
    """The template in how a tokenizer of the library encoded two texts; None if it puts nothing between them, the
    second text first, or something that the model lacks."""
    every = list(zip(encoded.ids, encoded.type_ids, encoded.sequence_ids, strict=True))
    if any(id >= vocab_size for id, _, text in every if text is None):
        return None
    runs = [(text, tuple((id, kind) for id, kind, _ in run)) for text, run in groupby(every, key=lambda one: one[2])]
    runs = runs if runs[0][0] is None else [(None, ()), *runs]
    runs = runs if runs[-1][0] is None else [*runs, (None, ())]
    if [text for text, _ in runs] != [None, 0, None, 1, None]:
        return None
    before, first, between, second, after = (run for _, run in runs)
    return PairTemplate(before, between, after, (first[0][1], second[0][1]))
