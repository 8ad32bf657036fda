"""/api/explain/patches: each patch, as a trace with the same row put in its place shows."""

from typing import Any

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app.services.library import Library
from chumoku.model.attribution import effects, patching
from chumoku.model.attribution.path_patching import PathPatching, Receiver, path_taps, writers_to
from chumoku.model.trace import trace
from tests.app.families import opened
from tests.app.helpers import decode, parse_events
from tests.app.test_effects import Events, every_family


async def events(client: AsyncClient, **request: Any) -> Events:
    response = await client.post("/api/explain/patches", json=request)
    assert response.status_code == 200, response.text
    return parse_events(response.text)


async def logits(client: AsyncClient, **request: Any) -> np.ndarray:
    response = await client.post("/api/trace", json={"want": ["logits"], **request})
    return decode(response.content)[0]["logits"].astype(float)


@pytest.fixture(autouse=True)
def any_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patching, "LEAST", 1e-6)


@every_family
async def test_the_ends_of_the_scale_are_both_traces(
    families: AsyncClient, three: Library, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several batches, with every activation once; before the first token that differs a patch does nothing."""
    monkeypatch.setattr(effects, "BATCH_BYTES", 100_000)
    run = {"model": model, "text": "hello word"}
    other = {"text": "hello ward"}
    (_, start), *found, done = await events(families, answer=1, against=2, **run, **{"from": other})
    assert done == ("done", {})
    about = opened(three, model).description
    here = await logits(families, **run)
    target = start_target = None
    if model == "translator":
        response = await families.post("/api/trace", json=run | {"want": ["logits"]})
        target = decode(response.content)[1]["run"]["target_ids"]
        start_target = {"target_ids": target}
    there = await logits(families, model=model, **other, **(start_target or {}))
    row = start["row"]
    for name, one in (("difference", here), ("source_difference", there)):
        at_row = one if model == "classifier" else one[row]
        assert start[name] == pytest.approx(at_row[1] - at_row[2], abs=1e-4)
    assert start["parts"] == len(found)
    kinds = {(told["what"], told.get("attention"), told["stack"], told["layer"]) for _, told in found}
    assert len(kinds) == sum(len(stack.layers) + len(stack.sublayers) for stack in about.stacks)
    for _, told in found:
        scale = start["source_difference"] - start["difference"]
        assert told["moved"] == pytest.approx((told["difference"] - start["difference"]) / scale, abs=1e-6)
    early = [told["moved"] for _, told in found if told["position"] == 0 and told["what"] == "stream"]
    assert early[0] == 0


async def test_the_answers_are_each_run_s_own_by_default(families: AsyncClient, three: Library) -> None:
    (_, start), *_ = await events(families, text="hello word", **{"from": {"text": "hellx ward"}})
    gpt = opened(three, "gpt")
    for name, text in (("answer", b"hello word"), ("against", b"hellx ward")):
        own = trace(gpt, list(text), ["logits"]).tensors["logits"][-1, :-1]
        assert start[name] == int(own.argmax())
    assert start["ids"] == {"source": list(b"hellx ward"), "target": None}
    assert set(start["tokens"]) == {str(id) for id in {start["answer"], start["against"], *b"hellx ward"}}


async def test_two_runs_of_one_answer_are_set_against_the_next_best(families: AsyncClient, three: Library) -> None:
    """Of the other run: what differs may be what leads to the answer."""
    theirs = trace(opened(three, "gpt"), list(b"hellx ward"), ["logits"]).tensors["logits"][-1, :-1]
    best, second = theirs.topk(2).indices.tolist()
    (_, start), *_ = await events(families, text="hello word", answer=best, **{"from": {"text": "hellx ward"}})
    assert (start["answer"], start["against"]) == (best, second)
    assert start["source_difference"] == pytest.approx(float(theirs[best] - theirs[second]), abs=1e-4)


async def test_all_that_is_asked_for_can_be_asked_at_an_earlier_row(families: AsyncClient) -> None:
    """Later positions cannot matter to it."""
    asked = {"text": "abcdef", "from": {"text": "xbydef"}, "row": 3, "answer": 1, "against": 2}
    (_, start), *found, _ = await events(families, **asked)
    assert start["row"] == 3
    later = [told["moved"] for _, told in found if told["position"] > 3]
    assert later == pytest.approx([0] * len(later), abs=1e-4)


async def test_frozen_norms_are_frozen_in_each_patch_too(families: AsyncClient) -> None:
    """The final one among them, which a pass that resumes at a layer would not know whole."""
    frozen = {"kind": "freeze_norms"}
    run, other = {"text": "abcdef", "interventions": [frozen]}, {"text": "xbydef"}
    (_, start), *found, _ = await events(families, answer=1, against=2, **run, **{"from": other})
    ffns = [told for _, told in found if told["what"] == "ffn" and told["moved"]]
    assert ffns
    for told in ffns:
        where = {"layer": told["layer"], "role": "out", "query": told["position"]}
        patch = {"kind": "patch", "where": where, "from": other}
        at_row = (await logits(families, text="abcdef", interventions=[frozen, patch]))[start["row"]]
        assert told["difference"] == pytest.approx(at_row[1] - at_row[2], abs=1e-4)


@pytest.mark.parametrize("to", [None, "q", "k", "v"])
@every_family
async def test_paths_are_measured_from_each_writer_to_one_receiver(
    families: AsyncClient, three: Library, model: str, to: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the model's own path patching says, in several batches; what leads nowhere is left out."""
    monkeypatch.setattr(effects, "BATCH_BYTES", 100_000)
    about = opened(three, model)
    attention = about.description.readout.layers[-1].sublayers[0].attention  # type: ignore[union-attr]
    receiver = None if to is None else Receiver(attention, 1, 1, to)
    asked = None if receiver is None else {"attention": attention, "layer": 1, "head": 1, "role": to}
    target = {"target_ids": [3, 5, 8]} if model == "translator" else {}
    run: Any = {"model": model, "text": "hello word", **target}
    source: Any = {"text": "hellx ward", **target}
    paths = {"to": asked, "ffns": to == "k"}
    (_, start), *found, done = await events(families, answer=1, against=2, paths=paths, **run, **{"from": source})
    assert done == ("done", {})
    writers = writers_to(about.description, receiver)
    assert start["parts"] == len(found) == len(writers)
    options: Any = {"target": target["target_ids"]} if target else {}
    there = trace(about, list(b"hellx ward"), [*path_taps(about.description), "logits"], **options)
    own = PathPatching(
        about, list(b"hello word"), there, 1, 2, to=receiver, ffns=paths["ffns"], row=start["row"], **options
    )  # fmt: skip
    for (_, told), one in zip(found, own.patch(writers), strict=True):
        assert {name: told[name] for name in vars(one.part)} == vars(one.part)
        assert told["kind"] == ("head" if "head" in told else "ffn")
        assert told["moved"] == pytest.approx(one.moved, abs=1e-4)
    assert len({round(told["difference"], 6) for _, told in found}) > 1


async def test_nothing_leads_to_the_first_attention(families: AsyncClient) -> None:
    to = {"layer": 0, "head": 0, "role": "q"}
    asked = {"text": "abcdef", "from": {"text": "xbydef"}, "answer": 1, "against": 2, "paths": {"to": to}}
    (_, start), done = await events(families, **asked)
    assert (start["parts"], done) == (0, ("done", {}))
