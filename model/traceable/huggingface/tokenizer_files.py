"""A folder's tokenizer, `tokenizer.json` or Marian's files, and the roles of its special tokens.

Marian uses SentencePiece, `source.spm` for the source and `target.spm` for the target; `vocab.json` has the ids of
both. transformers has no fast tokenizer for it, and writes no `tokenizer.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chumoku.model.describe import Description
from chumoku.model.files import read_bytes, read_json
from chumoku.model.pairs import template_of
from chumoku.model.pictures.picture import Photo
from chumoku.model.pictures.tokenizer import PatchTokenizer, PlaceTokenizer
from chumoku.model.special_tokens import Special
from chumoku.model.tokenizer import LONGEST_PIECE, check_encodable, without_panic
from chumoku.model.traceable.huggingface.tokenizer_checks import check_work
from chumoku.model.traceable.huggingface.tokens import (
    FastTokenizer,
    TheirTokenizer,
    Vocabulary,
    kinds,
    of_sentences,
    vocabulary_of,
)
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig
from chumoku.model.traceable.protocols import TraceableTokenizer

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor


SOURCE, TARGET, IDS = "source.spm", "target.spm", "vocab.json"
MARIAN = (SOURCE, TARGET, IDS)
MARIAN_UNKNOWN, MARIAN_END, MARIAN_PAD = "<unk>", "</s>", "<pad>"
SPACE = "\u2581"
"""SentencePiece's sign for a space. At the start of a text it stands for no character."""
LANGUAGE = re.compile(r">>.*?<<", re.DOTALL)
"""A token for the language to translate into, with which a text for a multilingual model may begin."""


class MarianTokenizer(TheirTokenizer):
    """Marian's tokenizer; `pieces` has the ids of the pieces. A piece without an id becomes <unk>."""

    def __init__(
        self, source: SentencePieceProcessor, target: SentencePieceProcessor, pieces: Mapping[str, int],
        special: Special, vocab_size: int,
    ) -> None:  # fmt: skip
        added = {pieces[name]: name for name in (MARIAN_UNKNOWN, MARIAN_END, MARIAN_PAD) if name in pieces}
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
        """Each id with the characters of `text`, before normalisation (NFKC), that it covers."""
        check_encodable(text)
        code = LANGUAGE.match(text)
        begun = 0 if code is None else code.end()
        found = by.encode(text[begun:], return_type="offset_mapping")
        pieces = [(piece, within(piece, begun + start, begun + end)) for piece, (start, end) in of_mapping(found)]
        first = [] if code is None else [(code[0], (0, begun))]
        return [(self.id_of(piece), span) for piece, span in (*first, *pieces)]

    def id_of(self, piece: str) -> int:
        return self.pieces.get(piece, self.pieces[MARIAN_UNKNOWN])


def of_mapping(found: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, int]]]:
    return zip(found["pieces"], found["offsets"], strict=True)


def within(piece: str, start: int, end: int) -> tuple[int, int]:
    """The span of a piece. SentencePiece assigns a character that becomes several pieces (ﬁ) to the last of them; here
    all of them cover it."""
    return (start, end + 1) if start == end and piece != SPACE else (start, end)


def is_marian(folder: Path) -> bool:
    """Whether a folder has the files of Marian's tokenizer."""
    return all((folder / name).is_file() for name in MARIAN)


def open_marian(folder: Path, settings: TransformersConfig, description: Description) -> MarianTokenizer:
    """A folder's Marian tokenizer. Raises `ValueError` for invalid files or ids that the model does not have."""
    pieces = read_json(folder / IDS)
    check_pieces(folder / IDS, pieces)
    wrong = next(
        (name for name, id in pieces.items() if type(id) is not int or not 0 <= id < description.vocab_size), None
    )
    if wrong is not None:
        raise ValueError(
            f"{folder / IDS}: {wrong!r} has the id {str(pieces[wrong])[:40]}, and the model's ids run from 0 to "
            f"{description.vocab_size - 1:,}"
        )
    if MARIAN_UNKNOWN not in pieces or MARIAN_END not in pieces:
        raise ValueError(
            f"{folder / IDS} has no id for {MARIAN_UNKNOWN if MARIAN_UNKNOWN not in pieces else MARIAN_END}"
        )
    end = pieces[MARIAN_END]
    special = Special(pieces.get(MARIAN_PAD), end, settings.token("decoder_start_token_id"), None, end)
    source, target = processor(folder / SOURCE), processor(folder / TARGET)
    return MarianTokenizer(source, target, pieces, special, description.vocab_size)


def check_pieces(path: Path, pieces: Mapping[str, int]) -> None:
    """Raise `ValueError` for a token too long to be shown."""
    if (longest := max(map(len, pieces), default=0)) > LONGEST_PIECE:
        raise ValueError(f"{path} has a token of {longest:,} characters; at most {LONGEST_PIECE:,} are shown as one")


def processor(path: Path) -> SentencePieceProcessor:
    from sentencepiece import SentencePieceProcessor

    try:
        return SentencePieceProcessor.from_proto(read_bytes(path))
    except RuntimeError as error:
        raise ValueError(f"{path} is not a SentencePiece model: {' '.join(str(error).split())}") from None


FILE, ROLES = "tokenizer.json", "tokenizer_config.json"
TOKENIZERS = (FILE, ROLES, *MARIAN)
"""All files that a tokenizer may be read from."""
PROBE = "a"
MASKS = ("[MASK]", "<mask>")
"""The usual names of the mask token, for older folders that do not name the roles of tokens."""


def tokenizer_of(folder: Path, settings: TransformersConfig, description: Description) -> TraceableTokenizer:
    """A folder's tokenizer; one for pictures needs no file. Raises what `open_tokenizer` raises."""
    if isinstance(description.picture, Photo):
        return PlaceTokenizer(description.picture)
    if description.picture is not None:
        return PatchTokenizer(description.picture)
    with without_panic(f"{folder / FILE}: its library fails on it"):
        return open_tokenizer(folder, settings, description)


def open_tokenizer(folder: Path, settings: TransformersConfig, description: Description) -> TheirTokenizer:
    """A folder's tokenizer for text, which may have tokens that the model lacks. Raises `ValueError` if it is missing,
    its files disagree, or it puts more than one token, or one that the model lacks, before or after a text."""
    from tokenizers import Tokenizer as Fast

    if not (folder / FILE).is_file():
        if settings.model_type == "marian" and is_marian(folder):
            return open_marian(folder, settings, description)
        raise ValueError(
            f"{folder} has no {FILE}: open its tokenizer once with AutoTokenizer.from_pretrained and save it there "
            "with save_pretrained"
        )
    written = read_json(folder / FILE)
    named: Mapping[str, Any] = read_json(folder / ROLES) if (folder / ROLES).is_file() else {}
    try:
        check_work(written)
        changed = overridden(written, named)
        fast = Fast.from_file(str(folder / FILE)) if changed is written else Fast.from_str(json.dumps(changed))
    except Exception as error:  # the library raises nothing more specific
        raise ValueError(f"{folder / FILE} is not a tokenizer: {error}") from None
    fast.encode_special_tokens = True
    fast.no_truncation()
    fast.no_padding()
    check_space(fast, written, named, folder)
    pieces = fast.get_vocab(with_added_tokens=True)
    check_pieces(folder / FILE, pieces)
    vocabulary = vocabulary_of(written, pieces)
    special = special_of(folder, fast, settings, description)
    if not description.can.get("pads", True):
        special = replace(special, pad=None)
    tokenizer = FastTokenizer(fast, vocabulary, special, description.vocab_size)
    if description.family == "encoder-only":
        tokenizer.pair = template_of(fast.encode(PROBE, PROBE), description.vocab_size)
    return tokenizer


GENERIC = ("PreTrainedTokenizerFast", "TokenizersBackend")
"""Classes that take a `tokenizer.json` as it is. Those of a family let `tokenizer_config.json` change it."""
OVERRIDES = {
    "BertNormalizer": {
        "lowercase": "do_lower_case",
        "strip_accents": "strip_accents",
        "handle_chinese_chars": "tokenize_chinese_chars",
    },
    "ByteLevel": {"add_prefix_space": "add_prefix_space"},
}
"""By the type of a part: its settings, and their names in `tokenizer_config.json`."""


def overridden(written: dict[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """A `tokenizer.json` with what `tokenizer_config.json` says instead; the same object if they agree."""
    if named.get("tokenizer_class") in GENERIC:
        return written
    found = {part: changed(written.get(part), named) for part in ("normalizer", "pre_tokenizer")}
    return written if all(found[part] == written.get(part) for part in found) else written | found


def changed(part: Any, named: Mapping[str, Any]) -> Any:
    """A part of the pipeline, or a sequence of them, with the settings in `named`."""
    if isinstance(part, list):
        return [changed(one, named) for one in part]
    if not isinstance(part, dict):
        return part
    names = OVERRIDES.get(str(part.get("type")), {})
    own = {ours: named[theirs] for ours, theirs in names.items() if isinstance(named.get(theirs), bool)}
    inside = {key: changed(one, named) for key, one in part.items() if key in ("normalizers", "pretokenizers")}
    return part | inside | own


def check_space(fast: Any, written: Mapping[str, Any], named: Mapping[str, Any], folder: Path) -> None:
    """Raise `ValueError` if one file puts a space before a text and the other does not: a family's class may change
    SentencePiece's rules in its own way."""
    asked = named.get("add_prefix_space")
    is_bytes = "ByteLevel" in kinds(written.get("pre_tokenizer"), "pretokenizers")
    if not isinstance(asked, bool) or named.get("tokenizer_class") in (None, *GENERIC) or is_bytes:
        return
    found = fast.encode(PROBE, add_special_tokens=False).tokens
    if found and found[0].startswith(SPACE) != asked:
        raise ValueError(
            f"{folder}: {ROLES} says add_prefix_space={asked}, and {FILE} does otherwise: open the tokenizer once with "
            "AutoTokenizer.from_pretrained and save it there with save_pretrained"
        )


def special_of(folder: Path, fast: Any, settings: TransformersConfig, description: Description) -> Special:
    """The ids of PAD, END, [MASK], and the tokens around a text. A translator's `first` is START, before the target.
    A PAD, END or [MASK] that the model lacks is left out."""
    named: Mapping[str, Any] = read_json(folder / ROLES) if (folder / ROLES).is_file() else {}
    writes = description.writes

    def id_of(role: str) -> int | None:
        token = named.get(f"{role}_token")
        name = token.get("content") if isinstance(token, dict) else token
        id = settings.token(f"{role}_token_id") if name is None else fast.token_to_id(str(name))
        return id if id is None or id < description.vocab_size else None

    before, after = around(fast, folder)
    if lacking := [id for id in (before, after) if id is not None and id >= description.vocab_size]:
        raise ValueError(
            f"{folder / FILE} puts {fast.id_to_token(lacking[0])} around a text, whose id is {lacking[0]}, and the "
            f"model's ids run from 0 to {description.vocab_size - 1:,}"
        )
    first = settings.token("decoder_start_token_id") if writes == "target" else before
    mask = id_of("mask")
    if mask is None and writes is None:
        mask = next((id for name in MASKS if (id := fast.token_to_id(name)) is not None), None)
    opens = before if writes == "target" else None
    return Special(id_of("pad"), id_of("eos"), first, mask, None if writes == "source" else after, opens)


def around(fast: Any, folder: Path) -> tuple[int | None, int | None]:
    """The ids that the tokenizer adds before and after a text."""
    inside, whole = (fast.encode(PROBE, add_special_tokens=special).ids for special in (False, True))
    at = next((n for n in range(len(whole)) if inside and whole[n : n + len(inside)] == inside), None)
    if at is None:
        raise ValueError(f"{folder / FILE} does not say what it puts around a text: it has no token for {PROBE!r}")
    before, after = whole[:at], whole[at + len(inside) :]
    if len(before) > 1 or len(after) > 1:
        raise ValueError(
            f"{folder / FILE} puts {len(before)} tokens before a text and {len(after)} after it: one each is shown"
        )
    return before[0] if before else None, after[0] if after else None
