"""/api/explain/… returns what `chumoku.model.explain` computes, for every model of the zoo."""

import base64
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch
from httpx import AsyncClient
from pydantic import BaseModel

from chumoku.app.api.explain import answers, layer_answers
from chumoku.app.services.explain.shared import plain
from chumoku.app.services.library import Library
from chumoku.app.services.plan import greedy
from chumoku.app.services.tokens import as_read
from chumoku.app.services.wire import to_json
from chumoku.model.attribution.gradients import gradient_norms
from chumoku.model.attribution.head_writes import head_writes
from chumoku.model.attribution.logit_attribution import contributions
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.anatomy import Options
from chumoku.model.explain.embeddings import neighbours, position_table
from chumoku.model.explain.head_changes import Places, changes_of
from chumoku.model.explain.head_labels import RULES
from chumoku.model.explain.parameters import count_parameters
from chumoku.model.explain.residual import streams
from chumoku.model.explain.swaps import swap_tokens
from chumoku.model.explain.units import units
from chumoku.model.masks import EDITED
from chumoku.model.run import Run
from chumoku.model.run import Run as ModelRun
from chumoku.model.trace import Masks, Padding
from chumoku.model.traceable import ZooModel
from tests.app.families import opened
from tests.app.helpers import decode, refused
from tests.shortcuts import labels, logit_lens, route

TEXTS = {
    "stories-gpt": "The dog saw a cat.",
    "sentiment-encoder": "A dull film, badly made.",
    "translate-enja": "I like this book.",
}
DESCRIBED = vars(answers) | vars(layer_answers)
every_model = pytest.mark.parametrize("name", TEXTS)


async def ask(client: AsyncClient, route: str, **request: Any) -> dict[str, Any]:
    """The answer. It has exactly the fields of its schema."""
    response = await client.post(f"/api/explain/{route}", json=request)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    described: type[BaseModel] = DESCRIBED[f"{route.title()}Response"]
    assert described.model_validate(answer).model_dump() == answer
    return answer


def run_of(loaded: Library, name: str) -> tuple[Checkpoint, list[int], Options]:
    """The run of a request with this text and nothing else."""
    checkpoint = opened(loaded, name)
    traceable = ZooModel(checkpoint)
    ids = as_read(traceable, checkpoint.tokenizer.encode(TEXTS[name]))
    if checkpoint.config.family != "encoder-decoder":
        return checkpoint, ids, {}
    return checkpoint, ids, {"target": greedy(traceable, ids)}


def agree(told: Any, expected: Any) -> None:
    """The same numbers, with null for NaN. Everything in `expected` is also in `told`, at every depth."""
    if isinstance(expected, torch.Tensor):
        got = np.array(told, dtype=float)
        np.testing.assert_allclose(got.reshape(expected.shape), expected.double().numpy(), rtol=1e-5, atol=1e-7)
    elif isinstance(expected, dict):
        for key, value in expected.items():
            agree(told[key], value)
    elif isinstance(expected, list | tuple):
        assert len(told) == len(expected)
        for one, other in zip(told, expected, strict=True):
            agree(one, other)
    else:
        assert told == (pytest.approx(expected, rel=1e-5, abs=1e-7) if isinstance(expected, float) else expected)


@every_model
async def test_lens(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    expected = logit_lens(checkpoint, ids, k=4, **options)
    answer = await ask(client, "lens", model=name, text=TEXTS[name], k=4)
    for part in ("taps", "rows", "top", "probability"):
        agree(answer[part], getattr(expected, part))
    for part, followed in (("final", expected.final), ("next", expected.next)):
        there = (followed.ids >= 0).tolist()
        assert answer[part]["ids"] == [i if i >= 0 else None for i in followed.ids.tolist()]
        agree(answer[part]["probability"], followed.probability)
        for told, rank in zip(answer[part]["rank"], followed.rank.tolist(), strict=True):
            assert told == [one if ok else None for one, ok in zip(rank, there, strict=True)]
    assert answer["next"]["ids"][-1] is None
    assert answer["next"]["same"] == (expected.next.ids == expected.final.ids).tolist()
    assert answer["classes"] == list(checkpoint.config.classes)
    if not checkpoint.config.classes:
        named = {*np.ravel(answer["top"]).tolist(), *answer["final"]["ids"], *answer["next"]["ids"]} - {None}
        assert set(answer["tokens"]) == {str(i) for i in named}
        (token,) = checkpoint.tokenizer.tokens(answer["final"]["ids"][:1])
        look = {"id": token.id, "text": token.text, "bytes": token.bytes.hex(), "partial": token.partial}
        assert answer["tokens"][str(token.id)] == look | {"special": token.special}


@every_model
async def test_contributions(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    asked = {"answer": 1, "against": 0, "row": 0}
    answer = await ask(client, "contributions", model=name, text=TEXTS[name], **asked)
    agree(answer, asdict(contributions(checkpoint, ids, 1, row=0, against=0, **options)))
    assert set(answer["tokens"]) == (set() if checkpoint.config.classes else {"0", "1"})


@every_model
async def test_the_units_of_an_ffn_term(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    answer = await ask(client, "contributions", model=name, text=TEXTS[name], answer=1, row=0, units_of=0)
    found = contributions(checkpoint, ids, 1, row=0, units_of=0, **options)
    assert found.units is not None
    agree(answer["units"], asdict(found.units))
    favoured = {str(one) for unit in found.units.units for one in unit.favours} | {"1"}
    assert set(answer["tokens"]) == (set() if checkpoint.config.classes else favoured)
    response = await client.post(
        "/api/explain/contributions", json={"model": name, "text": TEXTS[name], "units_of": 99}
    )
    assert response.json()["error"]["code"] == "bad_layer"


@every_model
async def test_what_a_head_writes(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    attention = checkpoint.description.attentions[-1].id
    found = head_writes(ZooModel(checkpoint), Run(ids, **options), 1, attention=attention, layer=1, head=0, row=0, k=2)
    where = {"attention": attention, "layer": 1, "head": 0, "row": 0, "k": 2}
    answer = await ask(client, "writes", model=name, text=TEXTS[name], answer=1, **where)
    agree(answer, asdict(found))
    named = {1, *found.favoured.flatten().tolist()}
    assert set(answer["tokens"]) == (set() if checkpoint.config.classes else set(map(str, named)))
    own = await ask(client, "writes", model=name, text=TEXTS[name], **where)
    whole = await ask(client, "contributions", model=name, text=TEXTS[name], row=0)
    assert own["answer"] == whole["answer"], "the model's own first choice"


@every_model
async def test_contributions_of_the_models_own_answer(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    lens = logit_lens(checkpoint, ids, k=1, **options)
    answer = await ask(client, "contributions", model=name, text=TEXTS[name])
    assert (answer["row"], answer["answer"], answer["against"]) == (lens.rows[-1], int(lens.final.ids[-1]), None)
    assert abs(answer["error"]) < 1e-4


@pytest.mark.parametrize("role", ["q", "z", "head_out", "attn_out"])
@every_model
async def test_contributions_of_a_patched_run_add_up(client: AsyncClient, name: str, role: str) -> None:
    """Every role that can be patched; a patched attn_out is a term of its own."""
    patch = {
        "kind": "patch",
        "where": {"layer": 1, "role": role},
        "from": {"text": TEXTS[name], "masks": {"padding": False}},
    }
    if name == "translate-enja":
        patch["where"]["attention"] = "decoder"
    patch["from"]["interventions"] = [
        {"kind": "ablate", "where": {**patch["where"], "layer": 0, "role": "z", "head": 1}}
    ]
    asked = {"model": name, "text": TEXTS[name], "answer": 1}
    plain = await ask(client, "contributions", **asked)
    answer = await ask(client, "contributions", **asked, interventions=[patch])
    assert answer["logit"] != plain["logit"]
    assert answer["total"] == pytest.approx(answer["logit"], abs=1e-4)
    assert [term["part"] == "edited" for term in answer["terms"]].count(True) == (role == "attn_out")


@every_model
async def test_gradients(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    answer = await ask(client, "gradients", model=name, text=TEXTS[name], answer=1, row=0)
    agree(answer["runs"], [asdict(one) for one in gradient_norms(checkpoint, ids, 1, row=0, **options)])
    assert [run["residuals"] for run in answer["runs"]] == [True, False]


@every_model
async def test_heads(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    answer = await ask(client, "heads", model=name, text=TEXTS[name])
    agree(answer["heads"], [asdict(one) for one in labels(checkpoint, ids, **options)])
    assert answer["rules"] == {kind: {"threshold": at, "words": words} for kind, (at, words) in RULES.items()}


@every_model
async def test_units(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    expected = units(checkpoint, ids, k=3, **options)
    answer = await ask(client, "units", model=name, text=TEXTS[name], k=3)
    assert answer["unit"] is None
    each = ("top_positions", "top_values")
    agree(answer["ffns"], [{k: v for k, v in asdict(one).items() if k not in each} for one in expected])
    one = expected[-1]
    stack = "decoder" if options else None
    answer = await ask(client, "units", model=name, text=TEXTS[name], k=3, unit=7, layer=one.layer, stack=stack)
    agree(answer["unit"], {"path": one.path, "layer": one.layer, "unit": 7})
    agree(answer["unit"], {part: getattr(one, part)[7] for part in each})


@every_model
async def test_swap(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    answer = await ask(client, "swap", model=name, text=TEXTS[name], i=1, j=3)
    agree(answer["runs"], [asdict(one) for one in swap_tokens(checkpoint, ids, 1, 3, **options)])


async def test_places_of_a_swap_count_pads(client: AsyncClient, loaded: Library) -> None:
    checkpoint, ids, _ = run_of(loaded, "stories-gpt")
    text, pad = TEXTS["stories-gpt"], {"count": 2, "side": "left"}
    answer = await ask(client, "swap", text=text, pad=pad, i=3, j=5)
    agree(answer["runs"], [asdict(one) for one in swap_tokens(checkpoint, ids, 1, 3, pad=Padding(2, "left"))])
    error = await refused(client, "/api/explain/swap", 422, "bad_position", text=text, pad=pad, i=2, j=1)
    assert (error["where"], error["got"], error["limit"]) == ("j", 1, len(ids) + 1)


@every_model
async def test_residual(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    answer = await ask(client, "residual", model=name, text=TEXTS[name])
    expected = streams(checkpoint, ids, **options)
    for told, stream in zip(answer["streams"], expected, strict=True):
        agree(told, asdict(replace(stream, written=[])) | {"written": told["written"]})
        for one, written in zip(told["written"], stream.written, strict=True):
            agree(one, {"norm": written.norm, "relative": written.relative, "cosine": written.cosine})
            part = written.sublayer
            places = (part.reads.tap, part.writes.tap, part.leaves.tap)
            assert tuple(one["sublayer"][name] for name in ("before", "out", "after")) == places


@every_model
async def test_tables(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint = opened(loaded, name)
    answer = await ask(client, "neighbours", model=name, token_id=300, k=3, measure="dot")
    agree(answer, asdict(neighbours(checkpoint, 300, k=3, measure="dot")))
    assert set(answer["tokens"]) == {"300", *map(str, answer["ids"])}
    answer = await ask(client, "parameters", model=name)
    expected = count_parameters(checkpoint.model)
    assert [one["n"] for one in answer["counts"]] == [one.n for one in expected.counts]
    stacks = ["encoder", "decoder", None] if name == "translate-enja" else ["main", None]
    assert list(dict.fromkeys(one["stack"] for one in answer["counts"])) == stacks
    agree(answer, {"total": expected.total, "untied_total": expected.untied_total})


@every_model
async def test_positions(client: AsyncClient, loaded: Library, name: str) -> None:
    length = 200 if name == "translate-enja" else 20  # sinusoids continue beyond the window
    response = await client.post("/api/explain/positions", json={"model": name, "length": length})
    arrays, about = decode(response.content)
    expected = position_table(opened(loaded, name), length)
    assert (arrays["table"] == expected.table.numpy()).all()
    assert (arrays["similarity"] == expected.similarity.float().numpy()).all()
    assert {array.dtype for array in arrays.values()} == {np.dtype("float32")}
    dims = {"table": "position d_model", "similarity": "position position"}
    stack = "encoder" if name == "translate-enja" else "main"
    told = {"kind": expected.kind, "trained": expected.trained, "beyond": expected.beyond}
    assert about == told | {"stack": stack, "dims": dims}


async def test_a_run_is_as_it_was_asked_for(families: AsyncClient, three: Library) -> None:
    """Masks, PADs, interventions and a given target are applied."""
    translator, ids, target = opened(three, "translator"), list(b"abc"), list(b"xy")

    def forbid(reasons: torch.Tensor, _: int) -> torch.Tensor:
        reasons = reasons.clone(memory_format=torch.contiguous_format)
        reasons[:, 1, 2, 3] |= EDITED
        return reasons

    where = {"attention": "cross", "layer": 1, "head": 1, "query": 2, "key": 3}
    cell = {"kind": "mask", "where": where, "allow": False}
    request = {
        "model": "translator",
        "text": "abc",
        "target": "xy",
        "masks": {"causal": False, "padding": False},
        "pad": {"count": 1, "side": "right"},
        "interventions": [cell],
    }
    options: Options = {
        "target": target,
        "use": Masks(causal=False, padding=False),
        "pad": Padding(1, "right"),
        "edit": {"decoder.layers.1.cross_attn.mask": forbid},
    }
    agree((await ask(families, "lens", **request))["probability"], logit_lens(translator, ids, **options).probability)
    expected = [asdict(one) for one in gradient_norms(translator, ids, 7, **options)]
    agree((await ask(families, "gradients", **request, answer=7))["runs"], expected)
    plain = logit_lens(translator, ids, target=target).probability
    assert not torch.allclose(torch.tensor((await ask(families, "lens", **request))["probability"]).double(), plain)


async def test_a_stack_may_be_named(families: AsyncClient) -> None:
    for stack, sent in (("decoder", "decoder"), ("encoder", "encoder"), (None, "encoder")):
        response = await families.post("/api/explain/positions", json={"model": "translator", "stack": stack})
        assert decode(response.content)[1]["stack"] == sent


def test_what_is_no_number_is_null() -> None:
    nan, infinite = float("nan"), float("inf")
    assert (
        to_json({"a": [1.5, nan, [-infinite, 2]], "b": (nan, "é")})
        == '{"a":[1.5,null,[null,2]],"b":[null,"é"]}'.encode()
    )


@every_model
async def test_route(client: AsyncClient, loaded: Library, name: str) -> None:
    checkpoint, ids, options = run_of(loaded, name)
    answer = await ask(client, "route", model=name, text=TEXTS[name], pad={"count": 1})
    expected = route(checkpoint, ids, pad=Padding(1), **options)
    for told, river in zip(answer["rivers"], expected, strict=True):
        assert [told["layers"], told["tokens"]] == list(river.ffn.shape)
        assert (told["stack"], told["side"]) == (river.stack, river.side)
        agree(array(told["ffn"]), river.ffn)
        for flow, one in zip(told["flows"], river.flows, strict=True):
            assert (flow["attention"], flow["queries"], flow["keys"]) == (one.attention, one.queries, one.keys)
            agree(array(flow["share"]), one.share)
            agree(array(flow["own"]), one.residual)


def array(told: dict[str, Any]) -> np.ndarray:
    """An array of an answer in JSON."""
    return np.frombuffer(base64.b64decode(told["data"]), "<f4").reshape(told["shape"])


@every_model
async def test_changes_are_those_of_both_runs(client: AsyncClient, loaded: Library, name: str) -> None:
    """Without `places`: the sentence's own tokens, whatever PADs stand before them."""
    before = {"text": TEXTS[name]}
    asked = {"model": name, "text": TEXTS[name], "pad": {"count": 2}, "masks": {"padding": False}, "before": before}
    body = await ask(client, "changes", **asked)
    checkpoint, ids, options = run_of(loaded, name)
    traceable, target = ZooModel(checkpoint), options.get("target")
    runs = [ModelRun(ids, target, Masks(padding=False) if n else Masks(), Padding(n)) for n in (0, 2)]
    alone = traceable.trace(runs[0], [])
    written = alone.target_ids and list(range(len(alone.target_ids)))
    places: Places = {"source": [at + 2 for at in range(len(alone.ids))], "target": written}
    expected = changes_of(traceable, *runs, places)
    assert body["changes"] == [plain(one) for one in expected]
    assert max(max(row) for one in body["changes"] for row in one["pad"]) > 0.01


async def test_runs_that_cannot_be_compared_are_refused(client: AsyncClient) -> None:
    run = {"model": "stories-gpt", "text": "a b c"}
    other = {"before": {"text": "a b c", "model": "mini-softmax"}}
    assert (await refused(client, "/api/explain/changes", 422, "bad_source", **run | other))["where"] == "before.model"
    short = {"before": {"text": "a b c"}, "places": {"source": [0]}}
    assert (await refused(client, "/api/explain/changes", 422, "bad_source", **run | short))["got"] == 1
    far = {"before": {"text": "a"}, "places": {"source": [9]}}
    said = await refused(client, "/api/explain/changes", 422, "bad_position", **run | far)
    assert said["where"] == "places.source[0]"
    wrong = {"before": {"text": ""}}
    assert (await refused(client, "/api/explain/changes", 422, "empty_text", **run | wrong))["where"].startswith(
        "before"
    )
    longer = await client.post("/api/explain/changes", json=run | {"before": {"text": "a b c d"}})
    assert longer.json() == {"changes": []}
