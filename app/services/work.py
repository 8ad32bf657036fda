"""Model work runs in worker threads, a few at once, behind a bounded queue: never on the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Generic, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from app.errors import AppError
from app.services.metrics import Kind, Metrics

T = TypeVar("T")
Wanted = Callable[[], Awaitable[bool]]
ASIDE = 2
"""Jobs without a model that run at once: they hold Python's lock, so more would only slow the event loop down."""


@dataclass(frozen=True)
class Done(Generic[T]):
    """What a job returned, and the seconds that it waited and ran."""

    value: T
    waited: float
    ran: float


class Gone(Exception):
    """Nobody wants the answer any more: the client left while the job waited for its turn."""


class Work:
    """At most `threads` jobs at once, `queue` more waiting, `streams` generations open. Belongs to one event loop."""

    def __init__(self, threads: int, queue: int, streams: int, metrics: Metrics | None = None) -> None:
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

        `wanted` is asked when it comes: `Gone` is raised when nobody waits for the answer any more. A `patient` job (a
        step of a generation under way) waits however long the queue is; another is refused (`full`, 503).
        Cancelling drops a job that waits, and waits for one that runs.
        """
        if not patient and self.taken >= self.places:
            self.metrics.refused.labels("queue").inc()
            raise full(self.places)
        self.taken += 1
        try:
            done = await self._run(job, wanted)
        finally:
            self.taken -= 1
        self.metrics.work.labels(kind).observe(done.ran)
        return done

    async def _run(self, job: Callable[[], T], wanted: Wanted | None) -> Done[T]:
        start = perf_counter()
        async with self._turn:
            if wanted is not None and not await wanted():
                raise Gone
            self.running += 1
            began = perf_counter()
            try:
                value = await to_thread.run_sync(job, limiter=self._threads)
            finally:
                self.running -= 1
        return Done(value, began - start, perf_counter() - began)

    async def aside(self, job: Callable[[], T]) -> T:
        """Run a job that needs no model: it never waits behind one, only behind others of its kind."""
        return await to_thread.run_sync(job, limiter=self._aside)

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Hold one of the places for generations; raises `full` when there is none."""
        if self.streaming >= self.streams:
            self.metrics.refused.labels("streams").inc()
            raise full(self.streams)
        self.streaming += 1
        try:
            yield
        finally:
            self.streaming -= 1

    def _show(self) -> None:
        """Let the gauges read from here, whenever somebody looks."""
        self.metrics.places.set(self.places)
        self.metrics.taken.set_function(lambda: self.taken)
        self.metrics.waiting.set_function(lambda: self.taken - self.running)
        self.metrics.streams.set_function(lambda: self.streaming)


def full(limit: int) -> AppError:
    """Too many at once: 503, to be tried again in a second."""
    message = f"The server is busy: {limit} requests are being worked on, which is the limit."
    return AppError("full", message, "Try again in a second.", status=503, limit=limit, retry_after=1)
