"""Whose turn it is, with a clock that the test moves and jobs that only take turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import get_args

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from chumoku.app.services.scheduler import BETWEEN, CLIENT, PATIENCE, YIELD, Lane, Scheduler
from tests.app.helpers import settled


class Hall:
    """Jobs by name: which wait, which run, and in which order they began."""

    def __init__(self, threads: int, alone: float = 0.0) -> None:
        self.time, self.began, self.ends = 0.0, list[str](), dict[str, anyio.Event]()
        self.turns = Scheduler(threads, now=lambda: self.time, alone=alone)

    @property
    def running(self) -> list[str]:
        return [name for name in self.began if name in self.ends]

    async def job(self, name: str, lane: Lane) -> None:
        async with self.turns.turn(lane):
            self.began.append(name)
            self.ends[name] = anyio.Event()
            await self.ends[name].wait()
            del self.ends[name]

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await settled()


@asynccontextmanager
async def hall(threads: int, *arrivals: tuple[str, Lane]) -> AsyncIterator[Hall]:
    """All of `arrivals` came in this order, before anything ended."""
    found = Hall(threads)
    async with anyio.create_task_group() as group:
        for name, lane in arrivals:
            group.start_soon(found.job, name, lane)
            await settled()
        yield found
        group.cancel_scope.cancel()


async def test_steps_under_way_take_every_second_turn() -> None:
    steps: list[tuple[str, Lane]] = [(f"step {n}", "steps") for n in range(4)]
    async with hall(1, *steps, ("typed 0", "asked"), ("typed 1", "asked")) as now:
        for _ in range(5):
            await now.end(now.running[0])
        assert now.began == ["step 0", "typed 0", "step 1", "typed 1", "step 2", "step 3"]


async def test_beginnings_go_first_but_nobody_waits_for_them_for_long() -> None:
    """A class that steps at once: all its tokens come before the details of the first of them."""
    first: list[tuple[str, Lane]] = [(f"first {n}", "beginnings") for n in range(5)]
    async with hall(1, ("running", "asked"), ("typed", "asked"), ("step", "steps"), *first) as now:
        for _ in range(3):
            await now.end(now.running[0])
        now.time = YIELD
        for _ in range(4):
            await now.end(now.running[0])
        assert now.began == ["running", "first 0", "first 1", "first 2", "step", "first 3", "typed", "first 4"]


async def test_a_lane_that_waits_is_due_also_while_the_other_has_just_come() -> None:
    async with hall(1, ("running", "asked"), ("first 0", "beginnings"), ("typed", "asked"), ("step", "steps")) as now:
        now.time = YIELD
        await now.end("running")
        assert now.running == ["first 0"]
        now.turns.preferred = "asked"
        now.turns.lanes["asked"].oldest.came = YIELD  # the one before was cancelled, as by each key
        async with anyio.create_task_group() as group:
            group.start_soon(now.job, "first 1", "beginnings")
            await settled()
            await now.end("first 0")
            assert now.running == ["step"]
            group.cancel_scope.cancel()


async def test_clients_take_turns_in_each_lane() -> None:
    """The hundred jobs of one delay another's by one; the jobs of each are first come, first served."""
    for lane in get_args(Lane):
        now = Hall(1)
        async with anyio.create_task_group() as group:
            for client, n in (*(("many", n) for n in range(100)), ("one", 0), ("one", 1), ("other", 0)):
                CLIENT.set(client)
                group.start_soon(now.job, f"{client} {n}", lane)
                await settled()
            for _ in range(6):
                await now.end(now.running[0])
            group.cancel_scope.cancel()
        CLIENT.set("")
        assert now.began == ["many 0", "many 1", "one 0", "other 0", "many 2", "one 1", "many 3"]
        assert now.turns.waiting == 0


async def test_expensive_jobs_leave_a_thread_to_the_cheap_ones() -> None:
    async with hall(2, ("a", "expensive"), ("b", "expensive"), ("typed", "asked")) as now:
        assert now.running == ["a", "typed"]
        await now.end("typed")
        assert now.running == ["a"]
        await now.end("a")
        assert now.running == ["b"]


async def test_no_job_begins_beside_one_that_has_just_begun() -> None:
    """But beside one that takes longer."""
    now = Hall(2, alone=0.01)
    async with anyio.create_task_group() as group:
        for name, lane in (("first", "asked"), ("second", "steps"), ("third", "expensive")):
            group.start_soon(now.job, name, lane)
            await settled()
        assert now.running == ["first"]
        await now.end("first")
        assert now.running == ["second"]
        now.time = 0.01
        with anyio.fail_after(5):
            while now.running == ["second"]:
                await anyio.sleep(0.01)
        assert now.running == ["second", "third"]
        group.cancel_scope.cancel()


async def test_short_jobs_beside_a_long_one_follow_each_other_at_once() -> None:
    """Only a job that still runs is left alone."""
    now = Hall(2, alone=0.01)
    async with anyio.create_task_group() as group:
        group.start_soon(now.job, "long", "expensive")
        await settled()
        now.time = 0.01
        for name in ("first", "second", "third"):
            group.start_soon(now.job, name, "asked")
            await settled()
        assert now.running == ["long", "first"]
        await now.end("first")
        assert now.running == ["long", "second"]
        await now.end("second")
        assert now.running == ["long", "third"]
        group.cancel_scope.cancel()


async def test_an_expensive_job_waits_for_cheap_ones_but_not_for_ever() -> None:
    cheap: list[tuple[str, Lane]] = [(f"typed {n}", "asked") for n in range(4)]
    async with hall(1, cheap[0], ("expensive", "expensive"), *cheap[1:]) as now:
        await now.end("typed 0")
        now.time = PATIENCE
        await now.end("typed 1")
        assert now.began == ["typed 0", "typed 1", "expensive"]


async def test_between_two_expensive_jobs_many_cheap_ones_have_their_turn() -> None:
    """While one cheap job runs and another always waits."""
    now = Hall(1)
    async with anyio.create_task_group() as group:
        for name, lane in (("typed", "asked"), ("expensive 0", "expensive"), ("expensive 1", "expensive")):
            group.start_soon(now.job, name, lane)
            await settled()
        for n in range(2 * BETWEEN):
            now.time += PATIENCE
            group.start_soon(now.job, f"typed {n}", "asked")
            await settled()
            await now.end(now.running[0])
        group.cancel_scope.cancel()
    places = [n for n, name in enumerate(now.began) if name.startswith("expensive")]
    assert places == [1, 2 + BETWEEN]


async def test_cancelling_a_waiting_job_leaves_its_place() -> None:
    turns = Scheduler(1)
    async with turns.turn("asked"):
        with anyio.move_on_after(0.001):
            async with turns.turn("steps"):
                raise AssertionError("no thread is free")
        assert turns.waiting == 0
    async with turns.turn("expensive"):
        assert turns.free == 0
    assert turns.free == 1


LANES = st.sampled_from(get_args(Lane))


@settings(max_examples=60, deadline=None)
@given(threads=st.integers(1, 3), moves=st.lists(st.one_of(LANES, st.integers(0, 2)), max_size=40))
def test_a_cheap_job_waits_behind_at_most_one_expensive_job_a_thread(threads: int, moves: list[Lane | int]) -> None:
    """Whatever comes (a lane) and ends (a number: one that runs), half a second later each; and all have their turn."""

    async def play() -> None:
        now, lanes, came, ran = Hall(threads), dict[str, Lane](), dict[str, int](), dict[str, int]()
        async with anyio.create_task_group() as group:
            for n, move in enumerate([*moves, *[0] * len(moves)]):
                now.time += 0.5
                if not isinstance(move, int):
                    name = f"{move} {n}"
                    lanes[name], came[name] = move, len(now.began)
                    ran[name] = sum(lanes[one] == "expensive" for one in now.running)
                    CLIENT.set(f"client {n % 3}")
                    group.start_soon(now.job, name, move)
                elif now.running:
                    now.ends[now.running[move % len(now.running)]].set()
                await settled()
            group.cancel_scope.cancel()
        assert sorted(now.began) == sorted(lanes)
        for name in lanes:
            meanwhile = now.began[came[name] : now.began.index(name)]
            if lanes[name] != "expensive":
                assert ran[name] + sum(lanes[one] == "expensive" for one in meanwhile) <= threads

    anyio.run(play)


async def test_a_turn_of_many_is_alone_for_longer() -> None:
    """It does as much Python work as several short jobs; how many is known once it has begun."""
    turns, time, began, many = Scheduler(2, now=lambda: time[0], alone=0.03), [0.0], list[str](), list[int]()
    over = anyio.Event()

    async def job(name: str) -> None:
        async with turns.turn("steps", (lambda: 0.01 * len(many)) if name == "first" else lambda: 0.0):
            began.append(name)
            many.extend(range(7))
            await over.wait()

    async with anyio.create_task_group() as group:
        group.start_soon(job, "first")
        await settled()
        group.start_soon(job, "second")
        time[0] = 0.09
        await settled()
        assert began == ["first"]
        time[0] = 0.11
        with anyio.fail_after(5):
            while len(began) < 2:
                await anyio.sleep(0.005)
        over.set()
