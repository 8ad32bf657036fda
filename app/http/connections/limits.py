"""Limits of connections, the periodic check that enforces them, and which connection is closed when there are too
many."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

SWEPT_AT_ONCE = 1000
SPARE_FILES = 96
"""File descriptors reserved for everything but connections."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Timeouts in seconds, and the largest number of connections."""

    head: float
    body: float
    idle: float
    """Between two requests."""
    stalled: float
    """While an answer waits and the client reads none of it."""
    connections: int
    linger: float = 1
    """How long a closing connection still reads, so that a client that is still sending gets the answer."""

    @property
    def sweep(self) -> float:
        """Seconds between two checks of all connections. Deadlines are accurate to half of it."""
        return min(1.0, self.head, self.body, self.idle, self.stalled)


class Connection(Protocol):
    """What a `ConnectionLimiter` needs of a connection."""

    lost: bool
    leaving: bool

    @property
    def at_work(self) -> bool: ...
    def drop(self, why: str) -> None: ...
    def check(self, now: float) -> None: ...


class ConnectionLimiter:
    """Counts the connections of a server and checks all of them once a second, so that none needs its own timer."""

    def __init__(
        self,
        limits: ConnectionLimits,
        count: Callable[[str], None] = lambda why: None,
        stop: Callable[[], None] = lambda: None,
    ) -> None:
        """`count` is called with the reason when a connection is dropped; `stop` when the server stops with open
        connections."""
        self.limits, self.count, self.stop = limits, count, stop
        self.open: set[Connection] = set()
        self.idle: OrderedDict[Connection, None] = OrderedDict()
        """Connections without a request in progress, the longest idle first."""
        self._sweeping: asyncio.Task[None] | None = None

    def admit(self, new: Connection) -> bool:
        """Admits a connection, closing the longest idle one if there are too many. Returns False if none is idle."""
        self.open.add(new)
        while len(self.open) > self.limits.connections and self.idle:
            next(iter(self.idle)).drop("crowded")
        self.idle[new] = None
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.get_running_loop().create_task(self._sweep())
        return len(self.open) <= self.limits.connections

    def settle(self, one: Connection) -> None:
        """Records whether a connection is at work. One that has just finished becomes the most recently idle."""
        if one.at_work and not one.leaving:
            self.idle.pop(one, None)
        else:
            self.idle.setdefault(one, None)

    def forget(self, one: Connection) -> None:
        self.open.discard(one)
        self.idle.pop(one, None)

    async def _sweep(self) -> None:
        """Checks all connections, in parts, so that other callbacks run in between. Ends with the last connection."""
        while self.open:
            await asyncio.sleep(self.limits.sweep)
            there = list(self.open)
            for start in range(0, len(there), SWEPT_AT_ONCE):
                now = asyncio.get_running_loop().time()
                for one in there[start : start + SWEPT_AT_ONCE]:
                    if not one.lost:
                        one.check(now)
                await asyncio.sleep(0)
