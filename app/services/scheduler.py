"""Job scheduler: four lanes, fairness between them, and no two short jobs at once. Does not run threads itself.

A job that waits for memory has not come here yet: `job_queue.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, get_args

import anyio

Lane = Literal["beginnings", "asked", "steps", "expensive"]
"""`beginnings`: first tokens of answers, a batch at a time. `asked`: what a person waits for after typing or clicking.
`steps`: prompts and later steps of generations. `expensive`: long jobs."""

CHEAP: tuple[Lane, Lane] = ("asked", "steps")
YIELD = 0.1
"""Seconds for which other jobs let beginnings go first. When a class steps at once, everybody's token comes before the
details that the first of them ask for next."""
PATIENCE = 0.25
"""Seconds after which an expensive job runs although cheap ones wait."""
BETWEEN = 16
"""At least this many cheap jobs run between two expensive ones that overtake cheap ones: they are much shorter."""
ALONE = 0.03
"""Seconds after the start of a job in which no other starts. Short jobs are mostly Python, which holds the GIL: two at
once take as long as one after the other, with half as much CPU again, because the GIL changes hands at each tensor."""


CLIENT: ContextVar[str] = ContextVar("client", default="")
"""Whose request is being answered: the address that it came from."""


@dataclass(eq=False)
class Ticket:
    """A waiting job. `expensive_before`: how many expensive jobs had ended or overtaken when it arrived. `alone`: the
    seconds after its start in which no other job starts."""

    lane: Lane
    came: float
    expensive_before: int
    alone: Callable[[], float]
    began: float = 0.0
    client: str = field(default_factory=CLIENT.get)
    called: anyio.Event = field(default_factory=anyio.Event)


class WaitingJobs:
    """The waiting jobs of one lane. Clients take turns, so a client's hundred jobs delay another's by one; the jobs of
    each are first come, first served."""

    def __init__(self) -> None:
        self._of: dict[str, deque[Ticket]] = {}  # the client whose turn it is comes first
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def append(self, ticket: Ticket) -> None:
        self._of.setdefault(ticket.client, deque()).append(ticket)
        self._n += 1

    def remove(self, ticket: Ticket) -> None:
        own = self._of[ticket.client]
        own.remove(ticket)
        self._n -= 1
        if not own:
            del self._of[ticket.client]

    def pop_next(self) -> Ticket:
        client, own = next(iter(self._of.items()))
        ticket = own[0]
        self.remove(ticket)
        if own:
            self._of[client] = self._of.pop(client)
        return ticket

    @property
    def oldest(self) -> Ticket:
        return min((own[0] for own in self._of.values()), key=lambda ticket: ticket.came)


class Scheduler:
    """At most `threads` jobs at once; none starts within `alone` seconds of one that still runs, or longer if that one
    is a batch. Belongs to one event loop.

    In each lane, clients take turns. `asked` and `steps` alternate: however many steps wait, every second turn goes to
    `asked`. Beginnings go first; they alternate with a job that has waited for `YIELD`. Expensive jobs leave one thread
    to the cheap ones if there are several. One that has waited for `PATIENCE` goes before cheap ones, after `BETWEEN`
    of them, and only `threads` of them go before any one cheap job, counting those that ran when it came. So nothing
    starves, and a cheap job waits for at most one expensive job per thread.
    """

    def __init__(self, threads: int, now: Callable[[], float] = monotonic, alone: float = ALONE) -> None:
        self.threads, self.now, self.alone = threads, now, alone
        self.running: list[Ticket] = []  # in the order of their start
        self._later: asyncio.TimerHandle | None = None
        self.lanes: dict[Lane, WaitingJobs] = {lane: WaitingJobs() for lane in get_args(Lane)}
        self.expensive_running = self.expensive_begun = 0
        self.preferred: Lane = "asked"
        self.begun_last = False  # the last cheap job was a beginning
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
            ticket = self.lanes[lane].pop_next()
            ticket.began = self.now()
            self.running.append(ticket)
            if lane == "expensive":
                self.expensive_running, self.expensive_begun = self.expensive_running + 1, self.expensive_begun + 1
                self.cheap_since = 0 if self._next_cheap() else self.cheap_since
            else:
                self.cheap_since += 1
                self.begun_last = lane == "beginnings"
                self.preferred = self.preferred if self.begun_last else CHEAP[1 - CHEAP.index(lane)]
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
        return "expensive" if cheap is None or (self._waited("expensive") >= PATIENCE and self._may_pass()) else cheap

    def _next_cheap(self) -> Lane | None:
        other = CHEAP[1 - CHEAP.index(self.preferred)]
        waiting = [lane for lane in (self.preferred, other) if self.lanes[lane]]
        if not self.lanes["beginnings"]:
            return waiting[0] if waiting else None
        due = [lane for lane in waiting if self._waited(lane) >= YIELD]
        return due[0] if due and self.begun_last else "beginnings"

    def _waited(self, lane: Lane) -> float:
        return self.now() - self.lanes[lane].oldest.came

    def _may_pass(self) -> bool:
        """Whether one more expensive job may overtake the cheap ones; the oldest job of a lane has been overtaken
        most."""
        if self.cheap_since < BETWEEN:
            return False
        oldest = [self.lanes[lane].oldest for lane in ("beginnings", *CHEAP) if self.lanes[lane]]
        return all(self.expensive_begun - one.expensive_before < self.threads for one in oldest)
