"""Model work runs in a few worker threads behind a bounded queue, never on the event loop."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from time import perf_counter
from typing import Generic, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from chumoku.app.errors import AppError
from chumoku.app.services.metrics import Kind, Metrics
from chumoku.app.services.room import Claim, Crowded, Room
from chumoku.app.services.threads import Threads, Wanted
from chumoku.app.services.turns import Lane, Turns
from chumoku.model.stopping import Stopped

T = TypeVar("T")
LANES: dict[Kind, Lane] = {
    "trace": "asked", "explain": "asked", "prompt": "steps", "step": "steps", "search": "steps",
    "predictions": "expensive", "long": "expensive", "effects": "expensive", "timings": "expensive",
}  # fmt: skip
LONGEST_WAIT = 10
"""The most seconds after which a refused request is asked to try again."""
SECONDS_FOR_ROOM = 30.0
"""How long a job waits for room for its answer. A client that reads nothing is cut after as long, by default."""
ASIDE = 2
"""How many jobs without a model run at once: they hold Python's lock, so more would only slow the event loop."""


@dataclass(frozen=True)
class Done(Generic[T]):
    """The result of a job, the seconds it waited (for room and for its turn), and those it ran. `ahead`: how many jobs
    waited when it came."""

    value: T
    waited: float
    ran: float
    ahead: int = 0


class Gone(Exception):
    """The answer is no longer wanted: the client left while the job waited or ran."""


class Work:
    """At most `threads` jobs at once, `queue` more waiting in each lane, `streams` open generations. Belongs to one
    event loop."""

    def __init__(
        self, threads: int, queue: int, streams: int, metrics: Metrics | None = None, room: Room | None = None
    ) -> None:
        self.room = room or Room(sys.maxsize, sys.maxsize)
        self.stopping = False
        """Whether the server stops: no job begins any more, and open generations end with an error."""
        self.places = threads + queue
        self.running = 0
        self.streams = streams
        self.streaming = 0
        self.metrics = metrics or Metrics()
        self.seconds = 0.02  # that a job takes: a moving average
        self._taken: Counter[Lane] = Counter()
        self._turns = Turns(threads)
        self._threads = Threads(threads)
        self._aside, self._alone = CapacityLimiter(ASIDE), CapacityLimiter(1)
        self._show()

    @property
    def taken(self) -> int:
        """Jobs that run or wait."""
        return self._turns.waiting + self.running

    async def run(
        self,
        job: Callable[[], T],
        *,
        kind: Kind = "trace",
        wanted: Wanted | None = None,
        patient: bool = False,
        more: Callable[[], float] = lambda: 0.0,
    ) -> Done[T]:
        """Run `job` in a worker thread when its turn comes.

        `wanted` is called when the turn comes, and now and then while the job runs: raises `Gone` if nobody waits for
        the answer any more, and stops the job between two layers. A `patient` job (a step of an open generation) waits
        however long the queue is and takes no place in it; any other is refused (`full`, 503) if the queue of its lane
        is full. A job that finds no room for its answer waits for it without a place in the queue, and starts again.
        Cancelling drops a waiting job, and stops a running one between two layers. `more` is as in `Turns.turn`.
        """
        asked, ahead = perf_counter(), self._turns.waiting
        value, ran = await self.admit(lambda: self._run(job, kind, wanted, more), kind, patient)
        return Done(value, perf_counter() - asked - ran, ran, ahead)

    async def admit(self, attempt: Callable[[], Awaitable[T]], kind: Kind, patient: bool = False) -> T:
        """The result of `attempt`, which waits for a turn: in one of the places of its lane, unless it is `patient`.
        If there is no room for its answer, it is repeated once there is."""
        while True:
            if self.stopping:
                raise stopping()
            try:
                if patient:
                    return await attempt()
                with self._place(LANES[kind]):
                    return await attempt()
            except Crowded as crowded:
                await self._wait_for_room(crowded.claim)
                patient = True

    async def _wait_for_room(self, claim: Claim) -> None:
        """Raises `full` if as many wait for room as there are places, and for a job that has waited for long."""
        if len(claim.room.waiting) >= self.places:
            raise self._full("room", self.places)
        with anyio.move_on_after(SECONDS_FOR_ROOM):
            return await claim.wait()
        raise self._full("room", self.places)

    @contextmanager
    def _place(self, lane: Lane) -> Iterator[None]:
        """One of the places of a lane. Raises `full` if none is free."""
        if self._taken[lane] >= self.places:
            raise self._full("queue", self.places, ahead=self._turns.waiting)
        self._taken[lane] += 1
        try:
            yield
        finally:
            self._taken[lane] -= 1

    async def _run(
        self, job: Callable[[], T], kind: Kind, wanted: Wanted | None, more: Callable[[], float]
    ) -> tuple[T, float]:
        """The result of the job, and the seconds it ran."""
        async with self._turns.turn(LANES[kind], more):
            if wanted is not None and not await wanted():
                raise Gone
            self.running += 1
            began = perf_counter()
            try:
                value = await self._threads.run(job, wanted)
            except Stopped:
                raise Gone from None
            finally:
                self.running -= 1
        ran = perf_counter() - began
        self.metrics.work.labels(kind).observe(ran)
        self.seconds += 0.05 * (ran - self.seconds)
        return value, ran

    async def aside(self, job: Callable[[], T]) -> T:
        """Run a job that needs no model: it waits only for other jobs of this kind, and for room for its answer."""
        while True:
            try:
                return await to_thread.run_sync(job, limiter=self._aside)
            except Crowded as crowded:
                await self._wait_for_room(crowded.claim)

    async def alone(self, job: Callable[[], T]) -> T:
        """Run a job that holds Python's lock to its end, as JSON does. The event loop waits for at most one of them."""
        return await to_thread.run_sync(job, limiter=self._alone)

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

    def _full(self, what: str, limit: int, ahead: int | None = None) -> AppError:
        self.metrics.refused.labels(what).inc()
        seconds = (ahead or 0) * self.seconds / self._turns.threads
        return full(limit, ahead, max(1, min(LONGEST_WAIT, ceil(seconds))))

    def _show(self) -> None:
        """Let the gauges read their values from here."""
        self.metrics.places.set(self.places)
        self.metrics.read(self.metrics.taken, lambda: self.taken)
        self.metrics.read(self.metrics.waiting, lambda: self._turns.waiting)
        self.metrics.read(self.metrics.streams, lambda: self.streaming)
        self.metrics.read(self.metrics.answers, lambda: self.room.taken)


def full(limit: int, ahead: int | None = None, seconds: int = 1) -> AppError:
    """Too many at once: 503, to be retried in some seconds. `got` is how many are ahead in the queue."""
    message = f"The server is busy: it is working on {limit} requests, which is the limit."
    hint = "Try again in a second." if seconds == 1 else f"Try again in {seconds} seconds."
    return AppError("full", message, hint, status=503, got=ahead, limit=limit, retry_after=seconds)


def stopping() -> AppError:
    message = "The server is being stopped."
    return AppError("stopping", message, "Try again when it is back.", status=503, retry_after=5)
