"""Tokenizers of transformers behind our interface: ids, and for each token its bytes and the characters it covers.

Special tokens cannot be typed: text that spells one is split like any other text (`encode_special_tokens`). The pieces
of a vocabulary are byte-level (GPT-2's letters for bytes), WordPiece (## inside a word), or SentencePiece (▁ for a
space, <0x0A> for a byte).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chumoku.model.pairs import PairTemplate
from chumoku.model.special_tokens import Special
from chumoku.model.tokenizer import Token, character_spans, check_encodable, is_partial, without_panic

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Fast


PRINTABLE = {*range(33, 127), *range(161, 173), *range(174, 256)}
HIDDEN = [byte for byte in range(256) if byte not in PRINTABLE]
BYTES = {chr(byte): byte for byte in PRINTABLE} | {chr(256 + n): byte for n, byte in enumerate(HIDDEN)}
BYTE = re.compile(r"<0x([0-9A-F]{2})>")
INSIDE = "##"

Spell = Callable[[str], bytes]


def of_bytes(piece: str) -> bytes:
    return bytes(BYTES[letter] for letter in piece) if BYTES.keys() >= set(piece) else piece.encode()


def of_words(piece: str) -> bytes:
    """A piece that starts a word gets a space in front; a piece inside a word does not."""
    return piece.removeprefix(INSIDE).encode() if piece.startswith(INSIDE) else f" {piece}".encode()


def of_sentences(piece: str) -> bytes:
    byte = BYTE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace("\u2581", " ").encode()


SPELL: Mapping[str, Spell] = {"ByteLevel": of_bytes, "WordPiece": of_words}


def kinds(part: Mapping[str, Any] | None, inside: str = "decoders") -> Iterator[str]:
    """The type of a decoder (or another part), and if it is a sequence, the types of the parts `inside`."""
    if part:
        yield str(part.get("type"))
        for one in part.get(inside, []):
            yield from kinds(one, inside)


@dataclass(frozen=True)
class Vocabulary:
    """The pieces by id. Those in `added`, special or not, are plain text; `spell` gives the bytes of all others."""

    pieces: Mapping[int, str]
    added: Mapping[int, str]
    spell: Spell

    def bytes_of(self, token_id: int) -> bytes:
        if token_id in self.added:
            return self.added[token_id].encode()
        piece = self.pieces.get(token_id)
        return f"[{token_id}]".encode() if piece is None else self.spell(piece)  # a row of the table without a token

    def label_of(self, token_id: int) -> str:
        """The text of a token's bytes; a WordPiece as the vocabulary spells it."""
        piece = self.pieces.get(token_id, "")
        if self.spell is of_words and token_id in self.pieces and token_id not in self.added:
            return piece
        return self.bytes_of(token_id).decode("utf-8", errors="replace")


def vocabulary_of(settings: Mapping[str, Any], pieces: Mapping[str, int]) -> Vocabulary:
    """The vocabulary in a `tokenizer.json`, given the ids of its pieces."""
    spell = next((SPELL[kind] for kind in kinds(settings.get("decoder")) if kind in SPELL), of_sentences)
    added = {int(token["id"]): str(token["content"]) for token in settings.get("added_tokens", [])}
    return Vocabulary({id: piece for piece, id in pieces.items()}, added, spell)


class TheirTokenizer(ABC):
    """The tokenizer of a model with `vocab_size` ids, some of which may have no token."""

    def __init__(self, vocabulary: Vocabulary, special: Special, vocab_size: int) -> None:
        self.vocabulary, self._special, self._vocab_size = vocabulary, special, vocab_size

    @property
    def vocab_size(self) -> int:
        return self._vocab_size

    @property
    def special(self) -> Special:
        return self._special

    @property
    def n_lacking(self) -> int:
        """How many tokens it has that the model lacks: added ones, for which no row was added to the embeddings."""
        return sum(id >= self.vocab_size for id in self.vocabulary.pieces)

    @cached_property
    def never_sampled(self) -> list[int]:
        return self._special.never_sampled

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text, without those that are added around it. Raises `ValueError` for a lone surrogate, or a
        token that the model lacks."""

    def encode_target(self, text: str) -> list[int]:
        return self.encode(text)

    @abstractmethod
    def covers(self, text: str) -> list[tuple[int, int]]:
        """For each id of `encode(text)`, the first and one-past-last character of `text` that it covers."""

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token spells; for an added token, its name. Raises `ValueError` for an unknown id."""
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
    """A tokenizer read from a `tokenizer.json`."""

    def __init__(self, fast: Fast, vocabulary: Vocabulary, special: Special, vocab_size: int) -> None:
        super().__init__(vocabulary, special, vocab_size)
        self.fast = fast
        self.pair: PairTemplate | None = None
        """How it joins two texts, if the model reads them together."""

    def encode(self, text: str) -> list[int]:
        check_encodable(text)
        return self.checked(self.read(text).ids)

    @cached_property
    def special_names(self) -> Mapping[str, int]:
        """The added tokens that the file calls special and the model has, by name."""
        added = self.fast.get_added_tokens_decoder()
        return {token.content: id for id, token in added.items() if token.special and id < self.vocab_size}

    def encode_special(self, text: str) -> list[int]:
        """The ids of a text in which names of special tokens are these tokens, as transformers reads it."""
        return self.checked(self.read(text, self._reads_special).ids)

    @cached_property
    def _reads_special(self) -> Fast:
        """A second one: whether special tokens are text is a property of the tokenizer, which threads share."""
        from tokenizers import Tokenizer as Fast

        found = Fast.from_str(self.fast.to_str())
        found.encode_special_tokens = False
        return found

    def checked(self, ids: list[int]) -> list[int]:
        """The ids. Raises `ValueError` for one that the model lacks."""
        lacking = next((id for id in ids if id >= self.vocab_size), None)
        if lacking is not None:
            name = self.vocabulary.pieces.get(lacking, "")
            raise ValueError(
                f"the model has no embedding of {name!r}, token {lacking} of its tokenizer: its ids run from 0 to "
                f"{self.vocab_size - 1:,}"
            )
        return list(ids)

    def covers(self, text: str) -> list[tuple[int, int]]:
        return list(self.read(text).offsets)

    def read(self, text: str, fast: Fast | None = None) -> Any:
        """The library's answer. Raises `ValueError` if it fails, say for a regex that tries too many ways to match."""
        with without_panic("its tokenizer fails on this text"):
            return (fast or self.fast).encode(text, add_special_tokens=False)
