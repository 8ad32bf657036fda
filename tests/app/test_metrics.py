"""What /metrics counts on a real server; counting stops when the client disconnects."""

import re
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest
from httpx import AsyncClient

from chumoku.app.api import traces
from chumoku.app.services.generation import GenerationSession
from chumoku.app.settings import Settings
from tests.app.conftest import Open, Serve
from tests.app.helpers import TEXT, error_of, metrics

STEPS = 'chumoku_work_seconds_count{kind="step"}'


@pytest.fixture
async def client(open_app: Open) -> AsyncIterator[AsyncClient]:
    """Of an app whose metrics no other test changed."""
    async with open_app(Settings(device="cpu")) as client:
        yield client


def requests_of(seen: dict[str, float]) -> dict[tuple[str, str], float]:
    pattern = re.compile(r'chumoku_requests_total\{route="(.*)",status="(\d+)"\}')
    return {(hit[1], hit[2]): value for name, value in seen.items() if (hit := pattern.fullmatch(name))}


async def test_a_river_that_takes_long_leaves_a_thread_to_others(client: AsyncClient) -> None:
    """A model with weights for each feature multiplies d_model² for each pair of tokens, others n_head²."""
    short, long = "a little cat", 9 * "a little cat "
    for model, text in (("mini-wkv", short), ("mini-wkv", long), ("mini-softmax", long)):
        assert (await client.post("/api/explain/route", json={"model": model, "text": text})).status_code == 200
    seen = await metrics(client)
    kinds = {kind: seen[f'chumoku_work_seconds_count{{kind="{kind}"}}'] for kind in ("explain", "long")}
    assert kinds == {"explain": 2, "long": 1}


async def test_requests_and_work_are_counted(client: AsyncClient) -> None:
    before = await metrics(client)
    await client.post("/api/trace", json={"text": TEXT})
    await client.post("/api/trace", json={"text": ""})
    await client.post("/api/generate", json={"text": TEXT, "max_new_tokens": 3})
    await client.head("/healthz")
    await client.get("/static/theme.js")
    await client.get("/openapi.json")
    after = await metrics(client)
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert requests_of(grown) == {
        ("/api/trace", "200"): 1,
        ("/api/trace", "422"): 1,
        ("/api/generate", "200"): 1,
        ("/healthz", "200"): 1,
        ("/static", "200"): 1,
        ("/openapi.json", "200"): 1,
        ("/metrics", "200"): 1,
    }
    kinds = ("trace", "beginning", "prompt", "step")
    work = {kind: grown[f'chumoku_work_seconds_count{{kind="{kind}"}}'] for kind in kinds}
    assert work == {"trace": 1, "beginning": 1, "prompt": 1, "step": 3}  # the prompt is new: it begins, and is read
    assert grown['chumoku_work_seconds_sum{kind="trace"}'] > 0
    assert grown["chumoku_generated_tokens_total"] == 3
    assert after["chumoku_queue_taken"] == after["chumoku_queue_waiting"] == after["chumoku_streams_open"] == 0
    assert after["chumoku_queue_places"] == 322
    assert after["process_resident_memory_bytes"] > 0


async def test_the_lag_of_the_event_loop_is_seen(client: AsyncClient) -> None:
    async def lags(over: str) -> float:
        seen = await metrics(client)
        count, bucket = "chumoku_event_loop_lag_seconds_count", f'chumoku_event_loop_lag_seconds_bucket{{le="{over}"}}'
        return seen[count] - seen[bucket]

    before = await lags("0.1")
    with anyio.fail_after(60):
        while await lags("0.1") == before:
            time.sleep(0.25)  # holds the event loop
            await anyio.lowlevel.checkpoint()


async def test_labels_are_few_and_hold_no_text(client: AsyncClient) -> None:
    for n in range(20):
        await client.get(f"/secret-{n}")
        await client.get(f"/static/secret-{n}")
        await client.get("/", params={"text": f"secret-{n}"})
        await client.post("/api/trace", json={"text": f"secret {n}", "model": f"secret-{n}"})
        await client.request(f"SECRET{n}", "/api/trace")
    page = (await client.get("/metrics")).text
    assert "secret" not in page.lower()
    assert set(requests_of(await metrics(client))) == {
        ("unknown", "404"),
        ("/static", "404"),
        ("/", "200"),
        ("/api/trace", "404"),
        ("/api/trace", "405"),
        ("/metrics", "200"),
    }


async def test_two_apps_count_for_themselves(open_app: Open) -> None:
    async with open_app(Settings(device="cpu")) as one, open_app(Settings(device="cpu", queue=5)) as other:
        await one.post("/api/trace", json={"text": "a"})
        assert (await metrics(one))['chumoku_work_seconds_count{kind="trace"}'] == 1
        assert (await metrics(other))['chumoku_work_seconds_count{kind="trace"}'] == 0
        assert (await metrics(other))["chumoku_queue_places"] == 7


async def test_a_full_queue_refuses_politely(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over HTTP: one job runs, one waits, the others are refused with a time to retry, and then they are served."""
    release, really = threading.Event(), traces.answer
    texts = iter("abcdef")  # the same text would be computed once for all

    def held(*args: Any) -> Any:
        assert release.wait(60)
        return really(*args)

    monkeypatch.setattr(traces, "answer", held)
    answers: list[httpx.Response] = []
    with serve(Settings(device="cpu", model_threads=1, queue=1, streams=1)) as url:
        async with AsyncClient(base_url=url, timeout=60) as client:

            async def ask() -> None:
                answers.append(await client.post("/api/trace", json={"text": next(texts)}))

            async with anyio.create_task_group() as group:
                for _ in range(6):
                    group.start_soon(ask)
                with anyio.fail_after(60):
                    while len(answers) < 4:
                        await anyio.sleep(0.01)
                for response in answers:
                    assert error_of(response, 503, "full")["limit"] == 2
                    assert int(response.headers["retry-after"]) >= 1
                error_of(await client.post("/api/explain/units", json={"text": "a"}), 503, "full")
                busy = await metrics(client)
                assert (busy["chumoku_queue_taken"], busy["chumoku_queue_waiting"]) == (2, 1)
                assert busy['chumoku_refused_total{full="queue"}'] == 5
                release.set()
            assert [response.status_code for response in answers] == [503] * 4 + [200] * 2
            assert (await client.post("/api/trace", json={"text": "a"})).status_code == 200
            assert (await metrics(client))["chumoku_queue_taken"] == 0


@pytest.mark.parametrize("after", [0, 1, 3])
async def test_a_closed_tab_stops_its_generation_within_a_step(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """The step in progress when the tab closes is the last: a thread cannot be stopped, but no further step starts."""
    begun, really = [], GenerationSession.tell

    def slow(session: GenerationSession, *more: Any) -> Any:
        begun.append(session.n_new)
        time.sleep(0.1)
        return really(session, *more)

    monkeypatch.setattr(GenerationSession, "tell", slow)
    with serve(Settings(device="cpu", model_threads=1)) as url:
        async with AsyncClient(base_url=url, timeout=60) as client:
            got, at_most = await leave_after(client, after), len(begun) + 1
            with anyio.fail_after(60):
                while (await metrics(client))["chumoku_streams_open"]:
                    await anyio.sleep(0.005)
            seen = await metrics(client)
            assert got <= seen[STEPS] <= at_most
            assert seen["chumoku_generated_tokens_total"] <= at_most
            await anyio.sleep(0.3)
            assert (await metrics(client))[STEPS] == seen[STEPS]


async def leave_after(client: AsyncClient, steps: int) -> int:
    """Start a long generation, read its start and some steps, and close the connection; returns the steps read."""
    got = 0
    async with client.stream("POST", "/api/generate", json={"text": TEXT, "max_new_tokens": 200}) as response:
        lines = response.aiter_lines()
        async for line in lines:
            got += line == "event: step"
            if line.startswith("event: ") and got == steps:
                break
        await lines.aclose()  # type: ignore[attr-defined]
    return got


async def test_many_closed_tabs_leave_nothing_behind(serve: Serve) -> None:
    with serve(Settings(device="cpu", streams=8)) as url:
        async with AsyncClient(base_url=url, timeout=60) as client:
            for _ in range(2):
                async with anyio.create_task_group() as group:
                    for n in range(8):
                        group.start_soon(leave_after, client, n % 3)
            with anyio.fail_after(60):  # a request is counted after it has given back its stream and its place
                while ended(seen := await metrics(client)) < 16 or seen["chumoku_streams_open"]:
                    await anyio.sleep(0.01)
            assert (ended(seen), seen["chumoku_queue_taken"]) == (16, 0)


def ended(seen: dict[str, float]) -> float:
    """Generations that were answered or refused."""
    answered = seen.get('chumoku_requests_total{route="/api/generate",status="200"}', 0)
    return answered + seen['chumoku_refused_total{full="streams"}']
