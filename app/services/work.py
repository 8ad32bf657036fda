"""Model work runs in a few worker threads behind a bounded queue, never on the event loop."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Generic, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from app.errors import AppError
from app.services.metrics import Kind, Metrics
from app.services.room import Claim, Crowded, Room

T = TypeVar("T")
Wanted = Callable[[], Awaitable[bool]]
SECONDS_FOR_ROOM = 30.0
"""How long a job waits for room for its answer. A client that reads nothing is cut after as long, by default."""
ASIDE = 2
"""How many jobs without a model run at once: they hold Python's lock, so more would only slow the event loop."""


@dataclass(frozen=True)
class Done(Generic[T]):
    """The result of a job, the seconds it waited (for room and for its turn), and those it ran."""

    value: T
    waited: float
    ran: float


class Gone(Exception):
    """The answer is no longer wanted: the client left while the job waited."""


class Work:
    """At most `threads` jobs at once, `queue` more waiting, `streams` open generations. Belongs to one event loop."""

    def __init__(
        self, threads: int, queue: int, streams: int, metrics: Metrics | None = None, room: Room | None = None
    ) -> None:
        self.room = room or Room(sys.maxsize, sys.maxsize)
        self.stopping = False
        """Whether the server stops: no job begins any more, and open generations end with an error."""
        self.places = threads + queue
        self.taken = self.running = 0
        self.streams = streams
        self.streaming = 0
        self.metrics = metrics or Metrics()
        self._turn = anyio.Semaphore(threads)
        self._threads = CapacityLimiter(threads)
        self._aside = CapacityLimiter(ASIDE)
        self._show()

    async def run(
        self, job: Callable[[], T], *, kind: Kind = "trace", wanted: Wanted | None = None, patient: bool = False
    ) -> Done[T]:
        """Run `job` in a worker thread when its turn comes.

        `wanted` is called when the turn comes: raises `Gone` if nobody waits for the answer any more. A `patient` job
        (a step of an open generation) waits however long the queue is; any other is refused (`full`, 503) if the queue
        is full. A job that finds no room for its answer waits for it without a place in the queue, and starts again.
        Cancelling drops a waiting job, and waits for a running one.
        """
        asked = perf_counter()
        while True:
            try:
                value, ran = await self._placed(job, kind, wanted, patient)
            except Crowded as crowded:
                await self._wait_for_room(crowded.claim)
                patient = True
            else:
                return Done(value, perf_counter() - asked - ran, ran)

    async def _wait_for_room(self, claim: Claim) -> None:
        """Raises `full` if as many wait for room as there are places, and for a job that has waited for long."""
        if len(self.room.waiting) >= self.places:
            raise self._full("room", self.places)
        with anyio.move_on_after(SECONDS_FOR_ROOM):
            return await claim.wait()
        raise self._full("room", self.places)

    async def _placed(self, job: Callable[[], T], kind: Kind, wanted: Wanted | None, patient: bool) -> tuple[T, float]:
        if self.stopping:
            raise stopping()
        if not patient and self.taken >= self.places:
            raise self._full("queue", self.places)
        self.taken += 1
        try:
            value, ran = await self._run(job, wanted)
        finally:
            self.taken -= 1
        self.metrics.work.labels(kind).observe(ran)
        return value, ran

    async def _run(self, job: Callable[[], T], wanted: Wanted | None) -> tuple[T, float]:
        """The result of the job, and the seconds it ran."""
        async with self._turn:
            if wanted is not None and not await wanted():
                raise Gone
            self.running += 1
            began = perf_counter()
            try:
                value = await to_thread.run_sync(job, limiter=self._threads)
            finally:
                self.running -= 1
        return value, perf_counter() - began

    async def aside(self, job: Callable[[], T]) -> T:
        """Run a job that needs no model: it waits only for other jobs of this kind, and for room for its answer."""
        while True:
            try:
                return await to_thread.run_sync(job, limiter=self._aside)
            except Crowded as crowded:
                await self._wait_for_room(crowded.claim)

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Hold one of the places for generations. Raises `full` if none is free."""
        if self.streaming >= self.streams:
            raise self._full("streams", self.streams)
        self.streaming += 1
        try:
            yield
        finally:
            self.streaming -= 1

    def _full(self, what: str, limit: int) -> AppError:
        self.metrics.refused.labels(what).inc()
        return full(limit)

    def _show(self) -> None:
        """Let the gauges read their values from here."""
        self.metrics.places.set(self.places)
        self.metrics.taken.set_function(lambda: self.taken)
        self.metrics.waiting.set_function(lambda: self.taken - self.running)
        self.metrics.streams.set_function(lambda: self.streaming)
        self.metrics.answers.set_function(lambda: self.room.taken)


def full(limit: int) -> AppError:
    """Too many at once: 503, to be retried in a second."""
    message = f"The server is busy: it is working on {limit} requests, which is the limit."
    return AppError("full", message, "Try again in a second.", status=503, limit=limit, retry_after=1)


def stopping() -> AppError:
    message = "The server is being stopped."
    return AppError("stopping", message, "Try again when it is back.", status=503, retry_after=5)
