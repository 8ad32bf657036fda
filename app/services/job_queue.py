"""Runs model jobs in a few worker threads, in the order of the scheduler, never on the event loop."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from math import ceil
from threading import Thread, current_thread
from time import perf_counter
from typing import Generic, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from chumoku.app.errors import AppError, is_out_of_memory
from chumoku.app.services.memory_budget import Claim, Crowded, MemoryBudget
from chumoku.app.services.metrics import Kind, Metrics
from chumoku.app.services.scheduler import Lane, Scheduler
from chumoku.model.stopping import Stop, Stopped, stoppable

log = logging.getLogger("chumoku")
T = TypeVar("T")
Wanted = Callable[[], Awaitable[bool]]
"""Returns whether any client still waits for an answer."""
LANES: dict[Kind, Lane] = {
    "beginning": "beginnings", "trace": "asked", "explain": "asked",
    "prompt": "steps", "step": "steps", "search": "steps",
    "predictions": "expensive", "long": "expensive", "effects": "expensive", "timings": "expensive",
}  # fmt: skip
LONGEST_WAIT = 10
"""Most seconds that `Retry-After` asks a refused client to wait."""
SECONDS_FOR_MEMORY = 30.0
"""Seconds that a job waits for memory for its answer: the default timeout of a client that does not read."""
LOOK_EVERY = 1.0
"""Seconds between two looks at a job whose thread may have failed to tell that it is done."""
CHECK_EVERY = 0.05
"""Seconds between two checks that a running job is still wanted."""
WITHOUT_MODEL = 2
"""Jobs without a model that run at once. They hold the GIL, so more would slow the event loop."""


@dataclass(frozen=True)
class Done(Generic[T]):
    """The result of a job, the seconds it waited (for memory and for its turn), and those it ran. `ahead`: how many
    jobs were waiting when it came."""

    value: T
    waited: float
    ran: float
    ahead: int = 0


class Gone(Exception):
    """The client disconnected while the job waited or ran."""


class JobQueue:
    """Runs at most `threads` jobs at once, lets `queue` more wait in each lane, and up to `streams` streams be open.
    Belongs to one event loop."""

    def __init__(
        self, threads: int, queue: int, streams: int, metrics: Metrics | None = None, budget: MemoryBudget | None = None
    ) -> None:
        self.budget = budget or MemoryBudget(sys.maxsize, sys.maxsize)
        self.stopping = False
        """Whether the server is stopping: no job starts any more, and open generations end with an error."""
        self.places = threads + queue
        self.streams = streams
        self.streaming = 0
        self.metrics = metrics or Metrics()
        self.seconds = 0.02  # per job: a moving average
        self._taken: Counter[Lane] = Counter()
        self._scheduler = Scheduler(threads)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="model")
        self._without_model, self._alone = CapacityLimiter(WITHOUT_MODEL), CapacityLimiter(1)
        self._show()

    @property
    def taken(self) -> int:
        """Jobs that run or wait."""
        return self._scheduler.waiting + len(self._scheduler.running)

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

        `wanted` is called when the turn comes, and from time to time while the job runs. If no client waits any more,
        the job stops between two layers and `Gone` is raised. A `patient` job (a step of an open generation) takes no
        place in the queue and is never refused; any other is refused (`full`, 503) if its lane is full. A job without
        memory for its answer waits for it outside the queue, and is restarted. Cancelling drops a waiting job, and
        stops a running one between two layers. `more` is as in `Scheduler.turn`.
        """
        came, ahead = perf_counter(), self._scheduler.waiting
        value, ran = await self.admit(lambda: self._in_turn(job, kind, wanted, more), kind, patient)
        return Done(value, perf_counter() - came - ran, ran, ahead)

    async def admit(self, attempt: Callable[[], Awaitable[T]], kind: Kind, patient: bool = False) -> T:
        """The result of `attempt`, which holds a place in its lane unless it is `patient`. Without memory for its
        answer, it is retried once there is some."""
        while True:
            if self.stopping:
                raise stopping()
            try:
                if patient:
                    return await attempt()
                with self._place(LANES[kind]):
                    return await attempt()
            except Crowded as crowded:
                await self._wait_for_memory(crowded.claim)
                patient = True

    async def _wait_for_memory(self, claim: Claim) -> None:
        """Raises `full` if all places are taken by jobs that wait for memory, or this one has waited too long."""
        if len(claim.budget.waiting) >= self.places:
            raise self._full("memory", self.places)
        with anyio.move_on_after(SECONDS_FOR_MEMORY):
            return await claim.wait()
        raise self._full("memory", self.places)

    @contextmanager
    def _place(self, lane: Lane) -> Iterator[None]:
        """Holds a place in a lane. Raises `full` if none is free."""
        if self._taken[lane] >= self.places:
            raise self._full("queue", self.places, ahead=self._scheduler.waiting)
        self._taken[lane] += 1
        try:
            yield
        finally:
            self._taken[lane] -= 1

    async def _in_turn(
        self, job: Callable[[], T], kind: Kind, wanted: Wanted | None, more: Callable[[], float]
    ) -> tuple[T, float]:
        """The result of the job, and the seconds it ran."""
        async with self._scheduler.turn(LANES[kind], more):
            if wanted is not None and not await wanted():
                raise Gone
            began = perf_counter()
            try:
                value = await self._in_thread(job, wanted)
            except (MemoryError, RuntimeError, OSError, ImportError) as error:
                if is_out_of_memory(error):
                    log.warning("a job had no memory: %s", type(error).__name__)
                    raise no_memory() from error
                raise
        ran = perf_counter() - began
        self.metrics.work.labels(kind).observe(ran)
        self.seconds += 0.05 * (ran - self.seconds)
        return value, ran

    async def _in_thread(self, job: Callable[[], T], wanted: Wanted | None) -> T:
        """The result of the job. When cancelled, waits for the thread to stop at its next layer."""
        stop, ran_in = Stop(), list[Thread]()
        began = self._threads.submit(copy_context().run, stopped, job, stop, ran_in)
        running = asyncio.wrap_future(began)
        watch = None if wanted is None else Watch(stop, wanted)
        try:
            return await self._result(began, running, ran_in)
        except Stopped:
            raise Gone from None
        except asyncio.CancelledError:
            stop.asked = True
            with anyio.CancelScope(shield=True), suppress(BaseException):
                await self._result(began, running, ran_in)
            raise
        finally:
            if watch is not None:
                watch.end()

    async def _result(self, began: Future[T], running: asyncio.Future[T], ran_in: list[Thread]) -> T:
        """The result of a job. Without memory, its thread may fail to tell the event loop that it is done, or may end
        before it is: so it is also asked once a second. Raises `MemoryError` for a lost result."""
        while True:
            done, _ = await asyncio.wait([running], timeout=LOOK_EVERY)
            if done:
                return running.result()
            if began.done():
                return began.result()
            if ran_in and not ran_in[0].is_alive():
                self._threads = ThreadPoolExecutor(self._scheduler.threads, thread_name_prefix="model")
                raise MemoryError("the thread of a job ended before it")

    async def without_model(self, job: Callable[[], T]) -> T:
        """Runs a job that needs no model. It waits only for other such jobs, and for memory for its answer."""
        while True:
            try:
                return await to_thread.run_sync(job, limiter=self._without_model)
            except Crowded as crowded:
                await self._wait_for_memory(crowded.claim)

    async def alone(self, job: Callable[[], T]) -> T:
        """Runs a job that holds the GIL throughout, as JSON encoding does, one at a time."""
        return await to_thread.run_sync(job, limiter=self._alone)

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Hold one of the places for open streams. Raises `full` if none is free."""
        if self.streaming >= self.streams:
            raise self._full("streams", self.streams)
        self.streaming += 1
        try:
            yield
        finally:
            self.streaming -= 1

    def _full(self, what: str, limit: int, ahead: int | None = None) -> AppError:
        self.metrics.refused.labels(what).inc()
        seconds = (ahead or 0) * self.seconds / self._scheduler.threads
        return full(limit, ahead, max(1, min(LONGEST_WAIT, ceil(seconds))))

    def _show(self) -> None:
        """Connects the gauges to their values."""
        self.metrics.places.set(self.places)
        self.metrics.read(self.metrics.taken, lambda: self.taken)
        self.metrics.read(self.metrics.waiting, lambda: self._scheduler.waiting)
        self.metrics.read(self.metrics.streams, lambda: self.streaming)
        self.metrics.read(self.metrics.answers, lambda: self.budget.taken)


def stopped(job: Callable[[], T], stop: Stop, ran_in: list[Thread]) -> T:
    """Runs the job in the worker thread, which is added to `ran_in`; it ends with `Stopped` once a stop is
    requested."""
    ran_in.append(current_thread())
    with stoppable(stop):
        return job()


class Watch:
    """Stops a running job once it is not wanted. The first check comes late, when most jobs have ended."""

    def __init__(self, stop: Stop, wanted: Wanted) -> None:
        self.stop, self.wanted = stop, wanted
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(CHECK_EVERY, self._begin)

    def end(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._check())

    async def _check(self) -> None:
        while await self.wanted():
            await asyncio.sleep(CHECK_EVERY)
        self.stop.asked = True


def full(limit: int, ahead: int | None = None, seconds: int = 1) -> AppError:
    """503: too many requests at once. `got` is how many are ahead in the queue."""
    message = f"The server is busy: it is working on {limit} requests, which is the limit."
    hint = "Try again in a second." if seconds == 1 else f"Try again in {seconds} seconds."
    return AppError("full", message, hint, status=503, got=ahead, limit=limit, retry_after=seconds)


def no_memory() -> AppError:
    """503: the system gave no memory. What other requests hold is free once they end."""
    message = "The server has no memory left for this."
    return AppError("full", message, "Try again in a few seconds.", status=503, retry_after=5)


def stopping() -> AppError:
    message = "The server is being stopped."
    return AppError("stopping", message, "Try again when it is back.", status=503, retry_after=5)
