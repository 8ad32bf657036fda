"""The memory that answers may take.

The bytes of an answer are reserved before its work begins, and given back when it is sent or dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import anyio

from chumoku.app.errors import AppError

MEGABYTE = 2**20
SMALL = MEGABYTE
"""A quarter of the room is kept for answers up to this size, so that a few large ones do not block them."""


@dataclass(frozen=True)
class Size:
    """How many bytes an answer will have, and what to leave out if that is too much."""

    n_bytes: int
    hint: str
    where: str | None = None


Reserve = Callable[[Size], None]
"""Called by a service as soon as it knows the size of its answer. Raises `too_large`."""


def unlimited(size: Size) -> None:
    """Reserves nothing: for the command line."""


class Crowded(Exception):
    """There is no room now. The job is started again when `claim` has it."""

    def __init__(self, claim: Claim) -> None:
        super().__init__("no room for the answer")
        self.claim = claim


class Room:
    """At most `total` bytes of answers at once, and `limit` for one. Claims wait in the order in which they came."""

    def __init__(self, total: int, limit: int) -> None:
        self.total, self.limit = max(total, limit), limit
        self.taken = 0
        self.waiting: deque[Claim] = deque()
        self.lock = Lock()

    @contextmanager
    def claim(self) -> Iterator[Claim]:
        """For one answer: what it took is given back at the end."""
        claim = Claim(self)
        try:
            yield claim
        finally:
            claim.give_back()

    def fits(self, n_bytes: int) -> bool:
        kept = 0 if n_bytes <= SMALL else self.total // 4
        return self.taken == 0 or self.taken + n_bytes <= self.total - kept


class Claim:
    """One answer's part of the room. `take` is called in worker threads, everything else on the event loop."""

    def __init__(self, room: Room) -> None:
        self.room, self.held, self.wanted = room, 0, 0
        self.granted = anyio.Event()

    def take(self, size: Size) -> None:
        """Reserve the bytes. Raises `too_large` for more than one answer may have, and `Crowded`."""
        room = self.room
        if size.n_bytes > room.limit:
            raise too_large(size, room.limit)
        with room.lock:
            if size.n_bytes <= self.held:
                return
            more, self.wanted = size.n_bytes - self.held, size.n_bytes
            if not room.fits(more) or (room.waiting and more > SMALL):
                raise Crowded(self)
            room.taken, self.held = room.taken + more, size.n_bytes

    async def wait(self) -> None:
        """Wait until the wanted bytes are reserved."""
        with self.room.lock:
            self.granted = anyio.Event()
            self.room.waiting.append(self)
        try:
            self._grant()
            await self.granted.wait()
        finally:
            if self in self.room.waiting:
                self.room.waiting.remove(self)

    def settle(self, n_bytes: int) -> None:
        """Keep only what the answer has in the end."""
        self._free(max(0, self.held - n_bytes))

    def give_back(self) -> None:
        self._free(self.held)

    def _free(self, n_bytes: int) -> None:
        with self.room.lock:
            self.room.taken, self.held = self.room.taken - n_bytes, self.held - n_bytes
        self._grant()

    def _grant(self) -> None:
        """Give room to those who wait, in their order; a small one may pass a large one that does not fit yet."""
        room = self.room
        with room.lock:
            large_waits = False
            for one in list(room.waiting):
                more = one.wanted - one.held
                if room.fits(more) and not (large_waits and more > SMALL):
                    room.taken, one.held = room.taken + more, one.wanted
                    room.waiting.remove(one)
                    one.granted.set()
                large_waits = large_waits or more > SMALL


def too_large(size: Size, limit: int) -> AppError:
    message = f"This answer would have {in_megabytes(size.n_bytes)}, more than the limit of {in_megabytes(limit)}."
    return AppError("too_large", message, size.hint, where=size.where, got=size.n_bytes, limit=limit)


def in_megabytes(n_bytes: int) -> str:
    """`64 MB`, `94.1 MB`, `0.02 MB`."""
    return f"{n_bytes / MEGABYTE:.3g} MB"
