"""Bodies of requests: long ones are parsed in a thread, and lists end at their first error."""

import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute
from httpx import AsyncClient

from chumoku.app.api.run import MAX_CHANGES, MAX_PATCHES
from chumoku.app.http import bodies
from chumoku.app.http.bodies import LONG, JsonRoute
from chumoku.app.main import ROUTERS
from tests.app.helpers import error_of, head, parse_events, refused

Json = dict[str, Any]
HEADER = {"content-type": "application/json"}
TEXT = "a little cat"
ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]


def padded(body: Json) -> bytes:
    """The body with enough spaces that it is read in a thread."""
    return json.dumps(body).encode() + b" " * LONG


def lists_in(schema: object) -> Iterator[Json]:
    """Every list of a core schema of pydantic's."""
    if isinstance(schema, dict):
        if schema.get("type") == "list":
            yield schema
        for value in schema.values():
            yield from lists_in(value)
    elif isinstance(schema, list | tuple):
        for value in schema:
            yield from lists_in(value)


def test_every_body_is_read_by_our_route() -> None:
    with_body = [route for route in ROUTES if bodies.model_of(route) is not None]
    assert len(with_body) > 15
    assert [route.path for route in with_body if not isinstance(route, JsonRoute)] == []


@pytest.mark.parametrize("route", [one for one in ROUTES if bodies.model_of(one) is not None], ids=lambda one: one.path)
def test_every_list_has_a_limit_and_ends_at_its_first_error(route: APIRoute) -> None:
    model = bodies.model_of(route)
    assert model is not None
    for found in lists_in(model.__pydantic_core_schema__):
        assert found.get("fail_fast")
        assert found.get("max_length")


@pytest.mark.parametrize(
    "body",
    [
        {"text": 7},
        {"text": TEXT, "colour": "red"},
        {"text": TEXT, "interventions": [{"kind": "explode"}]},
        {"text": TEXT, "predict": {"positions": [0], "n": 0, "top_p": 0}},
        {"text": "\ud800"},
        {},
        [1],
    ],
)
async def test_a_long_body_is_refused_as_a_short_one(families: AsyncClient, body: Json) -> None:
    short = await families.post("/api/trace", content=json.dumps(body).encode(), headers=HEADER)
    long = await families.post("/api/trace", content=padded(body), headers=HEADER)
    assert short.status_code == long.status_code == 422
    assert short.json() == long.json()


@pytest.mark.parametrize("body", [b"{", b'{"text": "\xff"}', b"9" * 5000, b"[" * 9000])
async def test_a_long_body_that_is_not_json(families: AsyncClient, body: bytes) -> None:
    short = await families.post("/api/trace", content=body, headers=HEADER)
    long = await families.post("/api/trace", content=b" " * LONG + body, headers=HEADER)
    assert short.status_code == long.status_code
    assert short.json() == long.json()


async def test_a_long_body_is_answered_as_a_short_one(families: AsyncClient) -> None:
    body = {"text": TEXT, "want": ["logits"], "interventions": [head()]}
    short, long = [
        await families.post("/api/trace", content=content, headers=HEADER)
        for content in (json.dumps(body).encode(), padded(body))
    ]
    assert short.status_code == 200
    assert short.content == long.content  # kept: a request is the same, however it was read
    assert short.headers["etag"] == long.headers["etag"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "a", "max_new_tokens": 1}',
        b'{"text": "a", "max_new_tokens": 1, "pad": {"count": 1}, "temperature": 0}',
        b'{"text": 7}',
        b'{"text": "a", "colour": "red"}',
        b'{"text": "\\ud800"}',
        b'{"text": "a", "pad": {"count": 1, "side": "right"}}',
        b'{"text": "a", "model": "nobody"}',
        b'"text"',
        b"{",
        b'{"text": "\xff"}',
        b"[" * 9000,
        b"",
    ],
)
@pytest.mark.parametrize("path", ["/api/generate", "/api/generate/ways"])
async def test_a_route_called_directly_answers_as_fastapi_would(families: AsyncClient, path: str, body: bytes) -> None:
    """Which reads a content type with a parameter."""
    direct, fastapis = [
        await families.post(path, content=body, headers={"content-type": kind})
        for kind in ("application/json", "application/json; charset=utf-8")
    ]
    assert direct.status_code == fastapis.status_code
    assert direct.headers["content-type"] == fastapis.headers["content-type"]
    if direct.status_code == 200:
        names, others = ([name for name, _ in parse_events(one.text)] for one in (direct, fastapis))
        assert names == others
    else:
        assert direct.json() == fastapis.json()


async def test_a_long_body_needs_its_content_type(families: AsyncClient) -> None:
    answer = await families.post("/api/trace", content=padded({"text": TEXT}))
    assert "Content-Type" in error_of(answer, 422, "invalid_request")["hint"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"text": "a"} | {f"field{n}": 1 for n in range(5000)}, id="by its schema"),
        pytest.param({"text": "a" * 40_000}, id="in a worker thread"),
    ],
)
async def test_a_long_body_that_was_refused_leaves_nothing_to_collect(families: AsyncClient, body: Json) -> None:
    """Garbage that refers to itself stays until it is collected: here that would be what the body held."""
    content = json.dumps(body).encode()
    await families.post("/api/trace", content=content, headers=HEADER)
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        answer = await families.post("/api/trace", content=content, headers=HEADER)
        gc.collect()
        held = [one for found in gc.garbage for one in gc.get_referents(found)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert answer.status_code == 422
    assert [one for one in held if isinstance(one, str | dict) and len(one) >= 5000] == []


async def test_interventions_have_a_limit_with_those_of_other_runs(families: AsyncClient) -> None:
    def patches(n: int, inside: int) -> list[Json]:
        source = {"text": TEXT, "interventions": [head()] * inside}
        return [{"kind": "patch", "where": {"layer": 0, "role": "z", "query": 0}, "from": source}] * n

    for changes in ([head()] * (MAX_CHANGES + 1), patches(8, MAX_CHANGES // 8)):
        error = await refused(families, "/api/trace", 422, "invalid_request", text=TEXT, interventions=changes)
        assert error["where"] == "interventions"
        assert f"more than {MAX_CHANGES}" in error["message"]
        assert "whole row" in error["message"]
    error = await refused(
        families, "/api/trace", 422, "invalid_request", text=TEXT, interventions=patches(MAX_PATCHES + 1, 0)
    )
    assert f"at most {MAX_PATCHES}" in error["message"]
    for changes in ([head()] * MAX_CHANGES, patches(8, MAX_CHANGES // 8 - 1), patches(MAX_PATCHES, 0)):
        answer = await families.post("/api/trace", json={"text": TEXT, "want": [], "interventions": changes})
        assert answer.status_code == 200
