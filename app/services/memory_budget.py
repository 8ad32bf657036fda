"""The memory that answers may take. Bytes are reserved before the work begins, and freed when the answer is sent."""

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
"""A quarter of the budget is reserved for answers up to this size, so that a few large ones do not block them."""


@dataclass(frozen=True)
class Size:
    """The size of an answer in bytes, and what to leave out if it is too large."""

    n_bytes: int
    hint: str
    where: str | None = None


Reserve = Callable[[Size], None]
"""Called by a service as soon as the size of its answer is known. Raises `too_large`."""


def unlimited(size: Size) -> None:
    """Reserves nothing: for the command line."""


class Crowded(Exception):
    """The budget is exhausted. The job is restarted once `claim` has its bytes."""

    def __init__(self, claim: Claim) -> None:
        super().__init__("no memory for the answer")
        self.claim = claim


class MemoryBudget:
    """At most `total` bytes of answers at once, and `limit` for one. Claims wait in the order in which they came."""

    def __init__(self, total: int, limit: int) -> None:
        self.total, self.limit = max(total, limit), limit
        self.taken = 0
        self.waiting: deque[Claim] = deque()
        self.lock = Lock()

    @contextmanager
    def claim(self) -> Iterator[Claim]:
        """A claim for one answer, released at the end of the block."""
        claim = Claim(self)
        try:
            yield claim
        finally:
            claim.give_back()

    def fits(self, n_bytes: int) -> bool:
        kept = 0 if n_bytes <= SMALL else self.total // 4
        return self.taken == 0 or self.taken + n_bytes <= self.total - kept


class Claim:
    """One answer's share of the budget. `take` is called in worker threads, everything else on the event loop."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.budget, self.held, self.wanted = budget, 0, 0
        self.granted = anyio.Event()

    def take(self, size: Size) -> None:
        """Reserves the bytes. Raises `too_large` above the limit of one answer, and `Crowded` if the budget is
        exhausted."""
        budget = self.budget
        if size.n_bytes > budget.limit:
            raise too_large(size, budget.limit)
        with budget.lock:
            if size.n_bytes <= self.held:
                return
            more, self.wanted = size.n_bytes - self.held, size.n_bytes
            if not budget.fits(more) or (budget.waiting and more > SMALL):
                raise Crowded(self)
            budget.taken, self.held = budget.taken + more, size.n_bytes

    async def wait(self) -> None:
        """Wait until the wanted bytes are reserved."""
        with self.budget.lock:
            self.granted = anyio.Event()
            self.budget.waiting.append(self)
        try:
            self._grant()
            await self.granted.wait()
        finally:
            if self in self.budget.waiting:
                self.budget.waiting.remove(self)

    def settle(self, n_bytes: int) -> None:
        """Reduces the claim to the actual size of the answer."""
        self._free(max(0, self.held - n_bytes))

    def give_back(self) -> None:
        self._free(self.held)

    def _free(self, n_bytes: int) -> None:
        with self.budget.lock:
            self.budget.taken, self.held = self.budget.taken - n_bytes, self.held - n_bytes
        self._grant()

    def _grant(self) -> None:
        """Grant the waiting claims in their order; a small one may pass a large one that does not fit yet."""
        budget = self.budget
        with budget.lock:
            large_waits = False
            for one in list(budget.waiting):
                more = one.wanted - one.held
                if budget.fits(more) and not (large_waits and more > SMALL):
                    budget.taken, one.held = budget.taken + more, one.wanted
                    budget.waiting.remove(one)
                    one.granted.set()
                large_waits = large_waits or more > SMALL


def too_large(size: Size, limit: int) -> AppError:
    message = f"This answer would have {in_megabytes(size.n_bytes)}, more than the limit of {in_megabytes(limit)}."
    return AppError("too_large", message, size.hint, where=size.where, got=size.n_bytes, limit=limit)


def in_megabytes(n_bytes: int) -> str:
    """`64 MB`, `94.1 MB`, `0.02 MB`."""
    return f"{n_bytes / MEGABYTE:.3g} MB"
