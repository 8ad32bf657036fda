"""A generation continues from what an earlier one has read: it costs less, and gives the same result."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from fastapi import FastAPI
from httpx import AsyncClient
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.load import Busy
from benchmarks.load_answers import apart
from benchmarks.load_clients import drawn
from chumoku.app.api.requests import GenerateRequest
from chumoku.app.services.generation import GenerationSession
from chumoku.app.services.library import Entry, Library
from chumoku.app.services.prefixes import Prefixes
from chumoku.app.services.wire import Event
from chumoku.model.session import DecoderSession
from chumoku.model.traceable import TraceableModel, ZooFolders, ZooModel
from tests.app.families import opened, save, tiny
from tests.app.helpers import cell, error_of, head, metrics, parse_events
from tests.model.helpers import rounding_decides

LOGITS = 1e-4
"""How far logits may be apart."""
IDS = st.lists(st.integers(0, 255), min_size=1, max_size=20)


def generation(traceable: TraceableModel, prefixes: Prefixes, **request: Any) -> GenerationSession:
    asked = GenerateRequest.model_validate({"max_new_tokens": 1, "n": 1} | request)
    session = GenerationSession(traceable, asked, 1000, 256, prefixes)
    session.resume()
    return session


def step_of(traceable: TraceableModel, prefixes: Prefixes, **request: Any) -> tuple[torch.Tensor, dict[str, Any]]:
    """The logits after the prompt, and the step that follows."""
    session = generation(traceable, prefixes, **request)
    session.start()
    last = session.generator.session.step([]).logits.clone()
    return last, session.step().data


def same(traceable: TraceableModel, known: Prefixes, **request: Any) -> list[int]:
    """With and without what is known: the same logits, the same token. Returns the ids with the new token."""
    hit, told = step_of(traceable, known, **request)
    fresh = generation(traceable, Prefixes(0), **request)
    fresh.start()
    before = fresh.generator.next
    miss = fresh.generator.session.step([]).logits
    expected = fresh.step().data
    assert (hit - miss).abs().max() < LOGITS
    assert told["u"] == expected["u"]
    assert told["token"]["id"] == expected["token"]["id"] or rounding_decides(before, expected["u"])
    return [*fresh.generator.ids]


@settings(max_examples=15, deadline=None)
@given(ids=IDS, seed=st.integers(0, 999), cuts=st.lists(st.integers(1, 20), max_size=4))
def test_a_hit_and_a_miss_say_the_same(ids: list[int], seed: int, cuts: list[int], three: Library) -> None:
    traceable, known = ZooModel(opened(three, "gpt")), Prefixes(2**20)
    for cut in [*sorted(cuts), len(ids)]:
        grown = same(traceable, known, token_ids=ids[:cut], seed=seed)
        if grown[-1] < 256:  # not END
            same(traceable, known, token_ids=grown, seed=seed)


def test_a_trained_model_says_the_same_for_forty_steps(loaded: Library) -> None:
    traceable, known = ZooModel(opened(loaded, "stories-gpt")), Prefixes(2**26)
    ids = traceable.tokenizer.encode("Once upon a time there was a little girl. She had a red")
    for _ in range(40):
        ids = same(traceable, known, token_ids=ids, seed=3)
    assert known.metrics.prefixes.labels("whole")._value.get() == 39


RUNS: list[dict[str, Any]] = [
    {},
    {"masks": {"causal": None, "padding": False}, "pad": {"count": 2, "side": "left", "follow": True}},
    {"pad": {"count": 2, "side": "left", "follow": True}},
    {"pad": {"count": 2, "side": "left", "follow": False}},
    {"pad": {"count": 3, "side": "left", "follow": True}},
    {"interventions": [head(head=1)]},
    {"interventions": [head(head=2)]},
    {"interventions": [cell(query=3, key=1)]},
    {"masks": {"causal": False, "padding": True}},
    {"rows": False},
]


def test_a_run_never_takes_what_another_has_read(three: Library) -> None:
    traceable, known = ZooModel(opened(three, "gpt")), Prefixes(2**24)
    for _ in range(2):
        for run in RUNS:
            same(traceable, known, text="attend", temperature=0, **run)


def test_a_source_never_takes_anothers_target(three: Library) -> None:
    traceable, known = ZooModel(opened(three, "translator")), Prefixes(2**24)
    for _ in range(2):
        for text in ("I like", "I like cats", "cats"):
            for target in ([], [65], [65, 66]):
                same(traceable, known, text=text, target_ids=target, seed=1)
    assert known.metrics.prefixes.labels("whole")._value.get() == 9


def test_a_model_whose_weights_were_replaced_forgets(tmp_path: Path) -> None:
    folder, source = save(tmp_path, tiny("gpt", "decoder-only")), ZooFolders()
    entry = Entry(source.about(folder), folder, source)
    models, known = Library([entry], "gpt", torch.device("cpu"), limit=0), Prefixes(2**24)
    for seed in (0, 1):
        save(tmp_path, tiny("gpt", "decoder-only", seed=seed))
        with models.use(entry) as traceable:  # dropped after each use: there is no room for it
            same(traceable, known, text="attend", temperature=0)
            same(traceable, known, text="attend", temperature=0)
    found = known.metrics.prefixes
    assert (found.labels("none")._value.get(), found.labels("whole")._value.get()) == (2, 2)


def test_they_are_bounded_and_the_least_recently_used_go_first(three: Library) -> None:
    traceable, room = ZooModel(opened(three, "gpt")), 2**17
    known = Prefixes(room)
    for n in range(30):
        same(traceable, known, token_ids=[1, 2, 3], seed=1)  # used again and again
        same(traceable, known, token_ids=[n, *range(20)], seed=n)
        assert 0 < known.nbytes <= room
    assert known.metrics.prefixes.labels("whole")._value.get() >= 29


def answer(traceable: TraceableModel, known: Prefixes, ids: list[int], **asked: Any) -> list[Event]:
    """The start and the step of an answer."""
    session = generation(traceable, known, token_ids=ids, **asked)
    return [session.start(), session.step()]


def told(event: Event) -> dict[str, Any]:
    """What the client reads of an event's prediction and of its text."""
    data = json.loads(event.encoded.split(b"data: ")[1])
    assert data == event.data
    return {name: data[name] for name in ("prediction", "tokens") if name in data}


def test_an_answer_begins_with_the_prediction_that_ended_the_one_before(three: Library) -> None:
    """Bit for bit, and not computed again; with other settings, it is another."""
    traceable, known = ZooModel(opened(three, "gpt")), Prefixes(2**20)
    ids, ended = [65, 66, 0xE6], None
    for seed in range(12):  # random bytes: some are parts of characters
        start, step = answer(traceable, known, ids, seed=seed, n=5)
        fresh, _ = answer(traceable, Prefixes(0), ids, seed=seed, n=5)
        assert told(start)["tokens"] == told(fresh)["tokens"]
        assert ended is None or start.data["prediction"] is ended
        assert told(step)
        ids, ended = [*ids, step.data["token"]["id"]], step.data["prediction"]
    hot, _ = answer(traceable, known, ids, temperature=2, n=5)
    cold, _ = answer(traceable, Prefixes(0), ids, temperature=2, n=5)
    assert told(hot)["prediction"]["settings"] == told(cold)["prediction"]["settings"]


def test_a_long_answer_keeps_the_predictions_where_another_can_begin(three: Library) -> None:
    traceable, known = ZooModel(opened(three, "gpt")), Prefixes(2**24)
    session = generation(traceable, known, token_ids=[1, 2, 3], max_new_tokens=6, seed=1, n=5)
    started = session.start()
    told = [session.step() for _ in range(6)]
    assert session.ended == "max_new_tokens"
    assert len(known.predictions._kept) == 2
    for begun, ids in ((started, [1, 2, 3]), (told[-1], session.generator.ids)):
        again = generation(traceable, known, token_ids=ids, max_new_tokens=6, seed=1, n=5).start()
        assert again.data["prediction"] is begun.data["prediction"]


def test_predictions_are_bounded_and_the_least_recently_used_go_first(three: Library) -> None:
    traceable, known = ZooModel(opened(three, "gpt")), Prefixes(2**20)
    first, _ = answer(traceable, known, [1, 2, 3])
    for n in range(40):
        again, _ = answer(traceable, known, [1, 2, 3])
        assert again.data["prediction"] is first.data["prediction"]
        answer(traceable, known, [n, *range(20)], seed=n)
        entries = known.predictions._kept.values()
        assert known.predictions.nbytes == sum(x.nbytes + one.nbytes for x, one in entries) <= known.limit // 8
    assert 2 < len(entries) < 40


async def test_a_step_after_a_step_reads_one_token(families: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page asks: each step is a request of its own with all ids so far."""
    read, really = [], DecoderSession.read

    def counted(session: DecoderSession, new: torch.Tensor) -> torch.Tensor:
        read.append(new.shape[1])
        return really(session, new)

    monkeypatch.setattr(DecoderSession, "read", counted)
    before, ids = await metrics(families), list(b"Once upon a")
    for _ in range(5):
        answer = await families.post("/api/generate", json={"token_ids": ids, "max_new_tokens": 1, "temperature": 0})
        events = parse_events(answer.text)
        (start, step) = (dict(events)[name] for name in ("start", "step"))
        assert [token["id"] for token in start["tokens"]] == ids
        ids.append(step["token"]["id"])
    assert read == [11, 1, 1, 1, 1, 1]
    after = await metrics(families)
    found = {how: f'chumoku_prefix_lookups_total{{found="{how}"}}' for how in ("whole", "none")}
    assert {how: after[name] - before[name] for how, name in found.items()} == {"whole": 4, "none": 1}
    assert all(b >= a for a, b in pairwise((before["chumoku_prefix_bytes"], after["chumoku_prefix_bytes"], 2**27)))


async def test_a_refused_request_looks_nothing_up(
    families: AsyncClient, app_of_three: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_of_three.state.chumoku.work.budget, "limit", 10)

    async def lookups() -> dict[str, float]:
        return {name: n for name, n in (await metrics(families)).items() if "prefix_lookups" in name}

    before = await lookups()
    error_of(await families.post("/api/generate", json={"text": "a"}), 422, "too_large")
    assert await lookups() == before


async def test_the_load_bench_finds_the_new_tokens(families: AsyncClient) -> None:
    """Else its people would ask for the same step again and again, which is kept."""
    asked = {"token_ids": [1, 2, 3], "max_new_tokens": 3, "temperature": 0}
    answer = await families.post("/api/generate", json=asked)
    ids = [data["token"]["id"] for name, data in parse_events(answer.text) if name == "step"]
    assert 0 < len(ids) == len(drawn(answer.content))
    assert drawn(answer.content) == ids


async def test_the_load_bench_finds_an_answer_that_an_idle_server_does_not_give(families: AsyncClient) -> None:
    asked = {"token_ids": [1, 2, 3], "max_new_tokens": 1, "seed": 7, "rows": True}
    answer = (await families.post("/api/generate", json=asked)).text
    other = (await families.post("/api/generate", json=asked | {"token_ids": [3, 2, 1]})).text
    assert not apart(answer, answer).too_far
    assert not apart(answer.replace("event: ", "\r\n1f4\r\nevent: "), answer).too_far  # in chunks, as clients read it
    assert apart(answer, answer).probability == apart(answer, answer).byte == 0
    assert apart(answer, other).byte > 0
    _, (_, step), _ = parse_events(answer)
    for name, at, by in (("id", "id", 1), ("u", "u", 1e-9), ("before", "before", 2e-5)):
        told = step["token"][at] if name == "id" else step[at]
        changed = answer.replace(f'"{name}":{told}', f'"{name}":{told + by}')
        assert apart(answer, changed).too_far, name
    row = step["rows"]["self"]["data"]
    assert apart(answer, answer.replace(row, row.swapcase())).too_far
    assert apart(answer, answer.partition("event: step")[0]).too_far


@pytest.mark.parametrize("what", ["refused", "failed"])
def test_the_load_bench_does_not_hold_when_a_request_is_not_answered(what: str) -> None:
    answered = {"refused": 0, "failed": 0}
    assert all(row.holds for row in Busy("", "one process", [answered]).refusals)
    rows = Busy("", "one process", [answered, answered | {what: 1}]).refusals
    assert [row.what for row in rows if not row.holds] == [f"one process: {what} requests"]
