"""Ten ways on from one text are ten single generations with their seeds, read and stepped together."""

from __future__ import annotations

from typing import Any

import pytest
from httpx import AsyncClient

from chumoku.app.api.requests import GenerateRequest, WaysRequest
from chumoku.app.services.generation import GenerationSession
from chumoku.app.services.library import Library
from chumoku.app.services.prefixes import Prefixes
from chumoku.app.services.ways import Ways
from chumoku.model import batched_decoding
from chumoku.model.session import DecoderSession
from chumoku.model.traceable import TraceableModel, ZooModel
from tests.app.conftest import Open
from tests.app.families import opened
from tests.app.helpers import parse_events
from tests.app.test_prefixes import LOGITS
from tests.model.helpers import rounding_decides

TEXT = "Once upon a time there was a little girl. She had a red"
WARM = {"temperature": 1.2, "top_k": 0, "top_p": 1.0, "seed": 3}
MOST = 256


def single(traceable: TraceableModel, request: dict[str, Any], ids: list[int]) -> tuple[GenerationSession, list[Any]]:
    """A generation of its own that writes `ids`, with what it would have drawn at each step."""
    session = GenerationSession(traceable, GenerateRequest.model_validate(request), 1000, MOST)
    session.start()
    drawn = []
    for newest in ids:
        dist, u, own = session.generator.draw()
        assert u is not None
        drawn.append((own, rounding_decides(dist, u)))
        session.generator._read([newest], session.generator.next, u)
    return session, drawn


EDIT = {"interventions": [{"kind": "ablate", "where": {"layer": 5, "role": "z", "head": 5}}]}
CASES = {
    "plain": ("stories-gpt", {"text": TEXT} | WARM, True),
    "filtered": ("stories-gpt", {"text": TEXT, "temperature": 0.8, "top_k": 20, "top_p": 0.95, "seed": 7}, True),
    "edited": ("stories-gpt", {"text": TEXT} | WARM | EDIT, False),
    "every row anew": ("stories-gpt", {"text": TEXT} | WARM | {"masks": {"causal": False}}, False),
    "a translation": ("translate-enja", {"text": "I ate a banana.", "target": "私"} | WARM, False),
}


@pytest.mark.parametrize(("name", "request_", "together"), CASES.values(), ids=CASES.keys())
def test_ten_ways_are_ten_generations(
    loaded: Library, name: str, request_: dict[str, Any], together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same ids, unless u is at a border; logits within 1e-4. Plain ways take one forward pass a step."""
    batches: list[int] = []
    really = batched_decoding.step
    monkeypatch.setattr(
        batched_decoding, "step", lambda sessions, ids: batches.append(len(sessions)) or really(sessions, ids)
    )
    traceable = ZooModel(opened(loaded, name))
    asked = WaysRequest.model_validate(request_ | {"max_new_tokens": 6})
    ways = Ways(traceable, asked, 1000, MOST, Prefixes(2**26))
    n_prompt = ways.start().data["n_prompt"]
    while jobs := ways.round():
        for job, _ in jobs:
            job()
    assert [way.seed for way in ways.all] == list(range(asked.seed + 1, asked.seed + 11))
    if together:
        assert batches[0] == 10
        assert len(batches) == 6
    else:
        assert batches == []
    for way in ways.all:
        ids = way.session.generator.ids[n_prompt:]
        alone, drawn = single(traceable, request_ | {"seed": way.seed}, ids)
        assert all(own == newest or border for (own, border), newest in zip(drawn, ids, strict=True))
        mine, other = way.session.generator.session.step([]).logits, alone.generator.session.step([]).logits
        assert (mine - other).abs().max() < LOGITS
    assert len({tuple(way.session.generator.ids) for way in ways.all}) > 1, "they part"


async def test_the_stream_says_whose_each_step_is(client: AsyncClient) -> None:
    request = {"text": TEXT, "ways": 3, "max_new_tokens": 4, "n": 1, "rows": False} | WARM
    response = await client.post("/api/generate/ways", json=request)
    events = parse_events(response.text)
    assert events[0][0] == "start"
    for way, seed in enumerate((4, 5, 6)):
        own = [(name, data) for name, data in events[1:] if data["way"] == way]
        single = {key: value for key, value in request.items() if key != "ways"} | {"seed": seed}
        expected = parse_events((await client.post("/api/generate", json=single)).text)
        assert [name for name, _ in own] == ["step"] * 4 + ["end"]
        assert {data["seed"] for _, data in own} == {seed}
        ids = [data["token"]["id"] for name, data in own if name == "step"]
        assert ids == [data["token"]["id"] for name, data in expected if name == "step"]
        assert [data["u"] for name, data in own if name == "step"] == [data["u"] for _, data in expected[1:-1]]
    assert all(data["rows"] is None for name, data in events if name == "step")


async def test_a_way_that_ends_leaves_the_others(client: AsyncClient) -> None:
    """Each stops at its own text, and says why."""
    request = {"text": TEXT, "ways": 8, "max_new_tokens": 12, "stop": ["."], "n": 1} | WARM
    events = parse_events((await client.post("/api/generate/ways", json=request)).text)
    ends = {data["way"]: data for name, data in events if name == "end"}
    assert sorted(ends) == list(range(8))
    assert {data["reason"] for data in ends.values()} >= {"stop"}
    for way, end in ends.items():
        texts = [data["token"]["text"] for name, data in events if name == "step" and data["way"] == way]
        assert end["n_new"] == len(texts)
        assert [index for index, text in enumerate(texts) if "." in text] in ([], [len(texts) - 1])


async def test_a_window_that_is_full_ends_all_at_once(client: AsyncClient, loaded: Library) -> None:
    model = opened(loaded, "stories-gpt")
    ids = (model.tokenizer.encode(TEXT) * 40)[: model.config.max_seq_len]
    events = parse_events((await client.post("/api/generate/ways", json={"token_ids": ids, "ways": 2})).text)
    assert [name for name, _ in events] == ["start", "end", "end"]
    assert {data.get("reason") for _, data in events[1:]} == {"window_full"}


async def test_what_cannot_be_is_refused(client: AsyncClient) -> None:
    for wrong in ({"ways": 0}, {"ways": 17}, {"seed": 2**63 - 1}, {"max_new_tokens": 100_000}):
        answer = await client.post("/api/generate/ways", json={"text": TEXT} | wrong)
        assert answer.status_code in (400, 413, 422), answer.text


async def test_ways_hold_one_stream_and_give_it_back(open_app: Open) -> None:
    from chumoku.app.settings import Settings

    async with open_app(Settings(streams=1)) as client:
        for _ in range(2):
            answer = await client.post("/api/generate/ways", json={"text": TEXT, "ways": 2, "max_new_tokens": 2})
            assert answer.status_code == 200
            assert parse_events(answer.text)[-1][0] == "end"


def test_a_fork_a_step_back_and_a_step_cost_one_token(loaded: Library) -> None:
    """Where the process kept the prefix: also after a node of any way."""
    traceable, known = ZooModel(opened(loaded, "stories-gpt")), Prefixes(2**26)
    ways = Ways(traceable, WaysRequest.model_validate({"text": TEXT, "max_new_tokens": 4} | WARM), 1000, MOST, known)
    ways.start()
    while jobs := ways.round():
        for job, _ in jobs:
            job()
    read: list[int] = []
    really = DecoderSession.step

    def counted(session: DecoderSession, ids: list[int]) -> Any:
        read.append(len(ids))
        return really(session, ids)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DecoderSession, "step", counted)
        for way in ways.all:
            ids = way.session.generator.ids
            for prompt in (ids, ids[:-2], [*ids[:-2], (ids[-2] + 1) % 1000]):  # a step, a step back, a fork
                one = GenerationSession(
                    traceable,
                    GenerateRequest.model_validate({"token_ids": prompt, "max_new_tokens": 1} | WARM),
                    1000,
                    MOST,
                    known,
                )
                one.resume()
                read.clear()
                one.start()
                assert sum(read) <= 1  # the token that was taken by hand, or nothing
                read.clear()
                one.step()
                assert read == [1]
