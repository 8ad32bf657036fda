"""Tokenizers of transformers as ours: ids, and for each token its bytes and what it covers.

Special tokens cannot be typed: text that spells one is split like any other text (`encode_special_tokens`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from chumoku.model.special_tokens import Special
from chumoku.model.tokenizer import Token, character_spans, check_encodable, is_partial
from chumoku.model.traceable.huggingface.spelling import Vocabulary

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Fast


class TheirTokenizer(ABC):
    """The tokenizer of a model with `vocab_size` ids, of which some have no token."""

    def __init__(self, vocabulary: Vocabulary, special: Special, vocab_size: int) -> None:
        self.vocabulary, self._special, self._vocab_size = vocabulary, special, vocab_size

    @property
    def vocab_size(self) -> int:
        return self._vocab_size

    @property
    def special(self) -> Special:
        return self._special

    @cached_property
    def never_sampled(self) -> list[int]:
        return self._special.never_sampled

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Without the tokens that are put around it. Raises `ValueError` for a lone surrogate."""

    def encode_target(self, text: str) -> list[int]:
        return self.encode(text)

    @abstractmethod
    def covers(self, text: str) -> list[tuple[int, int]]:
        """For each id of `encode(text)`, the first and one-past-last character of `text` that it stands for."""

    def token_bytes(self, token_id: int) -> bytes:
        """What one token spells; of an added one, its name. Raises `ValueError` for an unknown id."""
        if not 0 <= token_id < self.vocab_size:
            raise ValueError(f"token id {token_id} is not in the vocabulary: ids run from 0 to {self.vocab_size - 1}")
        return self.vocabulary.bytes_of(token_id)

    def tokens(self, ids: list[int]) -> list[Token]:
        """Each id with its bytes and its offsets in the text that they spell. Special tokens are between characters."""
        special = set(self.special.ids)
        pieces = [self.token_bytes(i) for i in ids]
        starts, ends = character_spans([b"" if i in special else piece for i, piece in zip(ids, pieces, strict=True)])
        return [
            Token(n, i, piece, self.vocabulary.label_of(i), starts[n], ends[n], is_partial(piece), i in special)
            for n, (i, piece) in enumerate(zip(ids, pieces, strict=True))
        ]


class FastTokenizer(TheirTokenizer):
    """From a `tokenizer.json`."""

    def __init__(self, fast: Fast, vocabulary: Vocabulary, special: Special, vocab_size: int) -> None:
        super().__init__(vocabulary, special, vocab_size)
        self.fast = fast

    def encode(self, text: str) -> list[int]:
        check_encodable(text)
        return list(self.fast.encode(text, add_special_tokens=False).ids)

    def covers(self, text: str) -> list[tuple[int, int]]:
        return list(self.fast.encode(text, add_special_tokens=False).offsets)
