"""Jobs in threads. One whose result nobody waits for any more stops between two layers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

import anyio

from chumoku.model.stopping import Stop, stoppable

T = TypeVar("T")
Wanted = Callable[[], Awaitable[bool]]
LOOK_EVERY = 0.05
"""Seconds between two looks at whether a job that runs is still wanted."""


class Threads:
    """At most `threads` of them. Belongs to one event loop."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="model")

    async def run(self, job: Callable[[], T], wanted: Wanted | None = None) -> T:
        """The result of `job`. Cancelling waits for the thread, which ends at its next layer.

        Raises `Stopped` if `wanted` says that nobody waits any more.
        """
        stop = Stop()
        running = asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, stopped, job, stop)
        watch = None if wanted is None else Watch(stop, wanted)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.asked = True
            with anyio.CancelScope(shield=True):
                await asyncio.wait([running])
            running.exception()  # nobody else will ask for it
            raise
        finally:
            if watch is not None:
                watch.end()


def stopped(job: Callable[[], T], stop: Stop) -> T:
    with stoppable(stop):
        return job()


class Watch:
    """Asks for a stop once a job is not wanted any more. The first look comes late: most jobs are over by then."""

    def __init__(self, stop: Stop, wanted: Wanted) -> None:
        self.stop, self.wanted = stop, wanted
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(LOOK_EVERY, self._begin)

    def end(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        while await self.wanted():
            await asyncio.sleep(LOOK_EVERY)
        self.stop.asked = True
