"""The texts of a masked language model: files of several forms, their held-out texts, and passages of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from pathlib import Path

import numpy as np

from chumoku.model.evaluate_classification import read_labelled
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.training.classification import phrases, split_sentences
from chumoku.model.training.data import is_held_out, read_documents
from chumoku.model.training.presets import DataSource, Preset, Reads
from chumoku.model.training.translation import read_pairs

SHORTEST = 5
"""The fewest tokens of a passage, [CLS] included: with less there is too little context."""
SHARES_OF_WINDOW = (2, 2, 2, 1)
"""Three passages in four are half a window long, which trains faster; the fourth fills it and teaches all positions."""

READERS: dict[Reads, Callable[[Path], list[str]]] = {
    "documents": read_documents,
    "pairs": lambda path: list(dict.fromkeys(source for source, _ in read_pairs(path))),
    "labelled": lambda path: list(dict(read_labelled(path))),
}
"""What this task reads of a file: documents, the source sentences of pairs, or labelled phrases without the labels."""


@dataclass(frozen=True)
class Texts:
    """The training texts of each file, and the held-out texts of the file to validate on."""

    train: dict[str, list[str]]
    held_out: list[str]

    def to_read(self, source: DataSource) -> list[str]:
        """The training texts of a file, with no text inside another: a treebank also lists the phrases of its
        sentences."""
        return whole(self.train[source.file]) if source.reads == "labelled" else self.train[source.file]


def split_texts(preset: Preset, data: Path) -> Texts:
    """Split the texts into training and held-out ones. Documents and source sentences are held out by their hash.
    Labelled phrases are split as for a classifier, over all their files together: no part of a held-out sentence is
    trained on."""
    texts = {source: READERS[source.reads](data / source.file) for source in preset.sources}
    labelled = [source for source in preset.sources if source.reads == "labelled"]
    rows = [(text, 0) for source in labelled for text in texts[source]]
    kept, held_out_rows = split_sentences(rows, labelled[0].held_out) if labelled else ([], [])
    allowed, train, held_out = {text for text, _ in kept}, {}, {}
    for source, found in texts.items():
        if source.reads == "labelled":
            train[source.file] = [text for text in (" ".join(text.split()) for text in found) if text in allowed]
            held_out[source.file] = [text for text, _ in held_out_rows]
        else:
            train[source.file] = [text for text in found if not is_held_out(text, source.held_out)]
            held_out[source.file] = [text for text in found if is_held_out(text, source.held_out)]
    return Texts(train, held_out[preset.validate_on])


def whole(texts: Sequence[str]) -> list[str]:
    """The texts that are not part of another."""
    known = set(texts)
    parts = {part for text in texts for part in phrases(text) if part != text and part in known}
    return [text for text in texts if text not in parts]


@dataclass(frozen=True)
class Passages:
    """Rows of tokens, [CLS] first: row i is `tokens[starts[i] : starts[i + 1]]`."""

    tokens: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[str], tokenizer: Tokenizer, window: int) -> Passages:
        rows = [row for row in chain.from_iterable(cut(texts, tokenizer, window)) if len(row) >= SHORTEST]
        flat = np.concatenate(rows) if rows else np.zeros(0, np.uint16)
        return cls(flat, np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64))))

    @classmethod
    def join(cls, sources: Sequence[Passages]) -> Passages:
        """All rows, source by source."""
        lengths = np.concatenate([passages.lengths for passages in sources])
        tokens = np.concatenate([passages.tokens for passages in sources])
        return cls(tokens, np.concatenate(([0], lengths.cumsum())))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    def row(self, i: int) -> np.ndarray:
        return self.tokens[self.starts[i] : self.starts[i + 1]].astype(np.int64)


def weighted(counts: Sequence[int], weights: Sequence[float]) -> np.ndarray:
    """Indices of rows, source after source. Rows are repeated so that sources have shares as in `weights`; each row
    occurs at least once."""
    total = max(n / weight for n, weight in zip(counts, weights, strict=True))
    firsts = np.cumsum(counts) - np.asarray(counts)
    return np.concatenate(
        [first + np.resize(np.arange(n), round(total * w)) for first, n, w in zip(firsts, counts, weights, strict=True)]
    )


def cut(texts: Iterable[str], tokenizer: Tokenizer, window: int) -> Iterator[Iterator[np.ndarray]]:
    """The passages of each text: it is split whenever a passage is full."""
    sizes = cycle(window // share - 1 for share in SHARES_OF_WINDOW)  # [CLS] comes first
    for text in texts:
        ids = np.array(tokenizer.encode(text), dtype=np.uint16)
        yield pieces(ids, sizes, tokenizer.first_id)


def pieces(ids: np.ndarray, sizes: Iterator[int], first_id: int) -> Iterator[np.ndarray]:
    at = 0
    while at < len(ids):
        size = next(sizes)
        yield np.concatenate(([first_id], ids[at : at + size])).astype(np.uint16)
        at += size
