"""Requests that cannot be explained are refused in the usual shape, with the limit and what to do."""

from typing import Any

from httpx import AsyncClient

from tests.app.helpers import refused

A = {"text": "abc"}
CLASSIFIER: dict[str, Any] = {"model": "classifier", "text": "abc"}
TRANSLATOR: dict[str, Any] = {"model": "translator", "text": "abc"}
MISTAKES: list[tuple[str, dict[str, Any], str, str | None]] = [
    ("lens", {}, "invalid_request", None),
    ("lens", {"text": ""}, "empty_text", "text"),
    ("lens", A | {"k": 0}, "invalid_request", "k"),
    ("lens", A | {"k": 101}, "invalid_request", "k"),
    ("lens", A | {"want": ["*"]}, "invalid_request", "want"),
    ("lens", A | {"target": "b"}, "cannot", "target"),
    ("lens", A | {"pad": {"count": 62}}, "too_long", "text"),
    ("lens", A | {"interventions": [{"kind": "ablate", "where": {"layer": 2, "head": 0}}]}, "bad_layer",
     "interventions[0].where.layer"),
    ("contributions", A | {"answer": 258}, "bad_token", "answer"),
    ("contributions", A | {"answer": 10**30}, "bad_token", "answer"),
    ("contributions", A | {"answer": -1}, "invalid_request", "answer"),
    ("contributions", A | {"against": 258}, "bad_token", "against"),
    ("contributions", A | {"row": 3}, "bad_position", "row"),
    ("contributions", A | {"row": 0, "pad": {"count": 1}}, "bad_position", "row"),
    ("contributions", CLASSIFIER | {"answer": 3}, "bad_class", "answer"),
    ("contributions", CLASSIFIER | {"row": 1}, "bad_position", "row"),
    ("writes", A | {"layer": 2, "head": 0}, "bad_layer", "layer"),
    ("writes", A | {"layer": 0, "head": 9}, "bad_head", "head"),
    ("writes", A | {"attention": "x", "layer": 0, "head": 0}, "unknown_attention", "attention"),
    ("writes", TRANSLATOR | {"attention": "encoder", "layer": 0, "head": 0}, "unsupported", "attention"),
    ("gradients", A | {"answer": 258}, "bad_token", "answer"),
    ("gradients", A | {"answer": 257}, "bad_token", "answer"),
    ("gradients", TRANSLATOR | {"answer": 258}, "bad_token", "answer"),
    ("gradients", A | {"row": 10**30}, "bad_position", "row"),
    ("gradients", A | {"against": 1}, "invalid_request", "against"),
    ("gradients", TRANSLATOR | {"target": "b", "row": 2}, "bad_position", "row"),
    ("route", A | {"answer": 1}, "invalid_request", "answer"),
    ("effects", A | {"n": 0}, "invalid_request", "n"),
    ("ablations", A | {"answer": 257}, "bad_token", "answer"),
    ("ablations", A | {"row": 3}, "bad_position", "row"),
    ("ablations", A | {"keys_of": {"layer": 2, "query": 1}}, "bad_layer", "keys_of.layer"),
    ("ablations", A | {"keys_of": {"layer": 0, "query": 3}}, "bad_position", "keys_of.query"),
    ("ablations", A | {"keys_of": {"layer": 0, "query": 1, "head": 9}}, "bad_head", "keys_of.head"),
    ("patches", A, "invalid_request", "from"),
    ("vocabulary", {"layer": 0, "head": 9, "token_id": 1}, "bad_head", "head"),
    ("vocabulary", {"layer": 2, "head": 0, "token_id": 1}, "bad_layer", "layer"),
    ("vocabulary", {"layer": 0, "head": 0, "token_id": 999}, "bad_token", "token_id"),
    ("vocabulary", {"model": "classifier", "layer": 0, "head": 0, "token_id": 1}, "unsupported", "attention"),
    ("induction", {"model": "classifier"}, "unsupported", "model"),
    ("vocabulary", {"model": "translator", "attention": "cross", "layer": 0, "head": 0, "token_id": 1}, "unsupported",
     "attention"),
    ("patches", A | {"from": {"text": "ab"}}, "bad_source", "from"),
    ("patches", A | {"from": A}, "bad_source", "from"),
    ("patches", A | {"answer": 3, "against": 3, "from": A}, "bad_source", "against"),
    ("patches", A | {"answer": 3, "against": 4, "from": A}, "bad_source", "from"),
    ("patches", A | {"answer": 3, "against": 257, "from": A}, "bad_token", "against"),
    ("patches", A | {"from": A | {"model": "classifier"}}, "bad_source", "from.model"),
    ("patches", A | {"from": A | {"token_ids": [1]}}, "invalid_request", "from"),
    ("patches", A | {"from": {"token_ids": [999]}}, "bad_token", "from.token_ids[0]"),
    ("patches", A | {"row": 3, "from": A}, "bad_position", "row"),
    ("patches", A | {"from": {"text": "abd"}, "paths": {"to": {"layer": 2, "head": 0, "role": "q"}}}, "bad_layer",
     "paths.to.layer"),
    ("patches", A | {"from": {"text": "abd"}, "paths": {"to": {"layer": 1, "head": 9, "role": "q"}}}, "bad_head",
     "paths.to.head"),
    ("patches", A | {"from": {"text": "abd"}, "paths": {"to": {"layer": 1, "head": 0, "role": "z"}}},
     "invalid_request", "paths.to.role"),
    ("effects", A | {"n": 257}, "invalid_request", "n"),
    ("effects", A | {"answer": 257}, "bad_token", "answer"),
    ("effects", A | {"row": 3}, "bad_position", "row"),
    ("effects", CLASSIFIER | {"row": 1}, "bad_position", "row"),
    ("effects", A | {"edges": [{"layer": 0, "query": 1}]}, "invalid_request", "edges[0].key"),
    ("effects", A | {"edges": [{"layer": 2, "query": 1, "key": 0}]}, "bad_layer", "edges[0].layer"),
    ("effects", A | {"edges": [{"layer": 0, "query": 1, "key": 0, "head": 9}]}, "bad_head", "edges[0].head"),
    ("effects", A | {"edges": [{"layer": 0, "query": 3, "key": 0}]}, "bad_position", "edges[0].query"),
    ("effects", A | {"edges": [{"layer": 0, "query": 2, "key": 10**30}]}, "bad_position", "edges[0].key"),
    ("effects", A | {"edges": [{"attention": "cross", "layer": 0, "query": 1, "key": 0}]}, "unknown_attention",
     "edges[0].attention"),
    ("units", A | {"k": 101}, "invalid_request", "k"),
    ("units", A | {"unit": 1}, "invalid_request", None),
    ("units", A | {"layer": 1}, "invalid_request", None),
    ("units", A | {"unit": 22, "layer": 0}, "bad_unit", "unit"),
    ("units", A | {"unit": 0, "layer": 2}, "bad_layer", "layer"),
    ("units", A | {"unit": 0, "layer": 0, "stack": "encoder"}, "unknown_stack", "stack"),
    ("units", TRANSLATOR | {"unit": 0, "layer": 0, "stack": "encodr"}, "unknown_stack", "stack"),
    ("swap", A | {"i": 0}, "invalid_request", "j"),
    ("swap", A | {"i": 0, "j": 3}, "bad_position", "j"),
    ("swap", {"text": "aa", "i": 0, "j": 1}, "same_token", "j"),
    ("swap", {"text": "a", "i": 0, "j": 0}, "same_token", "j"),
    ("swap", CLASSIFIER | {"i": 0, "j": 1}, "bad_position", "i"),
    ("neighbours", {}, "invalid_request", "token_id"),
    ("neighbours", {"token_id": 258}, "bad_token", "token_id"),
    ("neighbours", {"token_id": 1, "k": 10**30}, "invalid_request", "k"),
    ("neighbours", {"token_id": 1, "measure": "l2"}, "invalid_request", "measure"),
    ("neighbours", {"token_id": 1, "text": "a"}, "invalid_request", "text"),
    ("positions", {"length": 0}, "invalid_request", "length"),
    ("positions", {"length": 65}, "too_long", "length"),
    ("positions", {"length": 10**30}, "too_long", "length"),
    ("positions", {"stack": "decoder"}, "unknown_stack", "stack"),
    ("positions", {"model": "translator", "stack": ""}, "unknown_stack", "stack"),
    ("parameters", {"text": "a"}, "invalid_request", "text"),
]  # fmt: skip


async def test_mistakes(families: AsyncClient) -> None:
    for route, request, code, where in MISTAKES:
        error = await refused(families, f"/api/explain/{route}", 422, code, **request)
        assert error.get("where") == where, (route, request)


async def test_an_error_says_the_limit_and_what_to_do(families: AsyncClient) -> None:
    error = await refused(families, "/api/explain/contributions", 422, "bad_token", **A, answer=999)
    assert (error["got"], error["limit"]) == (999, 257)
    assert "257" in error["hint"]
    error = await refused(families, "/api/explain/lens", 404, "unknown_model", **A, model="gtp")
    assert "'gpt'" in error["hint"]
    error = await refused(
        families, "/api/explain/units", 422, "unknown_stack", **TRANSLATOR, unit=0, layer=0, stack="x"
    )
    assert error["known"] == ["encoder", "decoder"]
