"""Answers for several people at once: all who ask the same while it is computed, or sent, get the same bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Literal

from chumoku.app.services.answers import Answer, Answers, etag_of
from chumoku.app.services.library import Entry, Library
from chumoku.app.services.metrics import Kind
from chumoku.app.services.room import Claim, Crowded, Reserve, Size
from chumoku.app.services.threads import Wanted
from chumoku.app.services.work import Done, Gone, Work
from chumoku.model.traceable import TraceableModel

Make = Callable[[TraceableModel, Reserve], Answer]
"""Computes an answer, and reserves its bytes as soon as it knows how many they are."""
Place = tuple[Entry, str | None, str]
"""A model, its files, and what is asked."""
Found = Literal["kept", "shared", "none"]


@dataclass(frozen=True)
class Question:
    """What is asked of a model. The same `key` means the same answer, as long as the model's files are the same."""

    entry: Entry
    key: str
    make: Make
    kind: Kind

    @property
    def place(self) -> Place:
        return self.entry, self.entry.mark, self.key

    @property
    def etag(self) -> str | None:
        """Of its answer; None if it is not known which files the model has: it is not loaded."""
        return etag_of(self.entry.mark, self.key)


class Sharing:
    """The answers under way. Belongs to one event loop."""

    def __init__(self, library: Library, work: Work, answers: Answers) -> None:
        self.library, self.work, self.answers = library, work, answers
        self.shares: dict[Place, Share] = {}

    @contextmanager
    def asker(self, wanted: Wanted) -> Iterator[Asker]:
        """For one request: it leaves its share when its answer is sent or dropped."""
        asker = Asker(self, wanted)
        try:
            yield asker
        finally:
            asker.leave()

    def join(self, asker: Asker, question: Question) -> Share:
        """The share of those who ask this: one that is under way, or a new one."""
        share = self.shares.get(question.place)
        if share is None or share.failed:
            share = self.shares[question.place] = Share(self, question)
        else:
            self.count(share.found or "shared")
        share.askers.append(asker)
        return share

    def count(self, found: Found) -> None:
        self.answers.metrics.answers_found.labels(found).inc()


class Asker:
    """One request. `wanted` asks whether its client still waits."""

    def __init__(self, sharing: Sharing, wanted: Wanted) -> None:
        self.sharing, self.wanted = sharing, wanted
        self.share: Share | None = None

    async def get(self, question: Question) -> Done[Answer]:
        """The answer. Raises what `Work.run` raises, but `Gone` only if this client has left."""
        while True:
            self.share = self.sharing.join(self, question)
            try:
                return await asyncio.shield(self.share.task)
            except Gone:  # it was found that all had left just before this one came
                self.leave()
                if not await self.wanted():
                    raise

    @property
    def kept(self) -> bool:
        """Whether the answer was computed before."""
        return self.share is not None and self.share.found == "kept"

    def leave(self) -> None:
        if self.share is not None:
            self.share.leave(self)
            self.share = None


class Share:
    """One answer for its askers. Its bytes count once: from their reservation until the last asker has them."""

    def __init__(self, sharing: Sharing, question: Question) -> None:
        self.sharing, self.question, self.place = sharing, question, question.place
        self.askers: list[Asker] = []
        self.found: Literal["kept"] | None = None
        self.claim = Claim(sharing.work.room)
        self.task = asyncio.create_task(self._run())

    @property
    def failed(self) -> bool:
        return self.task.done() and (self.task.cancelled() or self.task.exception() is not None)

    def leave(self, asker: Asker) -> None:
        """When the last one leaves, work that is still under way stops at its next layer."""
        self.askers.remove(asker)
        if not self.askers:
            if self.sharing.shares.get(self.place) is self:
                del self.sharing.shares[self.place]
            self.task.cancel()
            self.task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[Done[Answer]]) -> None:
        self.claim.give_back()
        if not task.cancelled():
            task.exception()  # nobody else asks for it
        del self.task  # its error refers to this share

    async def _run(self) -> Done[Answer]:
        done = self._at_once()
        if done is None:
            done = await self.sharing.work.run(self._job, kind=self.question.kind, wanted=self._wanted)
        self.claim.settle(len(done.value.body))
        self.sharing.count(self.found or "none")
        return done

    async def _wanted(self) -> bool:
        """Whether anybody still waits."""
        for asker in list(self.askers):
            if await asker.wanted():
                return True
        return False

    def _at_once(self) -> Done[Answer] | None:
        """The answer if it is kept and there is room for it: then no thread is needed."""
        with suppress(Crowded):
            kept = self._kept(self.question.etag)
            return None if kept is None else Done(kept, 0.0, 0.0)
        return None

    def _kept(self, etag: str | None) -> Answer | None:
        kept = self.sharing.answers.find(etag)
        if kept is not None:
            self.claim.take(Size(len(kept.body), "Ask for less."))
            self.found = "kept"
        return kept

    def _job(self) -> Answer:
        """In a worker thread. While the model is in use, it is known which files it has."""
        with self.sharing.library.use(self.question.entry) as traceable:
            etag = self.question.etag
            kept = self._kept(etag)
            if kept is not None:
                return kept
            answer = replace(self.question.make(traceable, self.claim.take), etag=etag)
        self.sharing.answers.keep(answer)
        return answer
