"""Answers that are kept: what twenty people who open one link ask for is computed once.

An answer follows from its request, the model's files and the app's version. It is kept under a hash of these, so what
is kept of one model is never shown for another.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock

from chumoku.app.services.metrics import Metrics


@dataclass(frozen=True)
class Answer:
    """What is sent, and the seconds that the model and the encoding took. `etag`: the hash under which it is kept."""

    body: bytes | bytearray
    n_tokens: int | None = None
    model_seconds: float = 0.0
    encode_seconds: float = 0.0
    etag: str | None = None


def etag_of(mark: str | None, question: str) -> str | None:
    """The hash of a model's files and of a question about it; None if its files are not known.

    Weak (`W/`), because two computers may differ in the last bits.
    """
    return None if mark is None else f'W/"{sha256(f"{mark} {question}".encode()).hexdigest()[:32]}"'


class Answers:
    """At most `limit` bytes of them (0: none); the least recently used go first. May be used from many threads."""

    OVERHEAD = 1024
    """Bytes of an entry besides its body."""
    SHARE = 4
    """One answer may take this part of the limit: a few large ones do not drive out all others."""

    def __init__(self, limit: int, metrics: Metrics | None = None) -> None:
        self.limit, self.metrics = limit, metrics or Metrics()
        self.nbytes = 0
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        self._lock = Lock()
        self.metrics.read(self.metrics.kept_bytes, lambda: self.nbytes)

    def find(self, etag: str | None) -> Answer | None:
        with self._lock:
            found = None if etag is None else self._kept.get(etag)
            if found is not None and etag is not None:
                self._kept.move_to_end(etag)
        return found

    def keep(self, answer: Answer) -> None:
        """Keep an answer that has an etag, unless it is too large."""
        size = self._size(answer)
        if answer.etag is None or size > self.limit // self.SHARE:
            return
        with self._lock:
            if answer.etag not in self._kept:
                self._kept[answer.etag] = answer
                self.nbytes += size
            while self.nbytes > self.limit:
                self.nbytes -= self._size(self._kept.popitem(last=False)[1])

    def _size(self, answer: Answer) -> int:
        return len(answer.body) + self.OVERHEAD
