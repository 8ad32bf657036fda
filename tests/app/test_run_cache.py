"""What a run computed is kept: the next question about it needs no forward pass, and gets the same numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chumoku.app.api.explain.requests import HeadsRequest, WritesRequest
from chumoku.app.api.requests import TraceRequest
from chumoku.app.services import tracing
from chumoku.app.services.explain import answers, layers
from chumoku.app.services.library import Entry, Library
from chumoku.app.services.plan import plan_run
from chumoku.app.services.run_cache import CachingModel, RunCache, size
from chumoku.app.settings import Settings
from chumoku.model.run import Run
from chumoku.model.trace import Masks, Padding
from chumoku.model.traceable import Delegating, TraceableModel, ZooFolders, ZooModel
from tests.app.conftest import opener
from tests.app.families import opened, save, tiny
from tests.app.helpers import metrics

PATTERNS = ["layers.0.attn.pattern", "layers.1.attn.pattern"]
HEAD = ["layers.1.attn.q", "layers.1.attn.k", "layers.1.attn.scores", "layers.1.attn.pattern"]
IDS = st.lists(st.integers(0, 255), min_size=1, max_size=12)


class Counted(ZooModel):
    """Counts its forward passes."""

    passes = 0

    def trace(self, run: Run, names: Any) -> Any:
        self.passes += 1
        return super().trace(run, names)


@pytest.fixture
def counted(three: Library) -> Counted:
    return Counted(opened(three, "gpt"))


@settings(max_examples=15, deadline=None)
@given(
    ids=IDS,
    use=st.builds(Masks, st.sampled_from([None, False]), st.booleans()),
    pad=st.builds(Padding, st.integers(0, 3), st.sampled_from(["left", "right"]), st.booleans()),
)
def test_a_kept_run_has_the_same_numbers(ids: list[int], use: Masks, pad: Padding, three: Library) -> None:
    real = Counted(opened(three, "gpt"))
    traceable, run = RunCache(2**24).over(real), Run(ids, use=use, pad=pad)
    for names in (PATTERNS, HEAD, ["logits"], [*PATTERNS, "layers.0.ffn.post"]):
        told, expected = traceable.trace(run, names), ZooModel(real.checkpoint).trace(run, names)
        assert list(told.tensors) == list(expected.tensors)
        assert told.dims == expected.dims
        assert all(told.tensors[name].equal(x) for name, x in expected.tensors.items())
    assert real.passes == 2


def test_an_overview_brings_its_heads_their_labels_and_what_they_write(counted: Counted) -> None:
    """What the page asks for one sentence: the overview and the prediction, an open head, what it writes, labels."""
    traceable = RunCache(2**24).over(counted)
    run: dict[str, Any] = {"model": "gpt", "text": "attend"}
    for want in ({"want": PATTERNS, "predict": {"n": 3}}, {"want": HEAD, "heads": [1]}):
        tracing.answer(traceable, TraceRequest.model_validate(run | want), 1000)
    wrote = WritesRequest.model_validate(run | {"attention": "self", "layer": 1, "head": 0})
    assert answers.writes(plan_run(traceable, wrote, 1000), wrote)["logit"]
    plan = plan_run(traceable, HeadsRequest.model_validate(run), 1000)
    assert layers.heads(plan, HeadsRequest.model_validate(run))["heads"]
    assert counted.passes == 1


@pytest.mark.parametrize(
    "other",
    [
        Run([1, 2]),
        Run([1, 2, 3], use=Masks(False)),
        Run([1, 2, 3], use=Masks(None, False)),
        *(Run([1, 2, 3], pad=pad) for pad in (Padding(1), Padding(1, "right"), Padding(1, follow=False))),
    ],
)
def test_another_run_takes_nothing_of_it(other: Run, counted: Counted) -> None:
    traceable = RunCache(2**24).over(counted)
    traceable.trace(Run([1, 2, 3]), PATTERNS)
    traceable.trace(other, PATTERNS)
    assert counted.passes == 2


def test_a_run_with_interventions_is_never_kept(counted: Counted) -> None:
    traceable = RunCache(2**24).over(counted)
    run, off = Run([1, 2, 3]), {"layers.0.attn.z": lambda z, first: z * 0}
    edit = replace(run, edit=off)
    edited, plain, again, last = (traceable.trace(one, ["logits"]).tensors["logits"] for one in (edit, run, run, edit))
    assert not edited.equal(plain)
    assert again.equal(plain)
    assert last.equal(edited)
    assert counted.passes == 3


def test_nothing_is_kept_of_a_long_text(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chumoku.app.services.run_cache.MANY", 8)
    recent = RunCache(2**24)
    traceable = recent.over(counted)
    for pad in (Padding(), Padding(1)):
        for _ in range(2):
            traceable.trace(Run(list(range(8)), pad=pad), PATTERNS)
    assert counted.passes == 1 + 2


def test_of_a_longer_text_only_what_is_drawn_is_kept(counted: Counted) -> None:
    names = [*HEAD, "logits"]
    whole = size(counted.trace(Run([1, 2, 3]), CachingModel(counted, RunCache(0), 0)._usual))
    traceable = RunCache(8 * whole - 8).over(counted)
    counted.passes = 0
    for _ in range(2):
        traceable.trace(Run([1, 2, 3]), HEAD)
    assert counted.passes == 1
    for _ in range(2):
        traceable.trace(Run([1, 2, 3]), names)
    assert counted.passes == 3


def test_they_are_bounded_and_the_least_recently_used_go_first(counted: Counted) -> None:
    room = 2**18
    recent = RunCache(room)
    traceable = recent.over(counted)
    for n in range(20):
        traceable.trace(Run([1, 2, 3]), PATTERNS)  # used again and again
        traceable.trace(Run([n, *range(12)]), PATTERNS)
        assert 0 < recent.nbytes <= room
    assert counted.passes == 21


def test_a_model_whose_weights_were_replaced_forgets(tmp_path: Path) -> None:
    folder, source = save(tmp_path, tiny("gpt", "decoder-only")), ZooFolders()
    entry = Entry(source.about(folder), folder, source)
    models = Library([entry], "gpt", torch.device("cpu"), limit=0)
    models.run_cache = RunCache(2**24)
    logits = []
    for seed in (0, 1):
        save(tmp_path, tiny("gpt", "decoder-only", seed=seed))
        with models.use(entry) as traceable:  # dropped after each use: there is no room for it
            logits.append(traceable.trace(Run([1, 2, 3]), [*PATTERNS, "logits"]).tensors[PATTERNS[0]])
    assert not logits[0].equal(logits[1])


def test_a_kept_model_is_the_model(counted: Counted) -> None:
    """Every member of a model is passed on: a stub of the protocol would return None."""
    names = {name for name in vars(TraceableModel) if not name.startswith("_")}
    assert names - {"name"} <= vars(Delegating).keys()
    assert issubclass(CachingModel, Delegating)
    assert RunCache(2**20).over(counted).name == "gpt"


def test_a_whole_trace_changes_nothing_for_the_next_question(counted: Counted) -> None:
    """All tensors of a run are more than a run may take; what is usually asked for is not."""
    traceable = RunCache(2**18).over(counted)
    traceable.trace(Run(list(range(12))), list(counted.description.taps))
    for _ in range(2):
        traceable.trace(Run(list(range(12))), HEAD)
    assert counted.passes == 1


def test_a_model_that_is_too_large_at_a_length_is_asked_for_no_more_than_it_was(counted: Counted) -> None:
    traceable = RunCache(2**14).over(counted)
    recorded = []
    really = counted.trace
    counted.trace = lambda run, names: recorded.append(len(names)) or really(run, names)  # type: ignore[method-assign]
    for _ in range(2):
        traceable.trace(Run(list(range(20))), PATTERNS)
    assert recorded[1] == len(PATTERNS) < recorded[0]


def test_a_dropped_model_leaves_nothing(counted: Counted) -> None:
    recent = RunCache(2**24)
    one, other = recent.over(counted), recent.over(counted)
    for traceable in (one, other):
        traceable.trace(Run([1, 2]), PATTERNS)
    both = recent.nbytes
    recent.forget(one)
    assert recent.nbytes == both / 2
    recent.forget(counted)
    other.trace(Run([1, 2]), PATTERNS)
    assert counted.passes == 2


def test_one_run_does_not_drive_out_all_others(counted: Counted) -> None:
    recent = RunCache(2**18)
    traceable = recent.over(counted)
    traceable.trace(Run([1, 2, 3]), PATTERNS)
    before = recent.nbytes
    traceable.trace(Run(list(range(60))), PATTERNS)
    traceable.trace(Run([1, 2, 3]), PATTERNS)
    assert recent.nbytes == before
    assert counted.passes == 2


async def test_a_server_says_how_often(tmp_path: Path) -> None:
    folder = save(tmp_path, tiny("gpt", "decoder-only"))
    source = ZooFolders()
    models = Library([Entry(source.about(folder), folder, source)], "gpt", torch.device("cpu"), limit=2**30)
    async with opener(models)(Settings(device="cpu")) as client:
        for want in (PATTERNS, HEAD):
            asked = await client.post("/api/trace", json={"text": "attend", "want": want, "dtype": "float32"})
            assert asked.status_code == 200
        told = await metrics(client)
    assert told['chumoku_trace_lookups_total{found="kept"}'] == told['chumoku_trace_lookups_total{found="none"}'] == 1
    assert told["chumoku_trace_bytes"] > 0
