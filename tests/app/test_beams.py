"""Beam search over HTTP: the model's own search, with what each step considered, for texts and for targets."""

from typing import Any

import pytest
from httpx import AsyncClient

from chumoku.model.beams import TextSearch
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.session import DecoderSession
from chumoku.model.translate import LONGER
from tests.app.families import SOURCE
from tests.app.helpers import TEXT, refused


async def searched(client: AsyncClient, **request: Any) -> dict[str, Any]:
    response = await client.post("/api/beams", json={"text": TEXT} | request)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_an_answer_is_the_models_search(client: AsyncClient, gpt: Checkpoint) -> None:
    answer = await searched(client, beams=3, alpha=1, max_new_tokens=5)
    ids, tokenizer = gpt.tokenizer.encode(TEXT), gpt.tokenizer
    own = TextSearch(
        lambda: DecoderSession(gpt, Run(ids)), tokenizer.end_id, tokenizer.never_sampled, max_new=5, beams=3, alpha=1
    )
    while own.open:
        own.step()
    assert [token["id"] for token in answer["tokens"]] == ids
    assert (answer["n_prompt"], answer["beams"], answer["alpha"]) == (len(ids), 3, 1)
    for found, hypothesis in zip(answer["hypotheses"], own.best, strict=True):
        assert [token["id"] for token in found["tokens"]] == hypothesis.ids
        assert found["text"] == tokenizer.decode([i for i in hypothesis.ids if i != tokenizer.end_id])
        assert (found["log_p"], found["score"]) == pytest.approx((hypothesis.log_p, hypothesis.score))
    for step, considered in zip(answer["steps"], own.considered, strict=True):
        assert [(one["parent"], one["token"]["id"], one["fate"]) for one in step] == [
            (one.parent, one.id, one.fate) for one in considered
        ]
        assert [one["log_p"] for one in step] == pytest.approx([one.log_p for one in considered])


@pytest.mark.parametrize("limits", [{}, {"banned": ["a"], "stop": ["e"]}], ids=["free", "limited"])
async def test_a_translation_is_that_of_its_own_route(families: AsyncClient, limits: dict[str, Any]) -> None:
    asked = {"model": "translator", "text": SOURCE, "beams": 3} | limits
    own = (await families.post("/api/translate", json=asked)).json()
    found = await searched(families, max_new_tokens=len(own["tokens"]) + LONGER, **asked)
    assert [one["text"] for one in found["hypotheses"]] == [one["text"] for one in own["hypotheses"]]
    assert [one["score"] for one in found["hypotheses"]] == pytest.approx([one["score"] for one in own["hypotheses"]])


async def test_banned_texts_are_in_no_beam(client: AsyncClient) -> None:
    first = (await searched(client, max_new_tokens=1))["hypotheses"][0]["text"].strip()
    found = await searched(client, max_new_tokens=4, beams=8, banned=[first])
    assert all(first != token["text"].strip() for one in found["hypotheses"] for token in one["tokens"])


async def test_what_cannot_be_searched_is_refused(client: AsyncClient, families: AsyncClient, gpt: Checkpoint) -> None:
    full = [0] * gpt.config.max_seq_len
    error = await refused(client, "/api/beams", 422, "too_long", token_ids=full)
    assert error["limit"] == gpt.config.max_seq_len - 1
    await refused(client, "/api/beams", 422, "too_many_tokens", text="a", max_new_tokens=10**6)
    await refused(client, "/api/beams", 422, "invalid_request", text="a", beams=17)
    await refused(families, "/api/beams", 422, "cannot", model="classifier", text="a")
