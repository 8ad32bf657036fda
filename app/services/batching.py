"""Batches compatible jobs: jobs of one group that wait at the same time run as one."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio

from chumoku.app.services.job_queue import Gone, JobQueue, Wanted
from chumoku.app.services.metrics import Kind

EACH = 0.006
"""Seconds per part for which a batch runs alone: each part is as much Python as a short job."""
Part = TypeVar("Part")
Result = TypeVar("Result")
MOST = 16
"""Largest batch: a job that waits for a turn waits for the whole batch."""


@dataclass(eq=False)
class Waiting(Generic[Part, Result]):
    """A waiting part of a batch. `begun`: its batch has started; `over` is set when the batch has ended."""

    part: Part
    result: asyncio.Future[Result]
    wanted: Wanted | None = None
    begun: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def is_wanted(self) -> bool:
        return not self.result.done() and (self.wanted is None or await self.wanted())

    def end(self, result: Result | Exception) -> None:
        """Delivers the result at the end of the batch, unless the client has left."""
        self.over.set()
        if self.result.done():
            return
        if isinstance(result, Exception):
            self.result.set_exception(result)
        else:
            self.result.set_result(result)


class Batching(Generic[Part, Result]):
    """`job` does some parts of one group, and returns a result or an exception for each. Belongs to one event loop."""

    def __init__(
        self, work: JobQueue, job: Callable[[Sequence[Part]], list[Result | Exception]], kind: Kind = "step"
    ) -> None:
        self.work, self.job, self.kind = work, job, kind
        self._waiting: defaultdict[Hashable, list[Waiting[Part, Result]]] = defaultdict(list)
        self._next: set[Hashable] = set()
        """The groups whose next batch waits for its turn."""
        self._turns: set[asyncio.Task[None]] = set()

    async def run(self, part: Part, group: Hashable, wanted: Wanted | None = None) -> Result:
        """The result of one part, which waits for a batch of its group, however long the queue is.

        `wanted` is as in `JobQueue.run`. Cancelling drops a waiting part. A running one waits for the end of its batch,
        which stops at the next layer if all its clients have left.
        """
        one = Waiting[Part, Result](part, asyncio.get_running_loop().create_future(), wanted)
        self._waiting[group].append(one)
        self._ask(group)
        try:
            return await one.result
        except asyncio.CancelledError:
            if one.begun:
                with anyio.CancelScope(shield=True):
                    await one.over.wait()
            raise

    def _ask(self, group: Hashable) -> None:
        """Asks for a turn for those of a group that wait, also while a batch runs: parts that arrive until it begins
        join. Otherwise another job would run between two batches."""
        if group in self._next:
            return
        self._next.add(group)
        # In an empty context: a batch belongs to no single request.
        turn = asyncio.create_task(self._take_turn(group), context=Context())
        self._turns.add(turn)
        turn.add_done_callback(self._turns.discard)

    async def _take_turn(self, group: Hashable) -> None:
        taken: list[Waiting[Part, Result]] | None = None

        async def wanted() -> bool:
            """Called at the start of the batch, and from time to time while it runs."""
            nonlocal taken
            if taken is None:
                taken = self._take(group)
                taken = await connected(taken)
                return bool(taken)
            for one in taken:
                if await one.is_wanted():
                    return True
            return False

        results: Sequence[Result | Exception]
        try:
            done = await self.work.run(
                lambda: self.job([one.part for one in taken or ()]),
                kind=self.kind,
                wanted=wanted,
                patient=True,
                more=lambda: EACH * len(taken or ()),
            )
            results = done.value
        except Gone:
            results = [Gone()] * len(taken or ())
        except Exception as error:
            if taken is None:  # the batch did not run: the server is stopping
                taken = await connected(self._take(group))
            results = [error] * len(taken)
        except asyncio.CancelledError:
            if taken is None:
                self._next.discard(group)
                taken = self._waiting.pop(group, [])
            for one in taken:
                one.result.cancel()
                one.over.set()
            raise
        for one, result in zip(taken or (), results, strict=True):
            one.end(result)

    def _take(self, group: Hashable) -> list[Waiting[Part, Result]]:
        """Takes the parts that have waited longest. Those left ask for the next turn."""
        self._next.remove(group)
        there = [one for one in self._waiting.pop(group) if not one.result.done()]
        first, left = there[:MOST], there[MOST:]
        if left:
            self._waiting[group] = left
            self._ask(group)
        for one in first:
            one.begun = True
        return first


async def connected(first: Sequence[Waiting[Part, Result]]) -> list[Waiting[Part, Result]]:
    """The parts of a batch that begins whose clients are still connected. If checking one fails, only that part gets
    the error."""
    staying = []
    for one in first:
        try:
            if await one.is_wanted():
                staying.append(one)
            else:
                one.end(Gone())
        except Exception as error:
            one.end(error)
    return staying
