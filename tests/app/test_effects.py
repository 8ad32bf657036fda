"""/api/explain/effects: cuts as events, each of which a trace with the same intervention shows."""

import threading
from math import exp, log
from typing import Any

import anyio
import httpx
import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app.services.explain.answers import EffectsSession
from chumoku.app.services.library import Library
from chumoku.app.settings import Settings
from chumoku.model.attribution import effects as measured
from chumoku.model.attribution.rollout import widest
from chumoku.model.explain.anatomy import Options
from tests.app.conftest import Open
from tests.app.families import opened
from tests.app.helpers import decode, error_of, parse_events
from tests.shortcuts import route

ASKED: dict[str, dict[str, Any]] = {
    "gpt": {"text": "abcdef"},
    "classifier": {"text": "good film"},
    "translator": {"text": "abcdef", "target": "xyz"},
}
Events = list[tuple[str, dict[str, Any]]]
every_family = pytest.mark.parametrize("model", ASKED)


async def events(client: AsyncClient, **request: Any) -> Events:
    response = await client.post("/api/explain/effects", json=request)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    return parse_events(response.text)


async def probability(client: AsyncClient, model: str, row: int, answer: int, **request: Any) -> float:
    """p(answer) of a trace, without PAD and START."""
    response = await client.post("/api/trace", json={"model": model, "want": ["logits"], **request})
    logits = decode(response.content)[0]["logits"].astype(float)
    rows = {"gpt": logits[..., :-1], "translator": logits[..., :-2], "classifier": logits}[model]
    chosen = rows if model == "classifier" else rows[row]
    return float((np.exp(chosen - chosen.max()) / np.exp(chosen - chosen.max()).sum())[answer])


@every_family
async def test_an_effect_is_what_a_trace_with_this_cut_shows(families: AsyncClient, model: str) -> None:
    pad = {"pad": {"count": 2, "side": "left"}, "interventions": [{"kind": "ablate", "where": {"layer": 0, "head": 1}}]}
    run = ASKED[model] | pad
    (_, start), *cuts, (done, nothing) = await events(families, model=model, n=6, **run)
    assert (done, nothing) == ("done", {})
    assert start["edges"] == len(cuts) == 6
    at = {"row": start["row"], "answer": start["answer"]}
    assert start["p"] == pytest.approx(await probability(families, model, **at, **run), abs=1e-5)
    for name, told in cuts:
        assert name == "effect"
        where = {name: told[name] for name in ("attention", "layer", "query", "key")}
        cut = {"kind": "mask", "where": where, "allow": False}
        p = await probability(families, model, **at, **run | {"interventions": [*pad["interventions"], cut]})
        assert told["p"] == pytest.approx(p, abs=1e-5)
        assert told["delta"] == pytest.approx(log(p) - log(start["p"]), abs=1e-4)
        assert told["p"] == pytest.approx(start["p"] * exp(told["delta"]), rel=1e-9)


@every_family
async def test_the_widest_come_first_however_they_are_batched(
    families: AsyncClient, three: Library, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "BATCH_BYTES", 1)
    checkpoint = opened(three, model)
    options: Options = {"target": list(b"xyz")} if model == "translator" else {}
    (_, start), *cuts, _ = await events(families, model=model, n=9, **ASKED[model])
    text = ASKED[model]["text"]
    rivers = route(checkpoint, checkpoint.tokenizer.encode(text), **options)
    told = [tuple(cut[name] for name in ("attention", "layer", "query", "key")) for _, cut in cuts]
    assert told == [tuple(edge.where.values()) for edge in widest(rivers, start["row"], 9)]


async def test_named_edges_are_measured_in_their_order_once(families: AsyncClient) -> None:
    """The only key of a query cannot be cut; a cell of the future is forbidden already."""
    cells = [(0, 3, 1), (1, 2, 2), (0, 0, 0), (0, 3, 1), (1, 2, 4)]
    edges = [{"layer": layer, "query": query, "key": key} for layer, query, key in cells]
    (_, start), *cuts, _ = await events(families, text="abcdef", edges=edges, row=4, answer=7)
    assert (start["row"], start["answer"], start["edges"]) == (4, 7, 3)
    assert [(cut["layer"], cut["query"], cut["key"]) for _, cut in cuts] == [(0, 3, 1), (1, 2, 2), (1, 2, 4)]
    assert (cuts[-1][1]["delta"], cuts[-1][1]["p"]) == (0.0, pytest.approx(start["p"]))
    assert list(start["tokens"]) == ["7"]


async def test_one_token_has_no_line_to_cut(families: AsyncClient) -> None:
    (_, start), (name, _) = await events(families, text="a")
    assert (start["edges"], name) == (0, "done")


async def test_a_full_house_is_503(open_three: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement holds a place among the streams."""
    let_go, really = threading.Event(), EffectsSession.step

    def waits(session: EffectsSession) -> Any:
        let_go.wait(timeout=60)
        return really(session)

    monkeypatch.setattr(EffectsSession, "step", waits)
    async with open_three(Settings(streams=1)) as client:
        answers: list[httpx.Response] = []

        async def ask() -> None:
            answers.append(await client.post("/api/explain/effects", json={"text": "abc"}))
            let_go.set()

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
        refused, served = sorted(answers, key=lambda answer: answer.status_code, reverse=True)
        error_of(refused, 503, "full")
        assert parse_events(served.text)[-1][0] == "done"


async def test_leaving_stops_the_work(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real connection: effects come batch by batch, and closing it stops the model."""
    made, really = [], EffectsSession.step

    def counted(session: EffectsSession) -> Any:
        made.append(1)
        return really(session)

    monkeypatch.setattr(EffectsSession, "step", counted)
    monkeypatch.setattr(measured, "BATCH_BYTES", 1)
    request = {"text": "Once upon a time there was a little dog. " * 3, "n": 256}
    async with httpx.AsyncClient(base_url=server_url, timeout=60) as client:
        async with client.stream("POST", "/api/explain/effects", json=request) as response:
            lines = response.aiter_lines()
            async for line in lines:
                if line == "event: effect":
                    break
            await lines.aclose()  # type: ignore[attr-defined]
        with anyio.fail_after(60):
            while (await client.get("/readyz")).json()["streams"]:
                await anyio.sleep(0.01)
    assert 0 < len(made) < 256


async def test_a_failure_in_the_middle_is_the_last_event(
    families: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: EffectsSession) -> Any:
        raise RuntimeError("a secret")

    monkeypatch.setattr(EffectsSession, "step", fails)
    *_, (name, told) = await events(families, text="abc")
    assert (name, told["error"]["code"]) == ("error", "internal")
    assert "secret" not in str(told)
