"""The stream is what the model generates, and single steps give the same tokens as one long stream."""

import base64
import json
import time
from typing import Any

import anyio
import httpx
import numpy as np
import pytest
from fastapi import FastAPI
from httpx import AsyncClient

from chumoku.app.services.generation import GenerationSession
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.generate import generate
from chumoku.model.sampling import SamplingSettings
from tests.app.conftest import Open
from tests.app.helpers import TEXT, error_of, parse_events, refused

Events = list[tuple[str, dict[str, Any]]]


async def stream(client: AsyncClient, **request: Any) -> Events:
    response = await client.post("/api/generate", json={"text": TEXT} | request)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-store"
    return parse_events(response.text)


def steps(events: Events) -> list[dict[str, Any]]:
    return [data for name, data in events if name == "step"]


async def test_the_stream_is_the_models_generation(client: AsyncClient, gpt: Checkpoint) -> None:
    events = await stream(client, temperature=1.0, top_k=50, top_p=0.9, seed=11, max_new_tokens=6)
    assert [name for name, _ in events] == ["start", *["step"] * 6, "end"]
    ids = gpt.tokenizer.encode(TEXT)
    patterns = [f"layers.{layer}.attn.pattern" for layer in range(gpt.config.n_layer)]
    first, *expected = list(generate(gpt, ids, SamplingSettings(1.0, 50, 0.9, 11), 6, patterns))

    start = events[0][1]
    assert (start["model"], start["n_prompt"]) == ("stories-gpt", len(ids))
    assert [token["id"] for token in start["tokens"]] == ids
    assert start["prediction"]["position"] == len(ids) - 1
    assert start["prediction"]["entropy_bits"] == pytest.approx(first.next.entropy_bits)
    for step, data in zip(expected, steps(events), strict=True):
        newest, index = step.ids[-1], len(step.ids) - 1
        assert (data["index"], data["token"]["index"], data["token"]["id"]) == (index, index, newest)
        assert data["u"] == step.u
        assert step.drawn is not None
        assert data["before"] == pytest.approx(float(step.drawn.before[newest]))
        assert data["after"] == pytest.approx(float(step.drawn.after[newest]))
        assert data["after"] > 0
        assert data["prediction"]["position"] == index
        assert data["prediction"]["n_kept"] == step.next.n_kept
        cache = data["cache"]
        took = cache.pop("milliseconds")
        assert cache == {"positions": index + 1, "computed": 1, "bytes": step.cache_bytes, "together": 1}
        assert 0 < took < 1000 * data["seconds"]  # the rest is the draw and the event
        rows = np.stack([step.tensors[name][:, 0].numpy() for name in patterns])
        np.testing.assert_array_equal(read_rows(data), np.round(255 * rows).astype(np.uint8))
    assert events[-1][1] == {"reason": "max_new_tokens", "n_new": 6}


def read_rows(step: dict[str, Any]) -> np.ndarray:
    rows = step["rows"]["self"]
    assert rows["dtype"] == "uint8"
    assert rows["shape"] == [6, 8, step["index"] + 1]
    return np.frombuffer(base64.b64decode(rows["data"]), np.uint8).reshape(rows["shape"])


async def test_stepping_is_playing(client: AsyncClient, gpt: Checkpoint) -> None:
    played = steps(await stream(client, seed=3, max_new_tokens=5))
    ids = gpt.tokenizer.encode(TEXT)
    for data in played:
        (step,) = steps(await stream(client, text=None, token_ids=ids, seed=3, max_new_tokens=1))
        assert (step["token"]["id"], step["u"]) == (data["token"]["id"], data["u"])
        assert step["before"] == pytest.approx(data["before"], rel=1e-4)
        assert step["after"] == pytest.approx(data["after"], rel=1e-4)
        assert np.abs(read_rows(step).astype(int) - read_rows(data)).max() <= 1
        ids.append(step["token"]["id"])


async def test_without_a_cache_every_token_is_read_again(client: AsyncClient, gpt: Checkpoint) -> None:
    n = len(gpt.tokenizer.encode(TEXT))
    asked: dict[str, Any] = {"seed": 5, "max_new_tokens": 4}
    with_cache = await stream(client, **asked)
    without = await stream(client, **asked, cache=False)
    for one, other in zip(steps(with_cache), steps(without), strict=True):
        assert (one["token"]["id"], one["u"]) == (other["token"]["id"], other["u"])
        assert one["before"] == pytest.approx(other["before"], rel=1e-4)
        assert np.abs(read_rows(one).astype(int) - read_rows(other)).max() <= 1
    assert [step["cache"]["computed"] for step in steps(without)] == [n + 1, n + 2, n + 3, n + 4]
    assert {step["cache"]["bytes"] for step in steps(without)} == {0}
    # What an earlier generation has read is read again, too.
    reused = [(start["cache"]["reused"], start["cache"]["computed"]) for _, start in (with_cache[0], without[0])]
    assert reused[1] == (0, n)
    assert sum(reused[0]) == n


async def test_the_start_says_what_an_earlier_request_had_read(client: AsyncClient, gpt: Checkpoint) -> None:
    ids = [*gpt.tokenizer.encode("A bird sat on a wall and"), 300]
    first, again, longer = [
        (await stream(client, text=None, token_ids=text, max_new_tokens=1, seed=3, rows=False))[0][1]["cache"]
        for text in (ids, ids, [*ids, 301])
    ]
    assert (first["reused"], first["computed"]) == (0, len(ids))
    assert (again["reused"], again["computed"]) == (len(ids), 0)
    assert (longer["reused"], longer["computed"]) == (len(ids), 1)


async def test_rows_can_be_left_out(client: AsyncClient) -> None:
    (step,) = steps(await stream(client, max_new_tokens=1, rows=False, n=3))
    assert step["rows"] is None
    assert len(step["prediction"]["candidates"]) == 3


async def test_the_window_fills(client: AsyncClient, gpt: Checkpoint) -> None:
    ids = (gpt.tokenizer.encode(TEXT) * 40)[: gpt.config.max_seq_len]
    events = await stream(client, text=None, token_ids=ids[:-2], max_new_tokens=9, rows=False)
    assert events[-1][1] == {"reason": "window_full", "n_new": 2}
    events = await stream(client, text=None, token_ids=ids, max_new_tokens=9)
    assert [name for name, _ in events] == ["start", "end"]
    assert events[-1][1] == {"reason": "window_full", "n_new": 0}


async def test_an_end_ends(client: AsyncClient, gpt: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chumoku.model.generate.draw", lambda dist, u: gpt.tokenizer.end_id)
    events = await stream(client, max_new_tokens=9)
    assert events[-1][1] == {"reason": "end_of_text", "n_new": 1}
    assert steps(events)[0]["token"]["special"]


async def test_a_failure_under_way_is_an_event(client: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(GenerationSession, "tell", fail)
    events = await stream(client)
    assert [name for name, _ in events] == ["start", "error"]
    assert events[-1][1]["error"]["code"] == "internal"
    assert "secret" not in str(events)


async def test_whatever_ends_an_answer_gives_back_what_it_held(app_of_three: FastAPI, families: AsyncClient) -> None:
    """Its place, its memory and its model. A step after a prompt that is known is sent at once, not as a stream."""
    state = app_of_three.state.chumoku
    work, entry = state.work, state.library.find("gpt")
    for path, n, at_once in (("", 1, False), ("", 1, True), ("", 3, False), ("/ways", 3, False), ("", 10**6, True)):
        body = {"model": "gpt", "text": "attend", "n": 1, "max_new_tokens": n}
        answer = await families.post(f"/api/generate{path}", json=body)
        assert answer.status_code == (422 if n == 10**6 else 200)
        assert ("content-length" in answer.headers) == at_once
        assert (work.streaming, work.budget.taken, entry.users) == (0, 0, 0)


async def test_too_many_streams(open_app: Open) -> None:
    async with open_app(Settings(streams=1)) as client:
        answers = []

        async def ask() -> None:
            answers.append(await client.post("/api/generate", json={"text": TEXT, "max_new_tokens": 20}))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
        refused, served = sorted(answers, key=lambda answer: answer.status_code, reverse=True)
        error_of(refused, 503, "full")
        assert refused.headers["retry-after"] == "1"
        assert parse_events(served.text)[-1][0] == "end"
        assert len(await stream(client, max_new_tokens=1)) == 3  # the slot is free again


async def test_leaving_stops_the_work(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real connection: events arrive one by one, and closing the connection stops the model."""
    made, really = [], GenerationSession.tell

    def slow(session: GenerationSession, *more: Any) -> Any:
        made.append(time.perf_counter())
        time.sleep(0.02)
        return really(session, *more)

    monkeypatch.setattr(GenerationSession, "tell", slow)
    async with httpx.AsyncClient(base_url=server_url) as client:
        async with client.stream("POST", "/api/generate", json={"text": TEXT, "max_new_tokens": 200}) as response:
            lines = response.aiter_lines()
            async for line in lines:
                if line == "event: step":
                    break
            assert len(made) < 200  # the first step arrives before the last is computed
            await lines.aclose()  # type: ignore[attr-defined]
        with anyio.fail_after(60):
            while (await client.get("/readyz")).json()["streams"]:
                await anyio.sleep(0.01)
    count = len(made)
    assert count < 200
    await anyio.sleep(0.1)
    assert len(made) == count


async def test_an_answer_begins_as_it_is_told_to(client: AsyncClient, gpt: Checkpoint) -> None:
    begin = gpt.tokenizer.encode(" in a small green house")
    asked = {"begin": " in a small green house", "seed": 3, "rows": False}
    whole = steps(await stream(client, max_new_tokens=len(begin) + 3, **asked))
    assert [step["token"]["id"] for step in whole[: len(begin)]] == begin
    assert [step["u"] is None for step in whole] == [True] * len(begin) + [False] * 3
    assert all(0 < step["before"] < 1 for step in whole)

    ids = gpt.tokenizer.encode(TEXT)
    for n, data in enumerate(whole):  # one request a token
        one = {"text": None, "token_ids": ids, "n_written": n, "max_new_tokens": 1}
        (step,) = steps(await stream(client, **asked, **one))
        assert (step["token"]["id"], step["u"]) == (data["token"]["id"], data["u"])
        ids.append(step["token"]["id"])
    other = [*gpt.tokenizer.encode(TEXT), begin[0] + 1]  # the reader took another token
    (step,) = steps(await stream(client, text=None, token_ids=other, n_written=1, max_new_tokens=1, **asked))
    assert step["u"] is not None


async def test_a_stop_text_ends_the_answer_in_whichever_token_completes_it(client: AsyncClient) -> None:
    free = [step["token"]["text"] for step in steps(await stream(client, temperature=0, max_new_tokens=30))]
    text = "".join(free)
    across = "".join(free[4:6])[1:-1]  # begins in one token and ends within the next
    for stop in (["."], ["no such text", "!", "."], [across]):
        events = await stream(client, temperature=0, max_new_tokens=30, stop=stop)
        written = "".join(step["token"]["text"] for step in steps(events))
        ends = min(text.index(one) + len(one) for one in stop if one in text)
        assert events[-1][1]["reason"] == "stop"
        assert len(written) >= ends > len(written) - len(steps(events)[-1]["token"]["text"])
        assert text.startswith(written)


async def test_what_is_banned_is_not_written(client: AsyncClient, gpt: Checkpoint) -> None:
    free = steps(await stream(client, temperature=0, max_new_tokens=1))[0]["token"]
    first = free["text"].strip()
    (step,) = steps(await stream(client, temperature=0, max_new_tokens=1, banned=[first]))
    assert step["token"]["id"] != free["id"]
    start = (await stream(client, temperature=1, top_k=0, top_p=1, max_new_tokens=1, banned=[first], n=500))[0][1]
    found = {one["id"]: one for one in start["prediction"]["candidates"]}
    assert (found[free["id"]]["cut"], found[free["id"]]["after"]) == ("banned", 0)
    cut = sum(one["before"] for one in found.values() if one["cut"] == "banned")  # also without the space before it
    assert cut == pytest.approx(start["prediction"]["masses_cut"]["banned"])
    assert start["prediction"]["settings"]["banned"] == [first]

    begun = gpt.tokenizer.encode(" small green house")  # only its last token, and only after the others
    for given, cut in ((" a small green", "banned"), (" a big green", None)):
        data = (await stream(client, text=given, banned=["small green house"], n=500, max_new_tokens=1))[0][1]
        (one,) = [one for one in data["prediction"]["candidates"] if one["id"] == begun[-1]]
        assert (one["cut"] == "banned") == (cut == "banned")


@pytest.mark.parametrize("wrong", [{"banned": [""]}, {"stop": ["x" * 101]}, {"begin": "x" * 1001}, {"n_written": -1}])
async def test_texts_out_of_range_are_refused(client: AsyncClient, wrong: dict[str, Any]) -> None:
    await refused(client, "/api/generate", 422, "invalid_request", text=TEXT, **wrong)


async def test_a_text_that_no_token_spells_is_refused(client: AsyncClient) -> None:
    for wrong in ({"banned": ["\ud800"]}, {"begin": "\ud800"}):
        body = json.dumps({"text": TEXT, **wrong})  # which httpx itself would not send
        answer = await client.post("/api/generate", content=body, headers={"content-type": "application/json"})
        error_of(answer, 422, "invalid_text")
