"""Job scheduler: three lanes, fairness between them, and no two short jobs at once. Does not run threads itself.

A job that waits for memory has not come here yet: `job_queue.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal

import anyio

Lane = Literal["asked", "steps", "expensive"]
"""`asked`: what a person waits for after typing or clicking. `steps`: prompts and steps of generations. `expensive`:
long jobs."""

CHEAP: tuple[Lane, Lane] = ("asked", "steps")
PATIENCE = 0.25
"""Seconds after which an expensive job runs although cheap ones wait."""
BETWEEN = 16
"""At least this many cheap jobs run between two expensive ones that overtake cheap ones: they are much shorter."""
ALONE = 0.03
"""Seconds after the start of a job in which no other starts. Short jobs are mostly Python, which holds the GIL: two at
once take as long as one after the other, with half as much CPU again, because the GIL changes hands at each tensor."""


@dataclass(eq=False)
class Ticket:
    """A waiting job. `expensive_before`: how many expensive jobs had ended or overtaken when it arrived. `alone`: the
    seconds after its start in which no other job starts."""

    lane: Lane
    came: float
    expensive_before: int
    alone: Callable[[], float]
    began: float = 0.0
    called: anyio.Event = field(default_factory=anyio.Event)


class Scheduler:
    """At most `threads` jobs at once; none starts within `alone` seconds of one that still runs, or longer if that one
    is a batch. Belongs to one event loop.

    The cheap lanes alternate, each first come, first served: however many steps wait, every second turn goes to
    `asked`. Expensive jobs leave one thread to the cheap ones if there are several. One that has waited for `PATIENCE`
    goes before cheap ones, after `BETWEEN` of them, and only `threads` of them go before any one cheap job, counting
    those that ran when it came. So nothing starves, and a cheap job waits for at most one expensive job per thread.
    """

    def __init__(self, threads: int, now: Callable[[], float] = monotonic, alone: float = ALONE) -> None:
        self.threads, self.now, self.alone = threads, now, alone
        self.running: list[Ticket] = []  # in the order of their start
        self._later: asyncio.TimerHandle | None = None
        self.lanes: dict[Lane, deque[Ticket]] = {"asked": deque(), "steps": deque(), "expensive": deque()}
        self.expensive_running = self.expensive_begun = 0
        self.preferred: Lane = "asked"
        self.cheap_since = BETWEEN  # an expensive job overtook cheap ones

    @property
    def free(self) -> int:
        return self.threads - len(self.running)

    @property
    def waiting(self) -> int:
        return sum(map(len, self.lanes.values()))

    @asynccontextmanager
    async def turn(self, lane: Lane, more: Callable[[], float] = lambda: 0.0) -> AsyncIterator[None]:
        """Waits for a turn in a lane, and holds it. `more`: for how many seconds longer than others it runs alone;
        called once it has started."""
        ticket = Ticket(lane, self.now(), self.expensive_begun - self.expensive_running, lambda: self.alone + more())
        self.lanes[lane].append(ticket)
        self._call()
        try:
            if not ticket.called.is_set():
                await ticket.called.wait()
            yield
        finally:
            if ticket.called.is_set():
                self._end(ticket)
            else:
                self.lanes[lane].remove(ticket)

    def _end(self, ticket: Ticket) -> None:
        self.running.remove(ticket)
        self.expensive_running -= ticket.lane == "expensive"
        self._call()

    def _call(self) -> None:
        """Starts the next jobs while a thread is free and none has to run alone."""
        while self.free and (lane := self._next()) is not None:
            if self.running and self._wait(max(one.began + one.alone() for one in self.running) - self.now()):
                return
            ticket = self.lanes[lane].popleft()
            ticket.began = self.now()
            self.running.append(ticket)
            if lane == "expensive":
                self.expensive_running, self.expensive_begun = self.expensive_running + 1, self.expensive_begun + 1
                self.cheap_since = 0 if self._next_cheap() else self.cheap_since
            else:
                self.preferred = CHEAP[1 - CHEAP.index(lane)]
                self.cheap_since += 1
            ticket.called.set()

    def _wait(self, seconds: float) -> bool:
        """Schedules another call after these seconds, if positive."""
        if self._later is not None:
            self._later.cancel()
        self._later = asyncio.get_running_loop().call_later(seconds, self._call) if seconds > 0 else None
        return seconds > 0

    def _next(self) -> Lane | None:
        """The lane whose first job is next; None if all have to wait."""
        cheap, expensive = self._next_cheap(), self.lanes["expensive"]
        if not expensive or self.expensive_running >= max(1, self.threads - 1):
            return cheap
        return "expensive" if cheap is None or (self._is_due(expensive[0]) and self._may_pass()) else cheap

    def _next_cheap(self) -> Lane | None:
        other = CHEAP[1 - CHEAP.index(self.preferred)]
        return next((lane for lane in (self.preferred, other) if self.lanes[lane]), None)

    def _is_due(self, expensive: Ticket) -> bool:
        return self.now() - expensive.came >= PATIENCE

    def _may_pass(self) -> bool:
        """Whether one more expensive job may overtake the cheap ones; the first job of a lane has been overtaken
        most."""
        if self.cheap_since < BETWEEN:
            return False
        firsts = [self.lanes[lane][0] for lane in CHEAP if self.lanes[lane]]
        return all(self.expensive_begun - first.expensive_before < self.threads for first in firsts)
