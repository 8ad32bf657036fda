"""Translations, whole or token by token, are the model's own, queue with other work and stop with their client."""

import base64
from typing import Any

import anyio
import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app.http import deps
from chumoku.app.services.library import Library
from chumoku.app.services.translation import TranslationSession
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.sampling import SamplingSettings
from chumoku.model.translate import beam_search
from tests.app.conftest import Open
from tests.app.families import SOURCE, TARGET, opened
from tests.app.helpers import error_of, metrics, parse_events
from tests.shortcuts import generate_target

Events = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def translator(three: Library) -> Checkpoint:
    return opened(three, "translator")


async def translate(client: AsyncClient, **request: Any) -> dict[str, Any]:
    response = await client.post("/api/translate", json={"text": SOURCE} | request)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def stream(client: AsyncClient, **request: Any) -> Events:
    asked = {"model": "translator", "text": SOURCE, "max_new_tokens": 5} | request
    response = await client.post("/api/generate", json=asked)
    assert response.status_code == 200, response.text
    return parse_events(response.text)


async def test_what_is_banned_is_not_written_and_a_stop_text_ends(families: AsyncClient) -> None:
    whole = (await translate(families, beams=1))["hypotheses"][0]["tokens"]
    at, text = next((n, one["text"]) for n, one in enumerate(whole) if not one["partial"] and one["text"].strip())
    kept = (await translate(families, beams=4, banned=[text]))["hypotheses"]
    assert all(token["text"] != text for found in kept for token in found["tokens"])
    (stopped,) = (await translate(families, beams=1, stop=[text]))["hypotheses"]
    assert ([token["id"] for token in stopped["tokens"]], stopped["ended"]) == (
        [one["id"] for one in whole[: at + 1]],
        False,
    )


@pytest.mark.parametrize(("beams", "alpha"), [(1, 0.6), (3, 0.6), (4, 0.0), (16, 2.5)])
async def test_it_is_the_models_search(families: AsyncClient, translator: Checkpoint, beams: int, alpha: float) -> None:
    ids = translator.tokenizer.encode(SOURCE)
    expected = beam_search(translator, ids, beams=beams, alpha=alpha)
    answer = await translate(families, beams=beams, alpha=alpha)
    assert (answer["model"], answer["beams"], answer["alpha"]) == ("translator", beams, alpha)  # found without a name
    assert [token["id"] for token in answer["tokens"]] == ids
    assert answer["seconds"] > 0
    assert len(answer["hypotheses"]) == len(expected) <= beams
    for found, hypothesis in zip(answer["hypotheses"], expected, strict=True):
        assert [token["id"] for token in found["tokens"]] == hypothesis.ids
        assert found["log_p"] == pytest.approx(hypothesis.log_p)
        assert found["score"] == pytest.approx(hypothesis.score)
        assert found["ended"] == hypothesis.ended
        shown = [token for token in found["tokens"] if not token["partial"] and not token["special"]]
        assert all(found["text"][token["start"] : token["end"]] == token["text"] for token in shown)


async def test_ids_in_place_of_text(families: AsyncClient, translator: Checkpoint) -> None:
    by_text = await translate(families)
    by_ids = await translate(families, text=None, token_ids=translator.tokenizer.encode(SOURCE))
    assert by_ids["hypotheses"] == by_text["hypotheses"]


async def test_a_search_stops_when_the_client_has_left(families: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    made, really = [], TranslationSession.step

    def step(translation: TranslationSession) -> bool:
        made.append(translation)
        really(translation)
        return True  # it would never end otherwise

    async def wanted() -> bool:
        return len(made) < 3

    monkeypatch.setattr(TranslationSession, "step", step)
    monkeypatch.setattr(deps, "wanted_by", lambda request: wanted)
    assert (await families.post("/api/translate", json={"text": SOURCE})).status_code == 499
    assert len(made) == 3
    ready = (await families.get("/readyz")).json()
    assert (ready["jobs"], ready["streams"]) == (0, 0)


async def test_a_full_house_is_503(open_three: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_three(Settings(model_threads=1, queue=0, streams=1)) as client:
        answers = []

        async def ask() -> None:
            answers.append(await client.post("/api/translate", json={"text": SOURCE}))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
        refused, served = sorted(answers, key=lambda answer: answer.status_code, reverse=True)
        assert error_of(refused, 503, "full")["limit"] == 1
        assert refused.headers["retry-after"] == "1"
        assert served.json()["hypotheses"]
        await translate(client)  # the slot is free again
        assert (await metrics(client))['chumoku_work_seconds_count{kind="search"}'] > 2


def read_rows(rows: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(rows["data"]), np.uint8).reshape(rows["shape"])


async def test_the_target_is_written_step_by_step(families: AsyncClient, translator: Checkpoint) -> None:
    _, decoder, cross = translator.description.attentions
    names = [a.tap("pattern", layer) for a in (decoder, cross) for layer in range(2)]
    ids = translator.tokenizer.encode(SOURCE)
    first, *expected = generate_target(translator, ids, SamplingSettings(1.0, 40, 0.9, 5), 5, names)
    events = await stream(families, temperature=1.0, top_k=40, top_p=0.9, seed=5)
    start, steps = events[0][1], [data for name, data in events if name == "step"]
    assert [token["id"] for token in start["tokens"]] == ids
    assert [token["id"] for token in start["target_tokens"]] == [258]
    assert (start["n_prompt"], start["prediction"]["position"]) == (1, 0)
    assert start["prediction"]["entropy_bits"] == pytest.approx(first.next.entropy_bits)
    for step, data in zip(expected, steps, strict=True):
        assert (data["index"], data["token"]["id"], data["u"]) == (len(step.ids) - 1, step.ids[-1], step.u)
        stacked = np.stack([step.tensors[name][:, 0].numpy() for name in names[:2]])
        np.testing.assert_array_equal(read_rows(data["rows"]["decoder"]), np.round(255 * stacked).astype(np.uint8))
        stacked = np.stack([step.tensors[name][:, 0].numpy() for name in names[2:]])
        np.testing.assert_array_equal(read_rows(data["rows"]["cross"]), np.round(255 * stacked).astype(np.uint8))
        assert data["rows"]["cross"]["shape"] == [2, 3, len(ids)]
    assert events[-1][0] == "end"


async def test_a_beginning_is_kept(families: AsyncClient, translator: Checkpoint) -> None:
    ids = translator.tokenizer.encode(TARGET)
    by_text = await stream(families, target=TARGET, seed=3)
    by_ids = await stream(families, target_ids=ids, seed=3)
    assert [token["id"] for token in by_text[0][1]["target_tokens"]] == [258, *ids]
    apart = {"seconds": 0, "cache": None, "run": None}  # time, and what an earlier request had read
    without_time = [[data | apart for _, data in events] for events in (by_text, by_ids)]
    assert without_time[0] == without_time[1]
    assert by_text[1][1]["token"]["start"] <= len(TARGET)
    assert by_text[1][1]["index"] == len(ids) + 1


async def test_why_a_target_ends(families: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = await stream(families, target_ids=[97, 256])
    assert [name for name, _ in ended] == ["start", "end"]
    assert ended[-1][1] == {"reason": "end_of_text", "n_new": 0}
    monkeypatch.setattr("chumoku.model.generate.draw", lambda dist, u: 97)
    full = await stream(families, target_ids=[97] * 61, max_new_tokens=9, rows=False)
    assert full[-1][1] == {"reason": "window_full", "n_new": 2}
    assert full[1][1]["rows"] is None
    assert (await stream(families, max_new_tokens=2))[-1][1] == {"reason": "max_new_tokens", "n_new": 2}
    monkeypatch.setattr("chumoku.model.generate.draw", lambda dist, u: 256)
    assert (await stream(families))[-1][1] == {"reason": "end_of_text", "n_new": 1}


async def test_other_families_have_rows_of_one_attention(families: AsyncClient) -> None:
    events = await stream(families, model="gpt", max_new_tokens=1)
    assert events[0][1]["target_tokens"] is None
    (rows,) = events[1][1]["rows"].items()
    assert (rows[0], rows[1]["shape"]) == ("self", [2, 3, len(SOURCE) + 1])
