"""Marian's tokenizer: SentencePiece splits, by `source.spm` what is read and by `target.spm` what is written, and
`vocab.json` has the ids of both. transformers has no fast one, and writes no `tokenizer.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chumoku.model.describe import Description
from chumoku.model.files import read_bytes, read_json
from chumoku.model.special_tokens import Special
from chumoku.model.tokenizer import check_encodable
from chumoku.model.traceable.huggingface.spelling import Vocabulary, of_sentences
from chumoku.model.traceable.huggingface.tokens import TheirTokenizer
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

SOURCE, TARGET, IDS = "source.spm", "target.spm", "vocab.json"
FILES = (SOURCE, TARGET, IDS)
UNKNOWN, END, PAD = "<unk>", "</s>", "<pad>"
SPACE = "\u2581"
"""Put in front of a text, it stands for no character."""
LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)
"""What a text may begin with, in models that write several languages: one token, the language to write."""


class MarianTokenizer(TheirTokenizer):
    """`pieces`: the ids of the pieces. What has no id is <unk>."""

    def __init__(
        self, source: SentencePieceProcessor, target: SentencePieceProcessor, pieces: Mapping[str, int],
        special: Special, vocab_size: int,
    ) -> None:  # fmt: skip
        added = {pieces[name]: name for name in (UNKNOWN, END, PAD) if name in pieces}
        super().__init__(
            Vocabulary({id: piece for piece, id in pieces.items()}, added, of_sentences), special, vocab_size
        )
        self.source, self.target, self.pieces = source, target, pieces

    def encode(self, text: str) -> list[int]:
        return [id for id, _ in self.split(text, self.source)]

    def encode_target(self, text: str) -> list[int]:
        return [id for id, _ in self.split(text, self.target)]

    def covers(self, text: str) -> list[tuple[int, int]]:
        return [span for _, span in self.split(text, self.source)]

    def split(self, text: str, by: SentencePieceProcessor) -> list[tuple[int, tuple[int, int]]]:
        """Each id with the characters of `text` that it stands for, however they were normalised (NFKC)."""
        check_encodable(text)
        code = LANGUAGE.match(text)
        begun = 0 if code is None else code.end()
        found = by.encode(text[begun:], return_type="offset_mapping")
        own = [(piece, within(piece, begun + start, begun + end)) for piece, (start, end) in of_mapping(found)]
        first = [] if code is None else [(code[0], (0, begun))]
        return [(self.id_of(piece), span) for piece, span in (*first, *own)]

    def id_of(self, piece: str) -> int:
        return self.pieces.get(piece, self.pieces[UNKNOWN])


def of_mapping(found: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, int]]]:
    return zip(found["pieces"], found["offsets"], strict=True)


def within(piece: str, start: int, end: int) -> tuple[int, int]:
    """SentencePiece gives a character that was normalised into several pieces (ﬁ) to the last of them: each has it."""
    return (start, end + 1) if start == end and piece != SPACE else (start, end)


def is_marian(folder: Path) -> bool:
    """Whether a folder has such a tokenizer."""
    return all((folder / name).is_file() for name in FILES)


def open_marian(folder: Path, settings: TransformersConfig, description: Description) -> MarianTokenizer:
    """Raises `ValueError` for files that are not what they should be, and for more tokens than the model has."""
    pieces = read_json(folder / IDS)
    wrong = next(
        (name for name, id in pieces.items() if type(id) is not int or not 0 <= id < description.vocab_size), None
    )
    if wrong is not None:
        raise ValueError(
            f"{folder / IDS}: {wrong!r} has the id {str(pieces[wrong])[:40]}, and the model's ids run from 0 to "
            f"{description.vocab_size - 1:,}"
        )
    if UNKNOWN not in pieces or END not in pieces:
        raise ValueError(f"{folder / IDS} has no id for {UNKNOWN if UNKNOWN not in pieces else END}")
    end = pieces[END]
    special = Special(pieces.get(PAD), end, settings.token("decoder_start_token_id"), None, end)
    source, target = processor(folder / SOURCE), processor(folder / TARGET)
    return MarianTokenizer(source, target, pieces, special, description.vocab_size)


def processor(path: Path) -> SentencePieceProcessor:
    from sentencepiece import SentencePieceProcessor

    try:
        return SentencePieceProcessor.from_proto(read_bytes(path))
    except RuntimeError as error:
        raise ValueError(f"{path} is not a SentencePiece model: {' '.join(str(error).split())}") from None
