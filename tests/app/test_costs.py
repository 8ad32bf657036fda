"""/api/explain/cost and /timings: what attention costs, by formula and on this machine."""

import anyio
import httpx
import pytest
from httpx import AsyncClient

from chumoku.model.explain import timings
from chumoku.model.explain.timings import Timing, Timings
from chumoku.model.mechanisms import MECHANISMS
from tests.app.helpers import error_of, parse_events

OURS = [name for name in MECHANISMS if name not in ("gated-mean", "hidden-mean")]
"""Without the toys of other tests."""


async def test_every_mechanism_says_what_it_costs(families: AsyncClient) -> None:
    answer = (await families.post("/api/explain/cost", json={"model": "translator"})).json()
    assert answer["own"] == "softmax"
    assert [form["name"] for form in answer["forms"]] == OURS
    symbols = {"T", "2T−1", "near", *answer["sizes"]}
    for form in answer["forms"]:
        for term in [*form["multiplications"], *form["numbers"], *form["skewed"], *form["naive"]]:
            assert all(factor.isdigit() or factor in symbols for factor in term["of"])
    assert [form["name"] for form in answer["forms"] if form["naive"]] == ["relative"]
    model = (await families.get("/api/models/translator")).json()
    assert (answer["sizes"]["d"], answer["sizes"]["h"]) == (model["d_model"], model["n_head"])


async def test_measurements_come_one_by_one(families: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timings, "LENGTHS", (8, 16))
    response = await families.post("/api/explain/timings", json={"model": "gpt"})
    assert response.headers["content-type"].startswith("text/event-stream")
    (first, start), *points, (last, _) = parse_events(response.text)
    assert (first, last) == ("start", "done")
    assert {name for name, _ in points} == {"point"}
    assert set(start["forms"]) == {*OURS, "sdpa"} - {"rotary"}, "a head of 5 has no pairs"
    assert [(p["form"], p["n"]) for _, p in points] == [(form, n) for n in (8, 16) for form in start["forms"]]
    assert all(p["seconds"] > 0 and p["why"] is None for _, p in points)


async def test_an_unknown_model_is_refused_before_the_stream(families: AsyncClient) -> None:
    response = await families.post("/api/explain/timings", json={"model": "nope"})
    error_of(response, 404, "unknown_model")


async def test_leaving_stops_the_measurement(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, really = [], Timings.step

    def counted(measured: Timings) -> Timing | None:
        made.append(1)
        return really(measured)

    monkeypatch.setattr(Timings, "step", counted)
    monkeypatch.setattr(timings, "LENGTHS", (256,) * 100)
    async with httpx.AsyncClient(base_url=server_url, timeout=60) as client:
        async with client.stream("POST", "/api/explain/timings", json={}) as response:
            lines = response.aiter_lines()
            async for line in lines:
                if line == "event: point":
                    break
            await lines.aclose()  # type: ignore[attr-defined]
        with anyio.fail_after(60):
            while (await client.get("/readyz")).json()["streams"]:
                await anyio.sleep(0.01)
    assert 0 < len(made) < 100
