"""/api/explain/forcing, prefix and dropout return what `model/explain` computes, and refuse what does not exist."""

from dataclasses import replace
from typing import Any

import pytest
from httpx import AsyncClient
from pydantic import BaseModel

from chumoku.app.api.explain import layer_answers
from chumoku.app.main import create_app
from chumoku.app.services import library
from chumoku.app.settings import Settings
from chumoku.model.explain.teacher_forcing import forced, prefix, with_dropout
from chumoku.model.traceable import ZooModel
from tests.app.conftest import client_of
from tests.app.helpers import refused
from tests.app.test_explain import agree
from tests.model.helpers import tiny_checkpoint

DROPS = replace(tiny_checkpoint(max_seq_len=32, dropout=0.25), name="drops")
TEXT, IDS = "abcabd", list(b"abcabd")


async def ask(client: AsyncClient, route: str, **request: Any) -> dict[str, Any]:
    response = await client.post(f"/api/explain/{route}", json=request)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    described: type[BaseModel] = vars(layer_answers)[f"{route.title()}Response"]
    assert described.model_validate(answer).model_dump() == answer
    return answer


async def test_forcing(families: AsyncClient) -> None:
    answer = await ask(families, "forcing", model="gpt", text=TEXT)
    assert answer["labels"] == IDS[1:]
    assert answer["mean"] == pytest.approx(sum(answer["nats"]) / 5)
    assert set(answer["tokens"]) == {str(i) for i in [*answer["labels"], *answer["first"]]}
    written = await ask(families, "forcing", model="translator", text=TEXT, target="xy")
    assert written["labels"] == list(b"xy")


async def test_prefix(families: AsyncClient) -> None:
    answer = await ask(families, "prefix", model="gpt", text=TEXT, row=2)
    assert (answer["row"], len(answer["top"]) >= 5) == (2, True)
    assert max(answer["logits"], *answer["stream"]) < 1e-4
    unmasked = await ask(families, "prefix", model="gpt", text=TEXT, row=2, masks={"causal": False})
    assert unmasked["logits"] > 1e-2
    assert max((await ask(families, "prefix", model="translator", text=TEXT, target="xyz", row=1))["stream"]) < 1e-4


async def test_dropout() -> None:
    models = library.of([ZooModel(DROPS)], "drops")
    async with client_of(create_app(Settings(device="cpu"), models)) as client:
        answer = await ask(client, "dropout", text=TEXT, seed=4, n=2)
        alone = await ask(client, "forcing", text=TEXT)
        assert answer["p"] == 0.25
        assert {name: answer["without"][name] for name in ("nats", "mean")} == {k: alone[k] for k in ("nats", "mean")}
        assert [run["seed"] for run in answer["runs"]] == [4, 5]
        for run in answer["runs"]:
            agree(run["nats"], with_dropout(DROPS, IDS, run["seed"], 0.25).losses.nats)
        assert (await client.get("/api/models/drops")).json()["dropout"] == 0.25
    agree(alone["nats"], forced(DROPS, IDS).nats)
    assert prefix(DROPS, IDS, 0).row == 0


async def test_what_there_is_not_is_refused(families: AsyncClient) -> None:
    for route in ("forcing", "prefix", "dropout"):
        error = await refused(families, f"/api/explain/{route}", 422, "cannot", model="classifier", text=TEXT)
        assert "predicts a class" in error["message"]
    error = await refused(families, "/api/explain/dropout", 422, "cannot", model="gpt", text=TEXT)
    assert "trained without dropout" in error["message"]
    error = await refused(families, "/api/explain/prefix", 422, "bad_position", model="gpt", text=TEXT, row=6)
    assert (error["where"], error["limit"]) == ("row", 5)
    await refused(families, "/api/explain/prefix", 422, "bad_pad", model="gpt", text=TEXT, pad={"count": 1})
    late = [{"kind": "mask", "where": {"layer": 0, "query": 4, "key": 1}, "allow": False}]
    asked = {"model": "gpt", "text": TEXT, "interventions": late}
    await refused(families, "/api/explain/prefix", 422, "bad_position", row=2, **asked)
    assert (await ask(families, "prefix", row=4, **asked))["logits"] < 1e-4
