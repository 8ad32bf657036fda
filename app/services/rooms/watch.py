"""The open streams of a process: they wake when their room changes, whichever process changed it."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from chumoku.app.api import room_requests
from chumoku.app.errors import AppError
from chumoku.app.services.rooms import acts, limits, store, value
from chumoku.app.services.rooms.database import Database
from chumoku.app.services.rooms.store import Person
from chumoku.app.services.wire import Event, Piece

log = logging.getLogger("chumoku")

T = TypeVar("T")
POLL_SECONDS = 0.05
"""Between two reads of the file, for what other processes changed."""
SOON_SECONDS = 0.02
"""Between two readings of a room that this process changes: a hundred votes a second are few snapshots."""
AGAIN_SECONDS = 1.0
"""After a read of the file that failed."""
SWEEP_SECONDS = 300.0
PRESENT_EVERY, COUNT_EVERY = 10.0, 5.0
"""Between two notes of who is there, and two countings of them for the teachers."""


@dataclass
class ShownRoom:
    """A room that has streams here, with its two events, encoded once for all of them."""

    version: int = -1
    over: bool = False
    everyone: bytes = b""
    teacher: bytes = b""
    members: frozenset[int] = frozenset()
    pupils_turn: asyncio.Event = field(default_factory=asyncio.Event)
    teachers_turn: asyncio.Event = field(default_factory=asyncio.Event)
    streams: dict[object, Person] = field(default_factory=dict)

    def show(self, snapshot: value.Snapshot | None) -> None:
        """Wakes the streams for which something changed: 300 pupils sleep through the votes of the others."""
        before = (self.over, self.everyone, self.members)
        if snapshot is None:
            self.over = True
        else:
            self.version, self.members = snapshot.version, snapshot.members
            self.everyone = Event("room", snapshot.everyone).encoded
            self.teacher = Event("room", snapshot.teacher).encoded
        if before != (self.over, self.everyone, self.members):
            self.wake_pupils()
        self.teachers_turn.set()
        self.teachers_turn = asyncio.Event()

    def wake_pupils(self) -> None:
        self.pupils_turn.set()
        self.pupils_turn = asyncio.Event()


def ended(why: str) -> Event:
    return Event("ended", {"why": why})


class RoomWatch:
    """Reads the file in a thread, and only while a stream is open."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.rooms: dict[int, ShownRoom] = {}
        self._thread = CapacityLimiter(1)
        self._nudged = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._present = self._counted = 0.0
        self._sure = False
        """Whether the next look must not trust that the file is unchanged."""

    async def work(self, job: partial[T]) -> T:
        """Runs in the one thread that uses the connection. Raises `rooms_unavailable` if the disk is full, say."""
        try:
            return await to_thread.run_sync(job, limiter=self._thread)
        except (sqlite3.Error, OSError) as error:
            log.error("the file of the rooms: %s", type(error).__name__, exc_info=error)
            raise limits.rooms_unavailable() from None

    def nudge(self) -> None:
        """This process has changed a room."""
        self._nudged.set()

    @property
    def streams(self) -> int:
        return sum(len(room.streams) for room in self.rooms.values())

    @contextmanager
    def _stream(self, who: Person) -> Iterator[tuple[ShownRoom, object]]:
        if self.streams >= limits.PEOPLE + limits.ROOMS:
            raise limits.server_full()
        room, mine = self.rooms.setdefault(who.room, ShownRoom()), object()
        for other, whose in list(room.streams.items()):
            if whose == who and not who.teaches:
                del room.streams[other]  # one stream a browser: the newest
                room.wake_pupils()
        room.streams[mine] = who
        try:
            yield room, mine
        finally:
            room.streams.pop(mine, None)
            if not room.streams and self.rooms.get(who.room) is room:
                del self.rooms[who.room]

    async def events(self, who: Person, pause: float = limits.TEACHER_SECONDS) -> AsyncGenerator[Event | Piece]:
        """First what the pupil did (`own`), then the whole room (`room`) whenever it looks different, and `ended` with
        the reason: over, removed, or elsewhere (the same pupil has opened another stream)."""
        with self._stream(who) as (room, mine):
            self._start()
            if not who.teaches:
                yield Event("own", await self.work(partial(value.own_of, self.database, who)))
            await self._look(sure=True, recount=False)  # else somebody who has just come is not yet among the members
            sent = b""
            while True:
                changed = room.teachers_turn if who.teaches else room.pupils_turn
                if room.over or (who.member is not None and room.version >= 0 and who.member not in room.members):
                    yield ended("over" if room.over else "removed")
                    return
                if mine not in room.streams:
                    yield ended("elsewhere")
                    return
                now = room.teacher if who.teaches else room.everyone
                if now and now != sent:
                    sent = now
                    yield Piece(b"id: %d\n" % room.version + now)
                    if who.teaches:
                        await asyncio.sleep(pause)  # a hundred votes a second are ten pictures
                else:
                    await changed.wait()

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._present = self._counted = 0.0
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self.rooms:
            try:
                await self._turn()
            except AppError:  # it is in the log
                self._sure = True  # the changes of this turn are still to be shown
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            await asyncio.sleep(SOON_SECONDS)
            try:
                async with asyncio.timeout(POLL_SECONDS - SOON_SECONDS):
                    await self._nudged.wait()
            except TimeoutError:
                pass

    async def _turn(self) -> None:
        sure, self._sure = self._sure or self._nudged.is_set(), False
        self._nudged.clear()
        now = monotonic()
        if now - self._present > PRESENT_EVERY:
            self._present, sure = now, True
            here = {who for room in self.rooms.values() for who in room.streams.values()}
            await self.work(partial(store.seen, self.database, here))
        recount = now - self._counted > COUNT_EVERY
        self._counted = now if recount else self._counted
        await self._look(sure or recount, recount)

    async def _look(self, sure: bool, recount: bool) -> None:
        known = {
            id_: -1 if recount and any(who.teaches for who in room.streams.values()) else room.version
            for id_, room in self.rooms.items()
        }
        for id_, snapshot in (await self.work(partial(self._changes, known, sure))).items():
            if id_ in self.rooms:
                self.rooms[id_].show(snapshot)

    def _changes(self, known: dict[int, int], sure: bool) -> dict[int, value.Snapshot | None]:
        if not self.database.has_changed() and not sure:
            return {}
        return value.snapshots(self.database, known)

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self.database.close()


class Rooms:
    """The rooms of a server, for its routes. What a process keeps of them itself is only what its streams show."""

    def __init__(self, database: Database) -> None:
        self.watch, self.database = RoomWatch(database), database

    async def open(self) -> tuple[str, str]:
        """A new room's code and its teacher's key."""
        return await self.watch.work(partial(store.opened, self.database))

    async def join(self, request: room_requests.JoinRequest, address: str) -> str:
        """The key of a new member."""
        _, key = await self.watch.work(partial(store.joined, self.database, request, address))
        self.watch.nudge()
        return key

    async def person(self, key: str) -> Person:
        return await self.watch.work(partial(store.person, self.database, key))

    async def seen(self, key: str) -> value.Json:
        """The whole value. Asking shows that somebody without a stream is there."""
        who, shown = await self.watch.work(partial(value.seen_by, self.database, key))
        await self.watch.work(partial(store.seen, self.database, [who]))
        return shown

    async def post(self, key: str, message: room_requests.OfTeacher | room_requests.OfPupil) -> None:
        await self.watch.work(partial(acts.posted, self.database, key, message))
        self.watch.nudge()

    async def leave(self, key: str) -> None:
        await self.watch.work(partial(store.left, self.database, key))
        self.watch.nudge()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """While the server runs: rooms that are over are deleted, also while nobody is in one."""
        sweep = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            sweep.cancel()
            self.watch.close()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            with suppress(AppError):  # it is in the log
                await self.watch.work(partial(store.seen, self.database, []))

    async def results(self, key: str, names: bool) -> value.Json:
        return await self.watch.work(partial(value.results, self.database, key, names))
