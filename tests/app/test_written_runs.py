"""Generated text keeps to its run: masks, PADs and interventions apply to each new token."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from httpx import AsyncClient

from chumoku.app.main import create_app
from chumoku.app.services import library
from chumoku.app.settings import Settings
from chumoku.model.traceable import ZooModel
from tests.app.conftest import client_of
from tests.app.helpers import parse_events, refused, trace
from tests.model.helpers import tiny_checkpoint

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


async def check_steps(client: AsyncClient, model: str, **run: Any) -> list[dict[str, float]]:
    """Each prediction of a generation is that of a trace of the same run, on what is written so far. Returns them."""
    start, *steps = await written(client, model=model, **run)
    begun = [token["id"] for token in start["tokens"]]
    ids, found = list[int](), []
    for event in (start, *steps):
        ids += [event["token"]["id"]] if "token" in event else []
        so_far = {"target_ids": ids} if model == "translator" else {"text": None, "token_ids": begun + ids}
        at = {"positions": [event["prediction"]["position"]], "temperature": 0}
        _, meta = await trace(client, **run | {"model": model, "want": [], "predict": at} | so_far)
        (expected,) = meta["predictions"]
        p = {one["id"]: one["before"] for one in event["prediction"]["candidates"]}
        assert p == {one["id"]: pytest.approx(one["before"], abs=1e-5) for one in expected["candidates"]}
        found.append(p)
    return found


@pytest.fixture
async def turned() -> AsyncIterator[AsyncClient]:
    """Models whose keys are more than k: turned, or added up."""
    shape = {"d_model": 18, "max_seq_len": 64, "position": "none", "reach": 3, "rank": 2}
    models = [
        replace(tiny_checkpoint("decoder-only", mechanism="rotary", **shape), name="rotary"),
        replace(tiny_checkpoint("decoder-only", mechanism="aft-conv", **shape), name="aft-conv"),
        replace(tiny_checkpoint("encoder-decoder", mechanism="rotary", **shape), name="translator"),
    ]
    traceables = [ZooModel(replace(model, card={"languages": ["en"]})) for model in models]
    async with client_of(create_app(Settings(device="cpu"), library.of(traceables, "rotary"))) as client:
        yield client


@pytest.mark.parametrize(
    ("model", "where"),
    [
        ("rotary", {"role": "k_rotated", "key": 2}),
        ("rotary", {"role": "k_rotated", "key": 2, "head": 1}),
        ("rotary", {"role": "k", "key": 4}),
        ("rotary", {"role": "v", "key": 0}),
        ("rotary", {"role": "q_rotated", "query": 5}),
        ("aft-conv", {"role": "k", "key": 5}),
        ("aft-conv", {"role": "denominator", "query": 5, "head": 2}),
        ("aft-conv", {"role": "denominator", "query": 5}),
        ("translator", {"attention": "cross", "role": "k_rotated", "key": 5}),  # there are fewer queries
        ("translator", {"attention": "cross", "role": "v"}),
        ("translator", {"attention": "decoder", "role": "k_rotated", "key": 0}),
        ("translator", {"attention": "encoder", "role": "k_rotated", "key": 3}),
    ],
)
async def test_a_patch_holds_for_every_step(turned: AsyncClient, model: str, where: dict[str, Any]) -> None:
    patch = {"kind": "patch", "where": {"layer": 1} | where, "from": {"text": "detect"}}
    patched = await check_steps(turned, model, text="attend", interventions=[patch])
    assert patched[0] != await check_steps(turned, model, text="attend")


@pytest.mark.parametrize(
    ("model", "attention"), [("rotary", "self"), ("translator", "decoder"), ("translator", "cross")]
)
async def test_a_patch_and_an_ablation_of_one_tap_apply_in_order(
    turned: AsyncClient, model: str, attention: str
) -> None:
    """The later of the two decides: an ablation takes the patch away, a patch brings a row back."""
    where = {"attention": attention, "layer": 0, "role": "z", "head": 1}
    patch = {"kind": "patch", "where": where | {"query": 0}, "from": {"text": "detect"}}
    ablate = {"kind": "ablate", "where": where}
    first, last, alone = [
        await check_steps(turned, model, text="attend", interventions=both)
        for both in ([patch, ablate], [ablate, patch], [ablate])
    ]
    assert first == alone
    assert first != last


@pytest.mark.parametrize("attention", ["decoder", "cross"])
async def test_a_search_applies_a_patch_and_an_ablation_in_order(turned: AsyncClient, attention: str) -> None:
    """The log p of what one beam finds is the sum over its tokens in a trace of the same run."""
    where = {"attention": attention, "layer": 0, "role": "z", "head": 1}
    patch = {"kind": "patch", "where": where | {"query": 0}, "from": {"text": "detect"}}
    ablate = {"kind": "ablate", "where": where}
    found = []
    for both in ([patch, ablate], [ablate, patch]):
        run = {"model": "translator", "text": "attend", "interventions": both}
        (hypothesis,) = (await turned.post("/api/translate", json=run | {"beams": 1})).json()["hypotheses"]
        ids = [token["id"] for token in hypothesis["tokens"]]
        tensors, meta = await trace(turned, **run, target_ids=ids, want=["logits"])
        logits = torch.from_numpy(tensors["logits"]).double()
        logits[:, meta["never_sampled"]] = -torch.inf
        log_p = logits.log_softmax(-1)[range(len(ids)), ids].sum()
        assert hypothesis["log_p"] == pytest.approx(float(log_p), rel=1e-5)
        found.append(hypothesis["log_p"])
    assert found[0] != pytest.approx(found[1], abs=1e-6)


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
