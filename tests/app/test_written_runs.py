"""Generated text keeps to its run: masks, PADs and interventions apply to each new token."""

from typing import Any

import pytest
from httpx import AsyncClient

from tests.app.helpers import parse_events, refused, trace

CUT = {"kind": "ablate", "where": {"layer": 0, "head": 1}}
FUTURE = {"kind": "mask", "where": {"layer": 1, "head": 0, "query": 9, "key": 2}, "allow": False}
AHEAD = {"kind": "mask", "where": {"layer": 0, "head": 0, "query": 1, "key": 9}, "allow": True}
RUNS: list[dict[str, Any]] = [
    {},
    {"interventions": [CUT, FUTURE]},
    {"interventions": [AHEAD]},
    {"masks": {"causal": False}},
    {"pad": {"count": 3}},
    {"pad": {"count": 2, "follow": False}, "masks": {"causal": False, "padding": False}, "interventions": [CUT]},
]


async def written(client: AsyncClient, **request: Any) -> list[dict[str, Any]]:
    """The `start` of a greedy generation, and its steps."""
    body = {"model": "gpt", "text": "attend", "temperature": 0, "max_new_tokens": 5} | request
    response = await client.post("/api/generate", json=body)
    assert response.status_code == 200, response.text
    return [data for name, data in parse_events(response.text) if name in ("start", "step")]


@pytest.mark.parametrize("run", RUNS)
async def test_each_prediction_is_that_of_a_trace_of_the_same_run(families: AsyncClient, run: dict[str, Any]) -> None:
    start, *steps = await written(families, **run)
    ids = [token["id"] for token in start["tokens"]]
    n_pad = run.get("pad", {}).get("count", 0)
    assert ids[:n_pad] == [257] * n_pad
    for event in (start, *steps):
        if "token" in event:
            ids.append(event["token"]["id"])
        position = len(ids) - 1
        asked = {"model": "gpt", "text": None, "token_ids": ids[n_pad:], "want": []} | run
        if position < 9:  # a trace of the tokens so far has no cells for later tokens
            asked["interventions"] = [one for one in run.get("interventions", []) if one not in (FUTURE, AHEAD)]
        _, meta = await trace(families, **asked, predict={"positions": [position], "temperature": 0})
        (expected,) = meta["predictions"]
        assert event["prediction"]["position"] == position
        found = {one["id"]: one["before"] for one in event["prediction"]["candidates"]}
        assert found == {one["id"]: pytest.approx(one["before"], abs=1e-5) for one in expected["candidates"]}


async def test_what_a_new_token_changes_is_computed_again(families: AsyncClient) -> None:
    _, *cached = await written(families)
    _, *anew = await written(families, masks={"causal": False})
    assert [step["cache"]["computed"] for step in cached] == [1] * 5
    assert [step["cache"]["computed"] for step in anew] == [7, 8, 9, 10, 11]
    assert {step["cache"]["bytes"] for step in anew} == {0}


async def test_a_generation_says_its_run(families: AsyncClient) -> None:
    start, *_ = await written(families, interventions=[CUT], pad={"count": 1})
    assert start["run"] == {
        "model": "gpt",
        "input": {"text": "attend"},
        "target": None,
        "target_ids": None,
        "masks": {"causal": True, "padding": True},
        "pad": {"count": 1, "side": "left", "follow": True},
        "interventions": [CUT | {"where": {"attention": "self", "layer": 0, "head": 1, "role": "z"}}],
    }
    text = start["run"].pop("input")["text"]
    again, *_ = await written(families, **start["run"] | {"text": text})
    assert again["prediction"] == start["prediction"]


async def test_pads_where_the_model_writes_are_refused(families: AsyncClient) -> None:
    request = {"model": "gpt", "text": "a", "pad": {"count": 1, "side": "right"}}
    error = await refused(families, "/api/generate", 422, "bad_pad", **request)
    assert error["where"] == "pad.side"
    start, *_ = await written(families, model="translator", pad={"count": 1, "side": "right"})
    assert start["tokens"][-1]["id"] == 257  # a source may be padded on either side


@pytest.mark.parametrize(
    "run",
    [
        {"interventions": [{"kind": "ablate", "where": {"attention": "cross", "layer": 1, "head": 2}}]},
        {"interventions": [{"kind": "ablate", "where": {"attention": "encoder", "layer": 0, "head": 0}}]},
        {"pad": {"count": 2}, "masks": {"padding": False}},
        {"masks": {"causal": False}},
    ],
)
async def test_a_search_keeps_to_its_run(families: AsyncClient, run: dict[str, Any]) -> None:
    """One beam writes what greedy steps write; without the settings of this run, its log p is another."""
    request = {"model": "translator", "text": "I like cats."} | run
    found = (await families.post("/api/translate", json=request | {"beams": 1})).json()
    assert found["run"]["pad"]["count"] == run.get("pad", {}).get("count", 0)
    (hypothesis,) = found["hypotheses"]
    _, *steps = await written(families, **request, max_new_tokens=len(hypothesis["tokens"]))
    assert [step["token"]["id"] for step in steps] == [token["id"] for token in hypothesis["tokens"]]
    without = {name: value for name, value in request.items() if name not in run}
    (other,) = (await families.post("/api/translate", json=without | {"beams": 1})).json()["hypotheses"]
    assert other["log_p"] != pytest.approx(hypothesis["log_p"], abs=1e-6)


async def test_a_search_has_no_target_given(families: AsyncClient) -> None:
    for field, given in (("target", "a"), ("target_ids", [97])):
        asked = {"model": "translator", "text": "a", field: given}
        error = await refused(families, "/api/translate", 422, "invalid_request", **asked)
        assert error["where"] == field
        assert "/api/generate" in error["message"]
