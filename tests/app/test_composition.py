"""Interventions apply in the order of the list, whatever their kinds, also several on one tap."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from httpx import AsyncClient
from hypothesis import given, settings
from hypothesis import strategies as st

from chumoku.app.api.run import RunRequest
from chumoku.app.services.interventions import edits_of
from chumoku.app.services.interventions.site import Site
from chumoku.model.describe import describe
from chumoku.model.interventions import OtherRun
from chumoku.model.run import Run
from chumoku.model.trace import Trace
from chumoku.model.traceable import ZooModel
from tests.app.helpers import refused, trace
from tests.model.helpers import tiny_checkpoint

N_HEAD, N, D = 3, 4, 5
SOURCE = torch.randn(N_HEAD, N, D, generator=torch.Generator().manual_seed(1))
"""z in the run that a patch copies from."""
SPELT = ({"text": "dog"}, {"input": {"text": "dog"}}, {"model": "stories-gpt", "text": "dog"})
"""One run in three spellings."""


def ablate(head: int) -> dict[str, Any]:
    return {"kind": "ablate", "where": {"layer": 0, "head": head}}


def patch(head: int | None, query: int | None, text: str = "abcd") -> dict[str, Any]:
    return {"kind": "patch", "where": {"layer": 0, "role": "z", "head": head, "query": query}, "from": {"text": text}}


def mask(query: int, key: int, *, allow: bool, head: int | None = 0) -> dict[str, Any]:
    return {"kind": "mask", "where": {"layer": 0, "head": head, "query": query, "key": key}, "allow": allow}


def edited(asked: list[dict[str, Any]], x: torch.Tensor, first_query: int = 0) -> np.ndarray:
    """The tap that the interventions change, after all of them have been applied."""
    run = RunRequest.model_validate({"text": "abcd", "interventions": asked})
    lengths = {"source": N, "target": 0}
    description, model = describe(tiny_checkpoint().config), tiny_checkpoint().model.state_dict()
    source = OtherRun(lengths, tensors={description.attentions[0].tap("z", 0): SOURCE})
    site = Site(
        "tiny",
        description,
        lengths,
        lengths,
        lambda run, at: source,
        lambda: source,
        model.__getitem__,
        lambda tap: None,
        lambda text, at: source,
    )
    ((_, edit),) = edits_of(run.interventions, site).taps.items()
    before = x.clone()
    found = edit(x, first_query)
    torch.testing.assert_close(x, before)  # the tensor itself is left alone
    return found[0].numpy()


heads, queries = st.integers(0, N_HEAD - 1), st.integers(0, N - 1)
cuts = st.builds(ablate, heads)
patches = st.builds(patch, st.none() | heads, st.none() | queries)


@settings(max_examples=40)
@given(asked=st.lists(cuts | patches, min_size=1, max_size=6), first_query=st.integers(0, N - 1))
def test_heads_are_cut_and_patched_in_order(asked: list[dict[str, Any]], first_query: int) -> None:
    x = torch.randn(1, N_HEAD, N - first_query, D, generator=torch.Generator().manual_seed(2))
    expected, source = x[0].numpy().copy(), SOURCE.numpy()
    for item in asked:
        where = item["where"]
        head = slice(None) if where["head"] is None else where["head"]
        if item["kind"] == "ablate":
            expected[head] = 0
            continue
        for query in range(N) if where["query"] is None else [where["query"]]:
            if query >= first_query:
                expected[head, query - first_query] = source[head, query]
    np.testing.assert_array_equal(edited(asked, x, first_query), expected)


@settings(max_examples=40)
@given(
    asked=st.lists(st.builds(mask, queries, queries, allow=st.booleans(), head=st.none() | heads), min_size=1),
    first_query=st.integers(0, N - 1),
)
def test_cells_are_edited_in_order(asked: list[dict[str, Any]], first_query: int) -> None:
    reasons = torch.ones(N, N, dtype=torch.uint8).triu(1)
    expected = np.broadcast_to(reasons.numpy(), (N_HEAD, N, N)).copy()
    for item in asked:
        where = item["where"]
        head = slice(None) if where["head"] is None else where["head"]
        if item["allow"]:
            expected[head, where["query"], where["key"]] = 0
        else:
            expected[head, where["query"], where["key"]] |= 8
    rows = reasons[first_query:].expand(1, N_HEAD, -1, -1)
    np.testing.assert_array_equal(edited(asked, rows, first_query), expected[:, first_query:])


@pytest.mark.parametrize(("first", "reasons"), [(True, 8), (False, 0)])
def test_the_later_of_two_edits_of_a_cell_wins(first: bool, reasons: int) -> None:
    x = torch.zeros(1, N_HEAD, N, N, dtype=torch.uint8)
    found = edited([mask(2, 1, allow=first), mask(2, 1, allow=not first)], x)
    assert found[0, 2, 1] == reasons


async def test_cutting_a_head_makes_its_mask_irrelevant(client: AsyncClient) -> None:
    """Ablating a head before or after an edit of its mask: the mask is edited, and the head's output is 0."""
    cut, cell = {"kind": "ablate", "where": {"layer": 1, "head": 3}}, {"layer": 1, "head": 3, "query": 5, "key": 2}
    edit = {"kind": "mask", "where": cell, "allow": False}
    want = ["layers.1.attn.mask", "layers.1.attn.z", "logits"]
    alone, _ = await trace(client, want=want, interventions=[cut])
    for order in ([cut, edit], [edit, cut]):
        both, _ = await trace(client, want=want, interventions=order)
        assert both["layers.1.attn.mask"][3, 5, 2] == 8
        assert not both["layers.1.attn.z"][3].any()
        np.testing.assert_array_equal(both["logits"], alone["logits"])


async def test_a_patch_brings_another_runs_numbers(client: AsyncClient) -> None:
    tap, other = "layers.2.attn.z", {"text": "Once upon a time there was a little cat.", "masks": {"causal": False}}
    theirs, _ = await trace(client, want=[tap], **other)
    mine, _ = await trace(client, want=[tap])
    where = {"layer": 2, "role": "z", "head": 6, "query": 3}
    found, meta = await trace(client, want=[tap], interventions=[{"kind": "patch", "where": where, "from": other}])
    expected = mine[tap].copy()
    expected[6, 3] = theirs[tap][6, 3]
    np.testing.assert_array_equal(found[tap], expected)
    again, _ = await trace(client, **meta["run"] | {"text": None}, want=[tap])
    np.testing.assert_array_equal(again[tap], expected)


async def test_patching_a_run_with_itself_changes_nothing(client: AsyncClient) -> None:
    text = "Once upon a time there was a little dog."
    where = {"layer": 4, "role": "attn_out"}
    patch = {"kind": "patch", "where": where, "from": {"text": text}}
    plain, _ = await trace(client, text=text, want=["logits"])
    same, _ = await trace(client, text=text, want=["logits"], interventions=[patch])
    np.testing.assert_array_equal(same["logits"], plain["logits"])


async def test_what_cannot_be_patched_is_refused(client: AsyncClient) -> None:
    def asked(**changes: Any) -> dict[str, Any]:
        where = {"layer": 0, "role": "z"} | changes.pop("where", {})
        return {"text": "abc", "interventions": [{"kind": "patch", "where": where, "from": {"text": "abc"}} | changes]}

    at = "interventions[0]"
    for request, code, where in (
        (asked(where={"role": "zz"}), "unknown_role", f"{at}.where.role"),
        (asked(where={"role": "pattern"}), "bad_role", f"{at}.where.role"),
        (asked(where={"role": "q", "key": 1}), "bad_role", f"{at}.where.role"),
        (asked(where={"role": "k", "query": 1}), "bad_role", f"{at}.where.role"),
        (asked(where={"role": "k", "key": 40}), "bad_position", f"{at}.where.key"),
        (asked(where={"role": "attn_out", "head": 1}), "bad_role", f"{at}.where.role"),
        (asked(where={"head": 8}), "bad_head", f"{at}.where.head"),
        (asked(where={"query": 40}), "bad_position", f"{at}.where.query"),
        (asked(**{"from": {"text": "a much longer text"}}), "bad_source", f"{at}.from"),
        (asked(**{"from": {"text": "abc", "model": "translate-enja"}}), "bad_source", f"{at}.from.model"),
        (asked(**{"from": {"token_ids": [1, 99999]}}), "bad_token", f"{at}.from.token_ids[1]"),
        (asked(**{"from": {"text": "abc", "target": "a"}}), "cannot", f"{at}.from.target"),
        (
            asked(**{"from": {"text": "abc", "interventions": [ablate(8)]}}),
            "bad_head",
            f"{at}.from.interventions[0].where.head",
        ),
    ):
        error = await refused(client, "/api/trace", 422, code, **request)
        assert error["where"] == where
    both = asked(where={"role": "k", "query": 1, "key": 1})
    assert "not by both" in (await refused(client, "/api/trace", 422, "invalid_request", **both))["message"]
    nested = asked(**{"from": asked()})
    assert "cannot have patches" in (await refused(client, "/api/trace", 422, "invalid_request", **nested))["message"]


async def test_each_source_runs_once(client: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source runs once, however many patches and taps use it and however its text is given."""
    runs: list[list[str]] = []

    def counted(traceable: ZooModel, run: Run, names: Sequence[str]) -> Trace:
        runs.append(list(names))
        return real(traceable, run, names)

    real = ZooModel.trace
    monkeypatch.setattr(ZooModel, "trace", counted)
    asked = [patch(head, 0, "dog") | {"from": source} for head in range(8) for source in SPELT]
    asked += [{**item, "where": {**item["where"], "layer": 1}} for item in asked]
    await trace(client, text="cat", want=["logits"], interventions=asked)
    of_the_source, edited = runs
    assert of_the_source[:2] == ["layers.0.attn.z", "layers.1.attn.z"]
    assert edited == ["logits"]


async def test_sources_are_counted_by_run(client: AsyncClient) -> None:
    asked = [patch(0, 0, "a" * n) for n in range(1, 18)]
    error = await refused(client, "/api/trace", 422, "too_many_sources", text="abc", interventions=asked)
    assert (error["where"], error["limit"]) == ("interventions", 16)
    await trace(client, text="abc", want=["logits"], interventions=[*asked[:16], *asked[:16]])
