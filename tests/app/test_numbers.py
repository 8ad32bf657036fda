"""Every number of every request, at its smallest, largest, subnormal and −0: an answer or a refusal, never our failure.

Made from the OpenAPI schema, so that a new field is tried too.
"""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from httpx import AsyncClient

from chumoku.app.main import create_app

Json = Any
OPENAPI: dict[str, Any] = create_app().openapi()
SCHEMAS: dict[str, Any] = OPENAPI["components"]["schemas"]
FLOATS = (-0.0, 5e-324, 2.2250738585072014e-308, 1e-30, 1.7976931348623157e308, -5e-324, -1.7976931348623157e308)
WHOLE = (-1, 0, 1, -0.0, 2**31, 2**53 + 1, 2**63, -(2**63), 2**64, 10**40)
SENTENCE = ("text", "token_ids", "pixels", "input")
"""Exactly one is given."""
RUN = SCHEMAS["TraceRequest"]["properties"].keys() - {"want"}
"""Fields of a run, shared by most routes, are tried on `/api/trace`."""


def resolved(schema: Json) -> Json:
    return SCHEMAS[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def choices(schema: Json) -> list[Json]:
    return [one for one in schema.get("anyOf", schema.get("oneOf", [])) if one.get("type") != "null"]


def example(schema: Json) -> Json:
    """The smallest value of a schema."""
    schema = resolved(schema)
    if "examples" in schema or "const" in schema or "enum" in schema:
        return (schema.get("examples") or schema.get("enum") or [schema.get("const")])[0]
    if several := choices(schema):
        return example(several[0])
    kind = schema.get("type")
    if kind == "object":
        fields = schema.get("properties", {})
        first = [name for name in SENTENCE if name in fields][:1]
        return {name: example(fields[name]) for name in {*schema.get("required", ()), *first}}
    if kind == "array":
        return [example(schema["items"])]
    return "a" if kind == "string" else schema.get("minimum", schema.get("default", 0))


def extremes(schema: Json, above: tuple[str, ...] = ()) -> Iterator[Json]:
    """Values of a schema in which one number is extreme. A schema inside itself is entered once."""
    if (name := schema.get("$ref", "")) in above and name:
        return
    schema, above = resolved(schema), (*above, name)
    for one in choices(schema):
        yield from extremes(one, above)
    match schema.get("type"):
        case "object":
            for field, inside in schema.get("properties", {}).items():
                base = example(schema)
                if field in SENTENCE:
                    base = {key: value for key, value in base.items() if key not in SENTENCE}
                if field == "top_p":  # nearly the same probability for all: a small part of it is less than one token's
                    base["temperature"] = 100
                yield from (base | {field: value} for value in extremes(inside, above))
        case "array":
            yield from ([value] for value in extremes(schema["items"], above))
        case "integer" | "number" as kind:
            yield from numbers(schema, kind)


def numbers(schema: Json, kind: str) -> Iterator[float]:
    yield from WHOLE if kind == "integer" else FLOATS
    for limit in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if limit in schema:
            yield schema[limit]
            yield from () if kind == "integer" else (math.nextafter(schema[limit], end) for end in (-1e300, 1e300))


def schema_of(path: str) -> Json:
    return resolved(OPENAPI["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"])


def bodies(path: str) -> list[Json]:
    schema = schema_of(path)
    found = list(extremes(schema))
    if path == "/api/trace":
        return found
    smallest = example(schema)
    return [one for one in found if not RUN & {name for name in one if one[name] != smallest.get(name)}]


PATHS = [
    path
    for path, item in OPENAPI["paths"].items()
    if "application/json" in item.get("post", {}).get("requestBody", {}).get("content", {})
]


SHORT = {"max_new_tokens": 2}
"""A generation whose length is not what is tried: its numbers are in use from the first token."""


@pytest.mark.parametrize("path", PATHS)
async def test_an_extreme_number_is_answered_or_refused(families: AsyncClient, path: str) -> None:
    translator = {"model": "translator"} if path == "/api/translate" else {}
    short = SHORT if SHORT.keys() <= schema_of(path)["properties"].keys() else {}
    for body in bodies(path):
        content = json.dumps(short | translator | body)
        answer = await families.post(path, content=content, headers={"content-type": "application/json"})
        assert answer.status_code < 500, content
        # A stream has begun with 200, and tells a failure in an event.
        assert b'"code":"internal"' not in answer.content, content


def test_every_kind_of_number_is_tried() -> None:
    """Nested ones too: an intervention's factor, a row of a prediction, the sampling of a list of candidates."""
    tried = [json.dumps(body) for body in bodies("/api/trace")]
    for field in ('"top_p": 5e-324', '"temperature": -0.0', '"query": 9223372036854775808', '"positions": [-1]'):
        assert any(field in one for one in tried), field
    assert any('"top_p": 5e-324' in json.dumps(body) for body in bodies("/api/generate"))
