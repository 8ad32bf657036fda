"""Answers for several clients at once: a cache of recent answers, and identical requests that share one computation.

An answer follows from its request, the model's files and the app's version. It is cached under a hash of these, so an
answer of one model is never sent for another.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from threading import Lock
from typing import Literal

from chumoku.app.services.job_queue import Done, Gone, JobQueue, Wanted
from chumoku.app.services.library import Entry, Library
from chumoku.app.services.memory_budget import Claim, Crowded, Reserve, Size
from chumoku.app.services.metrics import Kind, Metrics
from chumoku.model.traceable import TraceableModel


@dataclass(frozen=True)
class Answer:
    """A response body, and the seconds that the model and the encoding took. `etag`: the hash under which it is
    cached. `packed`: whether the body is gzipped."""

    body: bytes | bytearray
    n_tokens: int | None = None
    model_seconds: float = 0.0
    encode_seconds: float = 0.0
    etag: str | None = None
    packed: bool = False


def etag_of(fingerprint: str | None, question: str) -> str | None:
    """The hash of a model's files and of a question about it; None if its files are not known.

    Weak (`W/`), because two computers may differ in the last bits.
    """
    return None if fingerprint is None else f'W/"{sha256(f"{fingerprint} {question}".encode()).hexdigest()[:32]}"'


class AnswerCache:
    """At most `limit` bytes of answers (0: disabled), evicting the least recently used. Thread-safe."""

    OVERHEAD = 1024
    """Overhead of an entry, in bytes."""
    SHARE = 4
    """Largest share of the limit for one answer, so that a few large ones do not evict all others."""

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


Make = Callable[[TraceableModel, Reserve], Answer]
"""Computes an answer, and reserves its bytes as soon as it knows how many they are."""
Found = Literal["kept", "shared", "none"]
Key = tuple[Entry, str | None, str]
"""A model, the fingerprint of its files, and the question."""


@dataclass(frozen=True)
class Question:
    """A question about a model. The same `key` and the same files mean the same answer."""

    entry: Entry
    key: str
    make: Make
    kind: Kind

    @property
    def identity(self) -> Key:
        return self.entry, self.entry.fingerprint, self.key

    @property
    def etag(self) -> str | None:
        """The etag of the answer; None while the model is not loaded, because its files are not known yet."""
        return etag_of(self.entry.fingerprint, self.key)


class RequestCoalescing:
    """The answers being computed or sent, by question. Belongs to one event loop."""

    def __init__(self, library: Library, work: JobQueue, cache: AnswerCache) -> None:
        self.library, self.work, self.cache = library, work, cache
        self.shared: dict[Key, SharedAnswer] = {}

    @asynccontextmanager
    async def answer(self, question: Question, wanted: Wanted) -> AsyncIterator[SharedAnswer]:
        """The answer for one request, which shares it with identical ones until the block ends. `wanted` asks whether
        its client still waits. Raises what `JobQueue.run` raises, but `Gone` only if this client has left."""
        shared: SharedAnswer | None = None
        try:
            while shared is None:
                shared = self._join(question, wanted)
                try:
                    await asyncio.shield(shared.task)
                except Gone:  # all other clients had left, just before this one came
                    shared.leave(wanted)
                    shared = None
                    if not await wanted():
                        raise
            yield shared
        finally:
            if shared is not None:
                shared.leave(wanted)

    def _join(self, question: Question, wanted: Wanted) -> SharedAnswer:
        shared = self.shared.get(question.identity)
        if shared is None or shared.failed:
            shared = self.shared[question.identity] = SharedAnswer(self, question)
        else:
            self.count(shared.found or "shared")
        shared.waiting.append(wanted)
        return shared

    def count(self, found: Found) -> None:
        self.cache.metrics.answers_found.labels(found).inc()


class SharedAnswer:
    """One answer shared by all clients that wait for it. Its bytes count once, until all of them have it."""

    def __init__(self, coalescing: RequestCoalescing, question: Question) -> None:
        self.coalescing, self.question, self.identity = coalescing, question, question.identity
        self.waiting: list[Wanted] = []
        self.found: Literal["kept"] | None = None
        self.claim = Claim(coalescing.work.budget)
        self.task = asyncio.create_task(self._run())

    @property
    def done(self) -> Done[Answer]:
        return self.task.result()

    @property
    def failed(self) -> bool:
        return self.task.done() and (self.task.cancelled() or self.task.exception() is not None)

    def leave(self, wanted: Wanted) -> None:
        """When the last client leaves, a running job stops at its next layer."""
        self.waiting.remove(wanted)
        if not self.waiting:
            if self.coalescing.shared.get(self.identity) is self:
                del self.coalescing.shared[self.identity]
            self.task.cancel()
            self.task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[Done[Answer]]) -> None:
        self.claim.give_back()
        if not task.cancelled():
            task.exception()  # no other client waits for it
        del self.task  # avoids a reference cycle with its error

    async def _run(self) -> Done[Answer]:
        done = self._at_once()
        if done is None:
            done = await self.coalescing.work.run(self._job, kind=self.question.kind, wanted=self._wanted)
        self.claim.settle(len(done.value.body))
        self.coalescing.count(self.found or "none")
        return done

    async def _wanted(self) -> bool:
        for wanted in list(self.waiting):
            if await wanted():
                return True
        return False

    def _at_once(self) -> Done[Answer] | None:
        """The cached answer if there is memory for it, without a thread."""
        with suppress(Crowded):
            kept = self._kept(self.question.etag)
            return None if kept is None else Done(kept, 0.0, 0.0)
        return None

    def _kept(self, etag: str | None) -> Answer | None:
        kept = self.coalescing.cache.find(etag)
        if kept is not None:
            self.claim.take(Size(len(kept.body), "Ask for less."))
            self.found = "kept"
        return kept

    def _job(self) -> Answer:
        """Computes the answer in a worker thread. While the model is in use, its fingerprint is known."""
        with self.coalescing.library.use(self.question.entry) as model:
            etag = self.question.etag
            kept = self._kept(etag)
            if kept is not None:
                return kept
            answer = replace(self.question.make(model, self.claim.take), etag=etag)
        self.coalescing.cache.keep(answer)
        return answer
