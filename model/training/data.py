"""Documents on disk → token streams → batches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from chumoku.model.special_tokens import END
from chumoku.model.tokenizer import Tokenizer

T = TypeVar("T")


def read_documents(path: Path) -> list[str]:
    """The documents of a file, which lines of only `<|endoftext|>` separate, without the line ends around them."""
    documents: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line == END:
            documents.append([])
        else:
            documents[-1].append(line)
    texts = ("\n".join(lines).strip("\n") for lines in documents)
    return [text for text in texts if text]


def is_held_out(document: str, fraction: float) -> bool:
    """Whether a document belongs to the validation set: decided by its hash alone."""
    digest = hashlib.blake2b(document.encode(), digest_size=4).digest()
    return int.from_bytes(digest) < fraction * 2**32


SHARED_RUN = 20
"""A text that shares this many words in a row with training text does not do so by chance."""


def unseen_documents(held_out: list[str], trained_on: Iterable[str], n_words: int = SHARED_RUN) -> list[str]:
    """The held-out documents that share no run of `n_words` words (split at white space) with any training text."""
    runs_of = [set(runs(document, n_words)) for document in held_out]
    open_runs = set().union(*runs_of)
    seen = {run for document in trained_on for run in runs(document, n_words) if run in open_runs}
    return [document for document, its_runs in zip(held_out, runs_of, strict=True) if its_runs.isdisjoint(seen)]


def runs(document: str, n_words: int) -> Iterator[tuple[str, ...]]:
    """Every `n_words` words in a row; none for a shorter document."""
    words = document.split()
    return (tuple(words[i : i + n_words]) for i in range(len(words) - n_words + 1))


def spread(items: Sequence[T], most: int) -> list[T]:
    """Up to `most` of `items`, evenly spaced, because a file may be sorted."""
    n = min(most, len(items))
    return [items[i * len(items) // n] for i in range(n)]


@dataclass(frozen=True)
class TokenStream:
    """The training tokens of one source, an END before each document; `starts` are the offsets of those ENDs."""

    tokens: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, documents: list[str], tokenizer: Tokenizer) -> TokenStream:
        encoded = tokenizer.encoding.encode_ordinary_batch(documents, num_threads=2)
        lengths = np.array([len(ids) + 1 for ids in encoded])
        flat = [i for ids in encoded for i in (tokenizer.end_id, *ids)]
        return cls(np.array(flat, dtype=np.uint16), np.concatenate(([0], lengths.cumsum()[:-1])))


@dataclass(frozen=True)
class Mixture:
    """Streams, each with its share of the rows in a batch.

    Half of the rows begin at the start of a document, as a user's text does. Fewer do if documents are long, so that
    the first page of a book does not outweigh the rest of it.
    """

    streams: list[TokenStream]
    weights: np.ndarray

    def batch(self, rng: np.random.Generator, batch_size: int, seq_len: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets, int64 [batch position]: each row a window of one stream."""
        rows = [
            self._window(self.streams[s], rng, seq_len)
            for s in rng.choice(len(self.streams), batch_size, p=self.weights)
        ]
        tokens = torch.from_numpy(np.stack(rows).astype(np.int64))
        return tokens[:, :-1], tokens[:, 1:]

    @staticmethod
    def _window(stream: TokenStream, rng: np.random.Generator, seq_len: int) -> np.ndarray:
        last = len(stream.tokens) - seq_len - 1
        from_start = min(0.5, len(stream.starts) * seq_len / len(stream.tokens))
        at = rng.choice(stream.starts) if rng.random() < from_start else rng.integers(last + 1)
        at = min(int(at), last)
        return stream.tokens[at : at + seq_len + 1]


def sample_texts(sources: dict[Path, float], total_bytes: int) -> Iterator[str]:
    """The documents that the BPE is learned on: from each file in proportion to its weight, as far as it goes."""
    for path, weight in sources.items():
        left = weight * total_bytes
        for document in read_documents(path):
            if left <= 0:
                break
            left -= len(document.encode())
            yield document
