"""Text to tokens and back: a byte-level BPE (Sennrich et al. 2016; on bytes as in GPT-2), run by tiktoken.

A tokenizer is a file of ranks, `tokenizer.tiktoken` (one `base64 rank` per line, tiktoken's own format). The special
ids follow the ranks: END, which separates documents and ends a translation, PAD, [CLS] or START if the family needs
one, and [MASK] if it is a masked language model. None can be typed: text that spells one is plain text. Before it is
split into tokens, text is normalised like the model's corpus (its text form), or not at all.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path

import tiktoken

from chumoku.model.config import Family, TextForm
from chumoku.model.files import read_bytes
from chumoku.model.special_tokens import CLS, END, MASK, PAD, START, Special, special_names

QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "–": "-", "—": "--", "…": "..."})
BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]"}

# Separated, in this order: n't (split from its verb), other contractions, a run of dots, a run of
# dashes that joins no words, any other punctuation. Dashes and dots inside words and numbers stay.
PIECES = re.compile(
    r"n't\b|'(?:s|m|d|re|ve|ll)\b|\.{2,}|-{2,}"
    r"|(?:(?!n't\b)\w)+(?:[-.,](?=\w)(?:(?!n't\b)\w)+)*|[^\w\s]"
)


def treebank(text: str) -> str:
    """Lower-cased, with punctuation and contractions separated as in the Penn Treebank: "It's GOOD." → "it 's good ."

    Text that is already in this form does not change: treebank(treebank(x)) = treebank(x).
    """
    text = text.lower().translate(QUOTES)
    for name, bracket in BRACKETS.items():
        text = text.replace(name, f" {bracket} ")
    text = text.replace("''", '"')
    return " ".join(PIECES.findall(text))


TEXT_FORMS: dict[TextForm, Callable[[str], str]] = {"natural": lambda text: text, "treebank": treebank}


# GPT-2's split (Radford et al. 2019), except that digits are separate: contractions, words, digits, punctuation, space.
SPLIT = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


@dataclass(frozen=True)
class Token:
    """One token of a text.

    `start` and `end` are character offsets: text[start:end] contains every character of which the token has a byte.
    `partial` says that its bytes begin or end inside a character; `text` then shows � for the broken ends.
    """

    index: int
    id: int
    bytes: bytes
    text: str
    start: int
    end: int
    partial: bool
    special: bool = False


class Tokenizer:
    """A `tiktoken.Encoding` with special tokens, and tokens with their offsets in the text."""

    def __init__(self, encoding: tiktoken.Encoding, text_form: TextForm = "natural") -> None:
        self.encoding = encoding
        self.text_form = text_form
        self.special_ids = {name: encoding.encode_single_token(name) for name in encoding.special_tokens_set}
        self.end_id = self.special_ids[END]
        self.pad_id = self.special_ids[PAD]
        # What a sequence of this family begins with; -1: nothing.
        self.first_id = self.special_ids.get(CLS, self.special_ids.get(START, -1))
        self.mask_id = self.special_ids.get(MASK)
        # Filled when first needed: a text that grows shows the same ids again and again.
        self._all_shown: dict[int, tuple[bytes, str, bool, bool]] = {}

    @cached_property
    def special(self) -> Special:
        return Special(self.pad_id, self.end_id, self.first_id if self.first_id >= 0 else None, self.mask_id)

    @property
    def never_sampled(self) -> list[int]:
        """The special ids that a model never predicts: all except END."""
        return self.special.never_sampled

    @property
    def vocab_size(self) -> int:
        return self.encoding.n_vocab

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, normalised to the model's text form first; never special ids.

        Raises `ValueError` for a lone surrogate, which has no bytes in UTF-8.
        """
        check_encodable(text)
        with without_panic("the text has a run of white space that is too long to split into words"):
            return self.encoding.encode_ordinary(TEXT_FORMS[self.text_form](text))

    def decode(self, ids: list[int]) -> str:
        """The text of `ids`; bytes that are not valid UTF-8 become �."""
        return self.encoding.decode(ids, errors="replace")

    def tokens(self, ids: list[int]) -> list[Token]:
        """Each id with its bytes and its offsets in the decoded text. Special tokens are between characters.

        Raises `ValueError` for an id that is not in the vocabulary.
        """
        shown = [self._shown(i) for i in ids]
        starts, ends = character_spans([b"" if special else piece for piece, _, _, special in shown])
        return [
            Token(n, i, piece, text, start, end, partial, special)
            for n, (i, (piece, text, partial, special), start, end) in enumerate(
                zip(ids, shown, starts, ends, strict=True)
            )
        ]

    def _shown(self, token_id: int) -> tuple[bytes, str, bool, bool]:
        """The bytes of an id, their text, whether they are partial, and whether it is special."""
        found = self._all_shown.get(token_id)
        if found is None:
            piece = self.token_bytes(token_id)
            special = token_id in self.special_ids.values()
            found = piece, piece.decode("utf-8", errors="replace"), is_partial(piece), special
            self._all_shown[token_id] = found
        return found

    def encode_target(self, text: str) -> list[int]:
        return self.encode(text)

    def covers(self, text: str) -> list[tuple[int, int]] | None:
        """The first and one-past-last character of each token in `text`; None if the text form changes the text."""
        if self.text_form != "natural":
            return None
        return [(token.start, token.end) for token in self.tokens(self.encode(text))]

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of one id; for a special token, its name."""
        if not 0 <= token_id < self.vocab_size:
            raise ValueError(f"token id {token_id} is not in the vocabulary: ids run from 0 to {self.vocab_size - 1}")
        return self.encoding.decode_single_token_bytes(token_id)


def is_panic(error: BaseException) -> bool:
    """Whether a library in Rust failed (pyo3's `PanicException`, which is no `Exception`)."""
    return type(error).__name__ == "PanicException"


@contextmanager
def without_panic(why: str) -> Iterator[None]:
    """In this block, a panic of a library in Rust is a `ValueError` that says `why`."""
    try:
        yield
    except BaseException as error:
        if not is_panic(error):
            raise
        raise ValueError(why) from None


def check_encodable(text: str) -> None:
    """Raise `ValueError` naming the first lone surrogate of `text`."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"character {error.start} (U+{ord(text[error.start]):04X}) is a lone surrogate: half a character"
        ) from None


def is_partial(piece: bytes) -> bool:
    """Whether `piece` begins or ends inside a UTF-8 character."""
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def character_spans(pieces: list[bytes]) -> tuple[list[int], list[int]]:
    """First and one-past-last character of each piece, in the text that the joined bytes decode to."""
    if all(piece.isascii() for piece in pieces):
        ends = list(accumulate(map(len, pieces)))
        return [0, *ends[:-1]] if pieces else [], ends
    # The character that each byte belongs to. The bytes of one � are those that the decoder replaces together.
    char_of_byte: list[int] = []
    rest, n = b"".join(pieces), 0
    while rest:
        try:
            good, broken = rest.decode(), 0
        except UnicodeDecodeError as error:
            good, broken = rest[: error.start].decode(), error.end - error.start
        lengths = [len(char.encode()) for char in good] + ([broken] if broken else [])
        for length in lengths:
            char_of_byte += [n] * length
            n += 1
        rest = rest[sum(lengths) :]
    char_of_byte.append(n)

    starts, ends, offset = list[int](), list[int](), 0
    for piece in pieces:
        starts.append(char_of_byte[offset])
        offset += len(piece)
        ends.append(char_of_byte[offset - 1] + 1 if piece else starts[-1])
    return starts, ends


def from_ranks(
    ranks: dict[bytes, int],
    name: str,
    family: Family = "decoder-only",
    text_form: TextForm = "natural",
    mask_token: bool = False,
) -> Tokenizer:
    """A tokenizer with these BPE ranks; the special tokens get the ids after them."""
    special = {token: len(ranks) + n for n, token in enumerate(special_names(family, mask_token))}
    encoding = tiktoken.Encoding(name, pat_str=SPLIT, mergeable_ranks=ranks, special_tokens=special)
    return Tokenizer(encoding, text_form)


def load(
    path: Path, family: Family = "decoder-only", text_form: TextForm = "natural", mask_token: bool = False
) -> Tokenizer:
    """Read `tokenizer.tiktoken`. tiktoken's own loader would keep a copy of every file in the temporary folder."""
    return from_ranks(read_ranks(path), f"chumoku-{path.parent.name}", family, text_form, mask_token)


LONGEST_PIECE = 1000
"""Most bytes or characters of a token: an answer spells each token of a text, and of every list of candidates."""


def read_ranks(path: Path) -> dict[bytes, int]:
    """Piece of text → rank. Raises `ValueError` for ranks that cannot encode every text."""
    content = read_bytes(path)
    try:
        return ranks_in(content)
    except ValueError as error:
        raise ValueError(f"{path}{error}") from None


@lru_cache(maxsize=8)
def ranks_in(content: bytes) -> dict[bytes, int]:
    """The ranks in a file, not to be modified. They are cached because a file is checked before it is opened, and
    models share files."""
    lines = [line.split() for line in content.splitlines() if line]
    try:
        ranks = {a2b_base64(piece, strict_mode=True): int(rank) for piece, rank in lines}
    except ValueError as error:
        raise ValueError(f" is not a file of `base64 rank` lines: {error}") from None
    if sorted(ranks.values()) != list(range(len(lines))) or b"" in ranks:
        raise ValueError(f": its ranks are not 0 to {len(lines) - 1}, each of another piece")
    if (longest := max(map(len, ranks))) > LONGEST_PIECE:
        raise ValueError(f" has a piece of {longest:,} bytes; at most {LONGEST_PIECE:,} are shown as one token")
    lacking = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if lacking:
        raise ValueError(f" lacks {len(lacking)} of the 256 single bytes, so it cannot encode every text")
    return ranks
