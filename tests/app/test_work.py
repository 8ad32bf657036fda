import threading
import time

import anyio
import pytest

from app.errors import AppError
from app.services.work import Gone, Work
from app.settings import Settings
from tests.app.conftest import Open
from tests.app.helpers import error_of


async def test_a_job_runs_in_another_thread() -> None:
    done = await Work(1, 0, 1).run(threading.get_ident)
    assert done.value != threading.get_ident()
    assert done.ran >= 0 <= done.waited


async def test_no_more_than_threads_run_at_once() -> None:
    work, running, most = Work(2, 10, 1), [0], [0]
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


async def test_the_queue_is_bounded_except_for_patient_jobs() -> None:
    work, release = Work(1, 1, 1), threading.Event()

    async def patient() -> None:
        await work.run(time.perf_counter, patient=True)

    async with anyio.create_task_group() as group:
        group.start_soon(work.run, lambda: release.wait(60))
        group.start_soon(work.run, time.perf_counter)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(AppError) as refusal:
            await work.run(time.perf_counter)
        assert (refusal.value.code, refusal.value.status, refusal.value.limit) == ("full", 503, 2)
        group.start_soon(patient)
        await anyio.wait_all_tasks_blocked()
        assert work.taken == 3
        release.set()
    assert work.taken == 0


async def test_nobody_works_for_those_who_left() -> None:
    async def left() -> bool:
        return False

    work = Work(1, 1, 1)
    with pytest.raises(Gone):
        await work.run(lambda: pytest.fail("this must not run"), wanted=left)
    assert work.taken == 0


async def test_cancelling_gives_the_place_back() -> None:
    work = Work(1, 0, 1)
    with anyio.move_on_after(0.01):
        await work.run(lambda: time.sleep(0.05))
    assert work.taken == 0
    assert (await work.run(lambda: 7)).value == 7


async def test_a_full_queue_is_503(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    from app.api.traces import route as traces

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
        for path in ("/api/trace", "/api/generate"):
            response = await client.post(path, json={"text": "a"})
            assert error_of(response, 503, "full")["limit"] == 1
            assert response.headers["retry-after"] == "1"
        release.set()
    assert statuses == [200]
