"""The bytes of answers: known before the work begins, bounded for one and for all, and given back."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Any

import anyio
import pytest
from anyio import to_thread
from httpx import AsyncClient

from chumoku.app.errors import AppError
from chumoku.app.services.job_queue import JobQueue
from chumoku.app.services.memory_budget import MEGABYTE, Crowded, MemoryBudget, Size
from chumoku.app.services.metrics import Metrics
from chumoku.app.settings import Settings
from tests.app.conftest import Open
from tests.app.helpers import error_of, metrics

TAKEN = "chumoku_answer_bytes"


def size(megabytes: float) -> Size:
    return Size(int(megabytes * MEGABYTE), "Ask for less.")


def test_one_answer_has_a_limit() -> None:
    with MemoryBudget(256 * MEGABYTE, 64 * MEGABYTE).claim() as claim:
        claim.take(size(64))
        with pytest.raises(AppError, match=r"65 MB, more than the limit of 64 MB") as refusal:
            claim.take(size(65))
        assert (refusal.value.got, refusal.value.limit) == (65 * MEGABYTE, 64 * MEGABYTE)


def test_all_answers_have_one_too_and_a_quarter_is_for_small_ones() -> None:
    room = MemoryBudget(256 * MEGABYTE, 64 * MEGABYTE)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(room.claim()).take(size(64))
        with pytest.raises(Crowded):
            stack.enter_context(room.claim()).take(size(2))
        for _ in range(64):
            stack.enter_context(room.claim()).take(size(1))
        with pytest.raises(Crowded):
            stack.enter_context(room.claim()).take(size(1))
    assert room.taken == 0


def test_what_an_answer_did_not_need_is_free_at_once() -> None:
    room = MemoryBudget(10 * MEGABYTE, 10 * MEGABYTE)
    with room.claim() as claim:
        claim.take(size(8))
        claim.settle(3 * MEGABYTE)
        assert room.taken == 3 * MEGABYTE
        claim.settle(5 * MEGABYTE)  # it cannot grow
        assert room.taken == 3 * MEGABYTE
    assert room.taken == 0


async def test_a_job_waits_for_memory_in_order_and_without_a_place_in_the_queue() -> None:
    room = MemoryBudget(8 * MEGABYTE, 4 * MEGABYTE)
    work = JobQueue(1, 1, 1, Metrics(), room)
    done: list[str] = []

    async def ask(name: str, megabytes: float) -> None:
        with room.claim() as claim:
            await work.run(lambda: claim.take(size(megabytes)))
            done.append(name)

    async with anyio.create_task_group() as group:
        with room.claim() as first:
            first.take(size(4))
            for n, (name, megabytes) in enumerate([("large", 4.0), ("larger", 3.5)], 1):
                group.start_soon(ask, name, megabytes)
                await until_waiting(room, n)
            await ask("small", 0.5)
            assert done == ["small"]
            assert work.taken == 0
    assert done == ["small", "large", "larger"]
    assert room.taken == 0


async def until_waiting(room: MemoryBudget, n: int) -> None:
    with anyio.fail_after(10):
        while len(room.waiting) < n:
            await to_thread.run_sync(lambda: None)


async def test_no_more_wait_for_memory_than_there_are_places() -> None:
    room = MemoryBudget(4 * MEGABYTE, 4 * MEGABYTE)
    work = JobQueue(1, 1, 1, Metrics(), room)

    async def ask() -> None:
        with room.claim() as claim:
            await work.run(lambda: claim.take(size(2)))

    async with anyio.create_task_group() as group:
        with room.claim() as first:
            first.take(size(4))
            for n in (1, 2):
                group.start_soon(ask)
                await until_waiting(room, n)
            for run in (work.run, work.without_model):
                with pytest.raises(AppError) as refusal, room.claim() as claim:
                    await run(lambda: claim.take(size(2)))
                assert (refusal.value.code, refusal.value.status, refusal.value.limit) == ("full", 503, 2)
    assert room.taken == 0


async def test_nobody_waits_for_memory_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chumoku.app.services.job_queue.SECONDS_FOR_MEMORY", 0.01)
    room = MemoryBudget(4 * MEGABYTE, 4 * MEGABYTE)
    with room.claim() as first, room.claim() as second:
        first.take(size(4))
        with pytest.raises(AppError, match="busy"), anyio.fail_after(10):
            await JobQueue(1, 0, 1, Metrics(), room).run(lambda: second.take(size(2)))
        assert not room.waiting


async def test_a_jobs_wait_includes_its_wait_for_memory() -> None:
    room = MemoryBudget(4 * MEGABYTE, 4 * MEGABYTE)
    work = JobQueue(1, 0, 1, Metrics(), room)
    waited = []

    async def ask() -> None:
        with room.claim() as claim:
            waited.append((await work.run(lambda: claim.take(size(2)))).waited)

    async with anyio.create_task_group() as group:
        with room.claim() as first:
            first.take(size(4))
            group.start_soon(ask)
            await until_waiting(room, 1)
            since = anyio.current_time()
            await anyio.sleep(0.02)
            held = anyio.current_time() - since
    assert waited[0] >= held


async def test_who_gives_up_waiting_leaves_nothing_behind() -> None:
    room = MemoryBudget(8 * MEGABYTE, 8 * MEGABYTE)
    with room.claim() as first, room.claim() as second:
        first.take(size(8))
        with pytest.raises(Crowded):
            second.take(size(8))
        with anyio.move_on_after(0.01):
            await second.wait()
        assert not room.waiting
    assert room.taken == 0


# --- Sizes from shapes ------------------------------------------------------------------------------------


@pytest.fixture
async def tight(open_three: Open) -> AsyncIterator[AsyncClient]:
    """Nothing fits: each answer's size can be read from its refusal."""
    async with open_three(Settings(device="cpu", answer_limit=1024)) as client:
        yield client


WANTS: list[dict[str, Any]] = [
    {"want": ["*"]},
    {"want": ["*"], "dtype": "float16"},
    {"want": ["*"], "heads": [1]},
    {"want": ["*"], "layers": [1], "format": "npz"},
    {"want": ["*"], "pad": {"count": 3}, "describe": True},
    {"dtype": "uint8"},
]
LONG = "a text that is fifty bytes long, as many as it has."


@pytest.mark.parametrize("model", ["gpt", "classifier", "translator"])
@pytest.mark.parametrize("want", WANTS, ids=str)
async def test_a_traces_size_is_known_before(
    tight: AsyncClient, families: AsyncClient, model: str, want: dict[str, Any]
) -> None:
    request = {"model": model, "text": LONG} | want
    whole = await families.post("/api/trace", json=request)
    error = error_of(await tight.post("/api/trace", json=request), 422, "too_large")
    assert error["limit"] == 1024
    assert len(whole.content) <= error["got"] <= 1.3 * len(whole.content) + 100_000
    assert error["where"] == "want"
    assert "leave that out" in error["hint"]


async def test_predictions_count(tight: AsyncClient, families: AsyncClient) -> None:
    predict = {"positions": list(range(50)), "n": 257}
    request = {"model": "gpt", "text": LONG, "want": [], "predict": predict}
    whole = await families.post("/api/trace", json=request)
    error = error_of(await tight.post("/api/trace", json=request), 422, "too_large")
    assert len(whole.content) <= error["got"] <= 3 * len(whole.content)
    assert error["where"] == "predict"


EXPLAINED: list[tuple[str, dict[str, Any]]] = [
    ("lens", {"k": 100}),
    ("contributions", {}),
    ("writes", {"layer": 0, "head": 0, "k": 100}),
    ("gradients", {}),
    ("heads", {}),
    ("units", {"k": 22, "unit": 1, "layer": 0}),
    ("swap", {"i": 1, "j": 3}),
    ("residual", {}),
    ("route", {}),
]


@pytest.mark.parametrize("model", ["gpt", "classifier", "translator"])
@pytest.mark.parametrize(("name", "more"), EXPLAINED, ids=[name for name, _ in EXPLAINED])
async def test_an_explanation_is_never_larger_than_was_reserved(
    tight: AsyncClient, families: AsyncClient, model: str, name: str, more: dict[str, Any]
) -> None:
    request = {"model": model, "text": LONG, **more}
    if name == "units" and model == "translator":
        request["stack"] = "decoder"
    if name == "writes" and model == "translator":
        request["attention"] = "cross"
    whole = await families.post(f"/api/explain/{name}", json=request)
    assert whole.status_code == 200, whole.text
    error = error_of(await tight.post(f"/api/explain/{name}", json=request), 422, "too_large")
    assert len(whole.content) <= error["got"]
    if model == "gpt":  # the others explain fewer rows than they have
        assert error["got"] <= 10 * len(whole.content) + 100_000


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        ("/api/weights", {"want": ["*"]}),
        ("/api/explain/positions", {}),
        ("/api/tokenize", {"text": LONG * 20}),
        ("/api/tokenize", {"text": "\0" * 1000}),
        ("/api/tokenize", {"text": "🙂" * 100}),
        ("/api/explain/neighbours", {"token_id": 7, "k": 100}),
        ("/api/explain/parameters", {}),
        ("/api/translate", {"text": "\0" * 20, "beams": 16}),
        ("/api/generate", {"text": "\0" * 20, "n": 257, "max_new_tokens": 5}),
        ("/api/generate", {"text": "a", "n": 1, "max_new_tokens": 64}),
        ("/api/explain/effects", {"text": LONG, "n": 200}),
    ],
)
async def test_other_answers_sizes_are_known_before(
    tight: AsyncClient, families: AsyncClient, path: str, request_: dict[str, Any]
) -> None:
    whole = await families.post(path, json=request_)
    assert whole.status_code == 200, whole.text
    error = error_of(await tight.post(path, json=request_), 422, "too_large")
    is_stream = whole.headers["content-type"].startswith("text/event-stream")
    largest = max(map(len, whole.content.split(b"\n\n"))) if is_stream else len(whole.content)
    assert largest <= error["got"] <= 4 * largest + 150_000


async def test_memory_is_free_when_an_answer_is_sent_or_refused(families: AsyncClient) -> None:
    for request in ({"text": LONG}, {"text": ""}, {"text": LONG, "want": ["nothing"]}):
        await families.post("/api/trace", json=request)
    await families.post("/api/explain/lens", json={"text": LONG})
    assert (await metrics(families))[TAKEN] == 0
