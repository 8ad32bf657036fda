"""/api/explain/ablations: heads and FFNs switched off, each as a trace with the same intervention shows."""

from math import exp, log
from typing import Any

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app.services.library import Library
from chumoku.model.attribution import effects as measured
from tests.app.families import opened
from tests.app.helpers import decode, parse_events
from tests.app.test_effects import ASKED, Events, every_family


async def events(client: AsyncClient, **request: Any) -> Events:
    response = await client.post("/api/explain/ablations", json=request)
    assert response.status_code == 200, response.text
    return parse_events(response.text)


async def log_ps(client: AsyncClient, model: str, row: int, **request: Any) -> np.ndarray:
    """Log-probabilities of a trace, without PAD and START."""
    response = await client.post("/api/trace", json={"model": model, "want": ["logits"], **request})
    logits = decode(response.content)[0]["logits"].astype(float)
    rows = {"gpt": logits[..., :-1], "translator": logits[..., :-2], "classifier": logits}[model]
    chosen = rows if model == "classifier" else rows[row]
    shifted = chosen - chosen.max()
    return shifted - np.log(np.exp(shifted).sum())


@every_family
async def test_an_ablation_is_what_a_trace_without_the_head_shows(
    families: AsyncClient, three: Library, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every head of every attention, in several batches, on top of a head that is off already and of PADs."""
    monkeypatch.setattr(measured, "BATCH_BYTES", 40_000)
    off = {"kind": "ablate", "where": {"layer": 0, "head": 1}}
    run = ASKED[model] | {"pad": {"count": 2, "side": "left"}, "interventions": [off]}
    (_, start), *found, done = await events(families, model=model, **run)
    about = opened(three, model).description
    heads = [told for _, told in found if told["kind"] == "head"]
    assert done == ("done", {})
    assert start["parts"] == len(found) == len(heads) + sum(len(stack.ffns) for stack in about.stacks)
    assert {(told["attention"], told["layer"], told["head"]) for told in heads} == {
        (one.id, layer, head) for one in about.attentions for layer in range(one.n_layer) for head in range(one.n_head)
    }
    before = await log_ps(families, model, start["row"], **run)
    for told in heads:
        head = {"kind": "ablate", "where": {name: told[name] for name in ("attention", "layer", "head")}}
        after = await log_ps(families, model, start["row"], **run | {"interventions": [off, head]})
        answer = start["answer"]
        assert told["delta"] == pytest.approx(after[answer] - before[answer], abs=1e-4)
        assert told["kl"] == pytest.approx((np.exp(before) * (before - after)).sum(), abs=1e-4)
        assert told["p"] == pytest.approx(start["p"] * exp(told["delta"]), rel=1e-9)
    (again,) = [
        one for one in heads if one["attention"] == about.attentions[0].id and (one["layer"], one["head"]) == (0, 1)
    ]
    assert (again["delta"], again["kl"]) == (0.0, 0.0)


async def test_the_keys_of_a_row_are_its_edges(families: AsyncClient) -> None:
    """All open keys, with what /effects measures; a key of the future has no effect."""
    row = {"layer": 1, "query": 3, "head": 1}
    (_, start), *found, _ = await events(families, text="abcdef", keys_of=row)
    assert [told["key"] for _, told in found] == list(range(6))
    assert {(told["kind"], told["query"], told["head"]) for _, told in found} == {("edge", 3, 1)}
    edges = [row | {"key": key} for key in range(6)]
    response = await families.post("/api/explain/effects", json={"text": "abcdef", "edges": edges})
    told = [one["delta"] for name, one in parse_events(response.text) if name == "effect"]
    assert [one["delta"] for _, one in found] == pytest.approx(told, abs=1e-6)
    assert [one["kl"] for _, one in found][4:] == [0.0, 0.0]
    assert start["answer"] >= 0
    pattern = await traced(families, "abcdef", "layers.1.attn.pattern")
    assert [one["weight"] for _, one in found] == pytest.approx(pattern[1, 3].tolist(), abs=1e-6)
    assert {one["logit"] for _, one in found} == {None}, "the answer is not this row's"
    assert found[0][1]["length"] > 0


async def traced(client: AsyncClient, text: str, tap: str) -> np.ndarray:
    response = await client.post("/api/trace", json={"text": text, "want": [tap]})
    return decode(response.content)[0][tap]


async def test_what_the_keys_of_the_answering_row_add_is_their_heads_term(families: AsyncClient) -> None:
    """In one head, and in all heads of the layer: against the terms of the logit, key by key."""
    asked = {"text": "abcdef", "answer": 99, "against": "mean", "by_key": True}
    terms = (await families.post("/api/explain/contributions", json=asked)).json()["terms"]
    heads = [term for term in terms if term["layer"] == 1 and term["part"] == "head"]
    (_, _), *of_one, _ = await events(families, text="abcdef", answer=99, keys_of={"layer": 1, "query": 5, "head": 1})
    assert [told["logit"] for _, told in of_one] == pytest.approx(heads[1]["keys"], abs=1e-6)
    (_, _), *of_all, _ = await events(families, text="abcdef", answer=99, keys_of={"layer": 1, "query": 5})
    sums = [sum(keys) for keys in zip(*(term["keys"] for term in heads), strict=True)]
    assert [told["logit"] for _, told in of_all] == pytest.approx(sums, abs=1e-6)


async def test_the_chosen_class_is_measured(families: AsyncClient) -> None:
    (_, start), (_, told), *_ = await events(families, model="classifier", text="good film", answer=1)
    assert (start["answer"], start["tokens"]) == (1, {})
    assert log(told["p"]) - log(start["p"]) == pytest.approx(told["delta"], abs=1e-9)
