import asyncio
import threading
import time
from functools import partial
from typing import Any

import anyio
import pytest
from torch import Tensor

from chumoku.app.errors import AppError
from chumoku.app.services.job_queue import Gone, JobQueue
from chumoku.app.settings import Settings
from chumoku.model.config import Family
from chumoku.model.stopping import Stop, Stopped, check, stoppable
from chumoku.model.taps import tap_dims
from chumoku.model.trace import trace
from tests.app.conftest import Open
from tests.app.helpers import error_of, settled
from tests.model.helpers import target_of, tiny_checkpoint


async def test_a_job_runs_in_another_thread() -> None:
    done = await JobQueue(1, 0, 1).run(threading.get_ident)
    assert done.value != threading.get_ident()
    assert done.ran >= 0 <= done.waited


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: 9 bytes"),
        RuntimeError("can't start new thread"),
        ImportError("libx.so: failed to map segment from shared object"),
    ],
)
async def test_a_job_without_memory_is_asked_to_come_back(error: Exception) -> None:
    def job() -> None:
        raise error

    work = JobQueue(1, 0, 1)
    with pytest.raises(AppError) as refusal:
        await work.run(job)
    assert (refusal.value.status, refusal.value.code, refusal.value.retry_after) == (503, "full", 5)
    assert (await work.run(lambda: 1)).value == 1


async def test_a_result_of_which_the_event_loop_is_not_told_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Telling it takes memory too. Without it, the job's place would stay taken for ever."""
    loop, failed = asyncio.get_running_loop(), list[bool]()
    told = loop.call_soon_threadsafe

    def fail_once(*args: Any, **more: Any) -> Any:
        if not failed:
            failed.append(True)
            raise MemoryError
        return told(*args, **more)

    work = JobQueue(1, 9, 1)
    monkeypatch.setattr(loop, "call_soon_threadsafe", fail_once)
    with anyio.fail_after(30):
        assert (await work.run(lambda: 1)).value == 1
        assert (await work.run(lambda: 2)).value == 2
    assert failed


async def test_a_thread_that_ends_before_its_job_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Python's pool does if it has no memory to keep the result: nobody would ever run its next job."""

    def fail(*_: object) -> None:
        raise MemoryError

    work = JobQueue(1, 9, 1)
    with monkeypatch.context() as without_memory, anyio.fail_after(30):
        without_memory.setattr("concurrent.futures.Future.set_result", fail)
        with pytest.raises(AppError) as refusal:
            await work.run(lambda: 1)
    assert refusal.value.status == 503
    with anyio.fail_after(30):
        assert (await work.run(lambda: 2)).value == 2


async def test_no_more_than_threads_run_at_once() -> None:
    work, running, most = JobQueue(2, 10, 1), [0], [0]
    lock, pair = threading.Lock(), threading.Barrier(2)

    def job() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        pair.wait(60)  # until a second one runs at the same time
        with lock:
            running[0] -= 1

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(work.run, job)
    assert most[0] == 2
    assert work.taken == 0


async def test_a_prompt_does_not_wait_behind_traces() -> None:
    """Who steps waits for one trace, however many others ask for."""
    work, release, began = JobQueue(1, 9, 1), threading.Event(), list[str]()
    async with anyio.create_task_group() as group:
        group.start_soon(work.run, lambda: release.wait(60))
        for kind in ("trace", "trace", "trace", "prompt"):
            group.start_soon(partial(work.run, partial(began.append, kind), kind=kind))
        await settled()
        release.set()
    assert began.index("prompt") <= 1


async def test_the_queue_is_bounded_except_for_patient_jobs() -> None:
    work, release = JobQueue(1, 1, 1), threading.Event()

    async def patient() -> None:
        await work.run(time.perf_counter, patient=True)

    async with anyio.create_task_group() as group:
        group.start_soon(work.run, lambda: release.wait(60))
        group.start_soon(work.run, time.perf_counter)
        await settled()
        with pytest.raises(AppError) as refusal:
            await work.run(time.perf_counter)
        assert (refusal.value.code, refusal.value.status, refusal.value.limit) == ("full", 503, 2)
        group.start_soon(patient)
        await settled()
        assert work.taken == 3
        release.set()
    assert work.taken == 0


async def test_nobody_works_for_those_who_left() -> None:
    async def left() -> bool:
        return False

    work = JobQueue(1, 1, 1)
    with pytest.raises(Gone):
        await work.run(lambda: pytest.fail("this must not run"), wanted=left)
    assert work.taken == 0


async def test_cancelling_gives_the_place_back() -> None:
    work = JobQueue(1, 0, 1)
    with anyio.move_on_after(0.01):
        await work.run(lambda: time.sleep(0.05))
    assert work.taken == 0
    assert (await work.run(lambda: 7)).value == 7


async def test_a_full_queue_is_503(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    from chumoku.app.api import traces

    started, release, really = threading.Event(), threading.Event(), traces.answer

    def slow(*args: object) -> object:
        started.set()
        assert release.wait(60)
        return really(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(traces, "answer", slow)
    async with open_app(Settings(model_threads=1, queue=0)) as client, anyio.create_task_group() as group:
        statuses = []

        async def ask() -> None:
            statuses.append((await client.post("/api/trace", json={"text": "a"})).status_code)

        group.start_soon(ask)
        await anyio.to_thread.run_sync(started.wait, 5)
        assert (await client.get("/readyz")).json()["jobs"] == 1  # the event loop is not blocked
        assert (await client.post("/api/tokenize", json={"text": "a"})).status_code == 200
        for path in ("/api/trace", "/api/explain/units"):
            response = await client.post(path, json={"text": "b"})
            assert error_of(response, 503, "full")["limit"] == 1
            assert response.headers["retry-after"] == "1"
        release.set()
    assert statuses == [200]


def layers(left: threading.Event) -> None:
    """A forward pass of many layers."""
    for _ in range(2000):
        try:
            check()
        except Stopped:
            left.set()
            raise
        time.sleep(0.005)


async def test_work_that_is_cancelled_stops_at_its_next_layer() -> None:
    work, left = JobQueue(1, 0, 1), threading.Event()
    began = time.perf_counter()
    with anyio.move_on_after(0.02):
        await work.run(lambda: layers(left))
    assert left.is_set()
    assert time.perf_counter() - began < 5
    assert work.taken == 0


async def test_work_whose_client_leaves_stops_at_its_next_layer() -> None:
    work, left, answers = JobQueue(1, 0, 1), threading.Event(), iter([True, True])

    async def wanted() -> bool:
        return next(answers, False)

    with pytest.raises(Gone):
        await work.run(lambda: layers(left), wanted=wanted)
    assert left.is_set()


@pytest.mark.parametrize("family", ["decoder-only", "encoder-only", "encoder-decoder"])
def test_a_trace_stops_between_two_layers(family: Family) -> None:
    checkpoint, stop, seen = tiny_checkpoint(family), Stop(), []
    first = next(name for name in tap_dims(checkpoint.model) if name.endswith("layers.0.resid_post"))

    def leave(x: Tensor, first_query: int) -> Tensor:
        stop.asked = True
        seen.append(x)
        return x

    later = {name: leave for name in tap_dims(checkpoint.model) if name.endswith("resid_post")}
    with stoppable(stop), pytest.raises(Stopped):
        trace(checkpoint, [1, 2], [first], edit=later, **target_of(checkpoint, [3]))
    assert len(seen) == 1


async def test_a_full_queue_says_how_many_are_ahead_and_when_to_come_back() -> None:
    work, release = JobQueue(1, 2, 1), threading.Event()
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(work.run, lambda: release.wait(60))
            await settled()
        with pytest.raises(AppError) as refusal:
            await work.run(time.perf_counter)
        assert (refusal.value.got, refusal.value.limit) == (2, 3)
        assert 1 <= (refusal.value.retry_after or 0) <= 10
        release.set()
    assert (await work.run(time.perf_counter)).ahead == 0


async def test_a_full_lane_leaves_the_others_open() -> None:
    """Streams and expensive jobs take no places from people who type."""
    work, release = JobQueue(2, 0, 1), threading.Event()
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(partial(work.run, lambda: release.wait(60), kind="step", patient=True))
        group.start_soon(partial(work.run, time.perf_counter, kind="long"))
        await settled()
        assert work.taken == 21
        group.start_soon(work.run, time.perf_counter)
        group.start_soon(work.run, time.perf_counter)
        await settled()
        with pytest.raises(AppError):
            await work.run(time.perf_counter)
        release.set()
    assert work.taken == 0
