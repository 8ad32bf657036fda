"""Generations that step at the same time step in one forward pass, with the results that each would have alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import anyio
import pytest
import torch
from fastapi import FastAPI
from httpx import AsyncClient, Response

from chumoku.app.api.requests import GenerateRequest
from chumoku.app.errors import AppError
from chumoku.app.main import create_app
from chumoku.app.services import batching as batching_module
from chumoku.app.services.batching import MOST, Batching
from chumoku.app.services.generation import Begun, GenerationSession, begin, steps
from chumoku.app.services.job_queue import Gone, JobQueue
from chumoku.app.services.library import Library
from chumoku.app.services.prefixes import Prefixes
from chumoku.app.services.scheduler import ALONE
from chumoku.app.services.wire import Event
from chumoku.app.settings import Settings
from chumoku.model.mechanisms.caches import History
from chumoku.model.session import DecoderSession
from chumoku.model.stopping import Stop, Stopped, stoppable
from chumoku.model.traceable import TraceableModel, ZooModel
from chumoku.model.transformer import DecoderOnly
from tests.app.conftest import client_of
from tests.app.families import opened
from tests.app.helpers import error_of, parse_events


async def until(claim: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not claim():
            await asyncio.sleep(0.001)


def kept_of(step: dict[str, Any]) -> list[int]:
    return [step["cache"][name] for name in ("positions", "computed", "bytes")]


async def test_people_who_step_at_the_same_time_share_forward_passes(
    families: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []
    really = DecoderOnly.forward

    def counted(model: DecoderOnly, token_ids: torch.Tensor, *more: Any, **named: Any) -> torch.Tensor:
        rows.append(len(token_ids))
        return really(model, token_ids, *more, **named)

    async def said(n: int) -> list[tuple[Any, ...]]:
        asked = {"model": "gpt", "token_ids": [n, *range(n)], "seed": n, "max_new_tokens": 4, "rows": True}
        events = parse_events((await families.post("/api/generate", json=asked)).text)
        assert events[-1][0] == "end"
        steps = [data for name, data in events if name == "step"]
        return [(one["token"]["id"], one["u"], kept_of(one), one["rows"]["self"]["shape"]) for one in steps]

    monkeypatch.setattr(DecoderOnly, "forward", counted)
    alone = [await said(n) for n in range(12)]
    assert set(rows) == {1}
    rows.clear()
    assert await asyncio.gather(*map(said, range(12))) == alone
    assert max(rows) > 1


async def test_those_whose_texts_are_known_begin_and_step_in_one_pass(
    families: AsyncClient, app_of_three: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a class steps: each sends a request for one token, and gets the answer that it would get alone."""
    rows: list[int] = []
    really, go = DecoderOnly.forward, threading.Event()

    def counted(model: DecoderOnly, token_ids: torch.Tensor, *more: Any, **named: Any) -> torch.Tensor:
        rows.append(len(token_ids))
        go.wait(60)  # longer than the test waits
        return really(model, token_ids, *more, **named)

    async def said(n: int) -> list[tuple[str, dict[str, Any]]]:
        asked = {"model": "gpt", "token_ids": [n, 77, *range(n)], "seed": n, "max_new_tokens": 1}
        events = parse_events((await families.post("/api/generate", json=asked)).text)
        assert [name for name, _ in events] == ["start", "step", "end"]
        return events

    alone = [await said(n) for n in range(12)]
    monkeypatch.setattr(DecoderOnly, "forward", counted)
    monkeypatch.setattr(app_of_three.state.chumoku.work._scheduler, "threads", 1)  # no other turn beside the first
    first = asyncio.create_task(said(0))
    await until(lambda: rows == [1])  # its turn lasts while the others come, also on a slow machine
    others = [asyncio.create_task(said(n)) for n in range(1, 12)]
    await until(lambda: len(app_of_three.state.chumoku.beginnings._waiting["gpt"]) == 11)
    go.set()
    together = await asyncio.gather(first, *others)
    assert rows == [1, 11]  # nothing but the new tokens
    for one, other in zip(alone, together, strict=True):
        starts = [events[0][1] for events in (one, other)]
        assert [start.pop("cache")["reused"] for start in starts] == [0, starts[0]["n_prompt"]]
        assert starts[0] == starts[1]
        assert one[1][1]["token"] == other[1][1]["token"]
        assert one[1][1]["u"] == other[1][1]["u"]


def test_a_prompt_that_is_not_known_is_not_read_where_others_begin(three: Library) -> None:
    """Also if it is alone there. The fault of one is its own."""
    gpt, known = ZooModel(opened(three, "gpt")), Prefixes(2**24)

    def make(ids: list[int]) -> GenerationSession:
        return GenerationSession(
            gpt, GenerateRequest(model="gpt", token_ids=ids, max_new_tokens=1, n=3), 1000, 256, known
        )

    def of(*all_ids: list[int]) -> list[Begun | Exception]:
        return begin([lambda ids=ids: make(ids) for ids in all_ids])

    (first,) = of([1, 2, 3])
    assert isinstance(first, Begun)
    assert (first.start, first.step) == (None, None)
    first.session.start()
    again, new, wrong = of([1, 2, 3], [4, 5], [9999])
    assert isinstance(again, Begun)
    assert isinstance(again.step, Event)
    assert again.step.data["token"] == first.session.step().data["token"]
    assert isinstance(new, Begun)
    assert (new.start, new.step) == (None, None)
    assert isinstance(wrong, AppError)
    assert wrong.code == "bad_token"


LONG = 40


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[int], threading.Event]]:
    """Long prompts that are being read, by their lengths, until the event."""
    reading, go, really = list[int](), threading.Event(), DecoderSession.read

    def read(session: DecoderSession, new: torch.Tensor) -> torch.Tensor:
        if new.shape[1] >= LONG:
            reading.append(new.shape[1])
            assert go.wait(30)
        return really(session, new)

    monkeypatch.setattr(DecoderSession, "read", read)
    yield reading, go
    go.set()


async def write(client: AsyncClient, ids: Iterable[int]) -> Response:
    return await client.post("/api/generate", json={"model": "gpt", "token_ids": list(ids), "max_new_tokens": 1})


async def test_a_known_prompt_begins_while_a_long_one_is_read(
    three: Library, held: tuple[list[int], threading.Event]
) -> None:
    reading, go = held
    async with client_of(create_app(Settings(model_threads=2), three)) as client:
        await write(client, [1, 2, 3])
        long = asyncio.create_task(write(client, range(LONG)))
        await until(lambda: reading == [LONG])
        with anyio.fail_after(10):
            events = parse_events((await write(client, [1, 2, 3])).text)
        assert [name for name, _ in events] == ["start", "step", "end"]
        assert not long.done()
        go.set()
        assert parse_events((await long).text)[-1][0] == "end"


async def test_a_prompt_that_is_read_has_its_place_in_the_queue(
    three: Library, held: tuple[list[int], threading.Event]
) -> None:
    """One, not two."""
    reading, go = held
    app = create_app(Settings(model_threads=1, queue=1), three)
    async with client_of(app) as client:
        first = asyncio.create_task(write(client, range(LONG)))
        await until(lambda: reading == [LONG])
        second = asyncio.create_task(write(client, range(1, LONG)))
        await until(lambda: app.state.chumoku.work.taken == 2)
        assert error_of(await write(client, [1, 2, 3]), 503, "full")["limit"] == 2
        go.set()
        for one in (first, second):
            assert parse_events((await one).text)[-1][0] == "end"


async def test_a_turn_of_many_is_alone_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """`EACH` seconds longer per part."""
    monkeypatch.setattr(batching_module, "EACH", 30)
    go, done, work = threading.Event(), list[int](), JobQueue(threads=2, queue=4, streams=4)

    def job(parts: Sequence[int]) -> list[int | Exception]:
        done.extend(parts)
        go.wait(30)
        return list(parts)

    first = asyncio.create_task(Batching[int, int](work, job).run(1, "a"))
    await until(lambda: done == [1])
    other = asyncio.create_task(work.run(lambda: done.append(2)))
    await asyncio.sleep(5 * ALONE)
    assert done == [1]
    go.set()
    assert await first == 1
    await other
    assert done == [1, 2]


async def test_if_it_cannot_be_asked_whether_one_is_there_it_alone_is_told() -> None:
    go, done = threading.Event(), list[int]()

    def job(parts: Sequence[int]) -> list[int | Exception]:
        done.extend(parts)
        go.wait(30)
        return list(parts)

    async def broken() -> bool:
        raise ValueError("torn")

    together = Batching[int, int](JobQueue(threads=1, queue=4, streams=4), job)
    first = asyncio.create_task(together.run(0, "a"))
    await until(lambda: done == [0])
    others = [asyncio.create_task(together.run(n, "a", broken if n == 2 else None)) for n in (1, 2, 3)]
    await asyncio.sleep(0.01)
    go.set()
    with anyio.fail_after(30):
        results = await asyncio.gather(first, *others, return_exceptions=True)
    assert [type(one) for one in results] == [int, int, ValueError, int]
    assert done == [0, 1, 3]
    with anyio.fail_after(30), pytest.raises(ValueError, match="torn"):
        await together.run(4, "a", broken)


async def test_who_has_left_before_its_turn_is_not_in_it() -> None:
    done: list[list[int]] = []
    go, here = threading.Event(), [True]

    def job(parts: Sequence[int]) -> list[int | Exception]:
        done.append(list(parts))
        go.wait(10)
        return list(parts)

    async def wanted() -> bool:
        return here[0]

    together = Batching[int, int](JobQueue(threads=1, queue=4, streams=4), job, "prompt")
    first = asyncio.create_task(together.run(0, "a"))
    await until(lambda: bool(done))
    others = [asyncio.create_task(together.run(n, "a", wanted if n == 2 else None)) for n in (1, 2, 3)]
    await asyncio.sleep(0.01)
    here[0] = False
    go.set()
    assert await first == 0
    results = await asyncio.gather(*others, return_exceptions=True)
    assert isinstance(results[1], Gone)
    assert (results[0], results[2], done) == (1, 3, [[0], [1, 3]])


async def test_a_turn_takes_those_who_wait() -> None:
    """While a turn lasts, others come: the next turn takes those of one group, up to the limit."""
    done: list[list[int]] = []
    go = threading.Event()

    def job(parts: Sequence[int]) -> list[int | Exception]:
        done.append(list(parts))
        go.wait(10)
        return [ValueError(part) if part == 13 else 10 * part for part in parts]

    work = JobQueue(threads=1, queue=4, streams=4)
    together = Batching[int, int](work, job)
    first = asyncio.create_task(together.run(0, "a"))
    await until(lambda: bool(done))
    others = [asyncio.create_task(together.run(n, "a")) for n in range(1, MOST + 5)]
    apart = asyncio.create_task(together.run(99, "b"))
    await asyncio.sleep(0.01)
    others[3].cancel()  # it leaves before its turn
    go.set()
    results = await asyncio.gather(first, *others, apart, return_exceptions=True)
    assert results[0] == 0
    assert results[-1] == 990
    assert isinstance(results[4], asyncio.CancelledError)
    assert isinstance(results[13], ValueError)
    assert [result for result in results if isinstance(result, int)] == [
        10 * n for n in [*range(MOST + 5), 99] if n not in (4, 13)
    ]
    assert sorted(map(len, done)) == [1, 1, 3, MOST]


async def test_who_waits_when_the_server_stops_is_told() -> None:
    work = JobQueue(threads=1, queue=1, streams=1)
    together = Batching[int, int](work, list)
    work.stopping = True
    with pytest.raises(AppError) as told:
        await together.run(1, "a")
    assert told.value.code == "stopping"
    work.stopping = False
    assert await together.run(2, "a") == 2


async def test_who_leaves_in_its_turn_waits_for_its_end() -> None:
    """Until then it holds its place and its model."""
    begun, go = threading.Event(), threading.Event()

    def job(parts: Sequence[int]) -> list[int | Exception]:
        begun.set()
        go.wait(10)
        return list(parts)

    task = asyncio.create_task(Batching[int, int](JobQueue(threads=1, queue=1, streams=1), job).run(1, "a"))
    await until(begun.is_set)
    task.cancel()
    await asyncio.sleep(0.01)
    assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task


def begun(traceable: TraceableModel, ids: list[int]) -> GenerationSession:
    session = GenerationSession(traceable, GenerateRequest(model="gpt", token_ids=ids, seed=len(ids), n=3), 1000, 256)
    session.start()
    return session


def test_the_fault_of_one_generation_does_not_end_the_others(three: Library) -> None:
    gpt = ZooModel(opened(three, "gpt"))
    joined, alone = ([begun(gpt, ids) for ids in ([1, 2, 3], [5], list(range(9)))] for _ in range(2))
    torn = joined[1].generator.session
    assert isinstance(torn, DecoderSession)
    assert torn.cache is not None
    last = torn.cache.layers[-1]
    assert isinstance(last, History)
    last.kept = tuple(x[..., :1].clone() for x in last.kept)  # one dimension is left of its keys and values
    for _ in range(2):
        first, second, third = steps(joined)
        assert isinstance(second, RuntimeError)
        for event, one in ((first, alone[0]), (third, alone[2])):
            assert isinstance(event, Event)
            expected = one.step()
            assert event.data["token"] == expected.data["token"]
            assert kept_of(event.data) == kept_of(expected.data)


def test_a_pass_that_nobody_waits_for_is_not_tried_again(three: Library) -> None:
    session = begun(ZooModel(opened(three, "gpt")), [1, 2, 3])
    with pytest.raises(Stopped), stoppable(Stop(asked=True)):
        steps([session, begun(session.traceable, [5])])
    assert session.generator.ids == [1, 2, 3]


async def test_a_batch_follows_the_one_before_at_once() -> None:
    """Who came while it ran goes before another job of the lane that came later."""
    began: list[str] = []
    go = threading.Event()

    def job(parts: Sequence[str]) -> list[str | Exception]:
        began.extend(parts)
        go.wait(10)
        return list(parts)

    work = JobQueue(threads=1, queue=4, streams=4)
    together = Batching[str, str](work, job)
    first = asyncio.create_task(together.run("first", "a"))
    await until(lambda: began == ["first"])
    second = asyncio.create_task(together.run("second", "a"))
    await asyncio.sleep(0.01)
    other = asyncio.create_task(work.run(lambda: began.append("other"), kind="step"))
    await asyncio.sleep(0.01)
    go.set()
    await asyncio.gather(first, second, other)
    assert began == ["first", "second", "other"]
