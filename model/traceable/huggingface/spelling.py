"""What the pieces of a vocabulary spell: byte-level (GPT-2's letters for bytes), WordPiece (## inside a word), or
SentencePiece (▁ for a space, <0x0A> for a byte)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PRINTABLE = {*range(33, 127), *range(161, 173), *range(174, 256)}
HIDDEN = [byte for byte in range(256) if byte not in PRINTABLE]
BYTES = {chr(byte): byte for byte in PRINTABLE} | {chr(256 + n): byte for n, byte in enumerate(HIDDEN)}
BYTE = re.compile(r"<0x([0-9A-F]{2})>")
INSIDE = "##"

Spell = Callable[[str], bytes]


def of_bytes(piece: str) -> bytes:
    return bytes(BYTES[letter] for letter in piece) if BYTES.keys() >= set(piece) else piece.encode()


def of_words(piece: str) -> bytes:
    """A word begins with a space, a piece inside of one does not."""
    return piece.removeprefix(INSIDE).encode() if piece.startswith(INSIDE) else f" {piece}".encode()


def of_sentences(piece: str) -> bytes:
    byte = BYTE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace("\u2581", " ").encode()


SPELL: Mapping[str, Spell] = {"ByteLevel": of_bytes, "WordPiece": of_words}


def kinds(decoder: Mapping[str, Any] | None) -> Iterator[str]:
    """The decoder's type, and of a sequence those of its parts."""
    if decoder:
        yield str(decoder.get("type"))
        for one in decoder.get("decoders", []):
            yield from kinds(one)


@dataclass(frozen=True)
class Vocabulary:
    """Pieces by id; `added`: those that are text of their own, special or not."""

    pieces: Mapping[int, str]
    added: Mapping[int, str]
    spell: Spell

    def bytes_of(self, token_id: int) -> bytes:
        if token_id in self.added:
            return self.added[token_id].encode()
        piece = self.pieces.get(token_id)
        return f"[{token_id}]".encode() if piece is None else self.spell(piece)  # a row of the table without a token

    def label_of(self, token_id: int) -> str:
        """The text of its bytes; of a piece inside a word, as its vocabulary has it."""
        piece = self.pieces.get(token_id, "")
        if self.spell is of_words and token_id in self.pieces and token_id not in self.added:
            return piece
        return self.bytes_of(token_id).decode("utf-8", errors="replace")


def vocabulary_of(settings: Mapping[str, Any], pieces: Mapping[str, int]) -> Vocabulary:
    """Of a `tokenizer.json` and the ids of its pieces."""
    spell = next((SPELL[kind] for kind in kinds(settings.get("decoder")) if kind in SPELL), of_sentences)
    added = {int(one["id"]): str(one["content"]) for one in settings.get("added_tokens", [])}
    return Vocabulary({id: piece for piece, id in pieces.items()}, added, spell)
