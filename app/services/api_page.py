"""The OpenAPI description as plain lists, for a page that people read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

Json = dict[str, Any]


@dataclass(frozen=True)
class Field:
    """One field of a schema; `link` is the schema of its value, if there is one."""

    name: str
    type: str
    link: str | None
    required: bool
    default: str | None
    limits: str
    description: str


@dataclass(frozen=True)
class Schema:
    name: str
    description: str
    fields: list[Field]


@dataclass(frozen=True)
class Endpoint:
    """One route: its request, its response, and a command that calls it."""

    method: str
    path: str
    summary: str
    description: str
    request: str | None
    responses: list[tuple[str, str, str | None]]
    curl: str


EXAMPLES: dict[str, Json] = {
    "/api/tokenize": {"text": "Once upon a time"},
    "/api/trace": {"text": "Once upon a time", "layers": [0], "predict": {"positions": [3]}},
    "/api/generate": {"text": "Once upon a time", "max_new_tokens": 8},
    "/api/generate/ways": {"text": "Once upon a time", "ways": 3, "max_new_tokens": 8},
    "/api/translate": {"text": "I ate a banana in the morning."},
    "/api/beams": {"text": "Once upon a time", "max_new_tokens": 4},
    "/api/explain/lens": {"text": "Once upon a time", "k": 3},
    "/api/explain/contributions": {"text": "Once upon a time", "row": 3},
    "/api/explain/writes": {"text": "Once upon a time", "row": 3, "layer": 0, "head": 0},
    "/api/explain/gradients": {"text": "Once upon a time", "row": 3},
    "/api/explain/heads": {"text": "Once upon a time"},
    "/api/explain/changes": {
        "text": "Once upon a time",
        "masks": {"causal": False},
        "before": {"text": "Once upon a time"},
    },
    "/api/explain/units": {"text": "Once upon a time", "unit": 0, "layer": 0},
    "/api/explain/swap": {"text": "Once upon a time", "i": 0, "j": 1},
    "/api/explain/residual": {"text": "Once upon a time"},
    "/api/explain/route": {"text": "Once upon a time"},
    "/api/explain/effects": {"text": "Once upon a time", "n": 8},
    "/api/explain/ablations": {"text": "Once upon a time"},
    "/api/explain/patches": {
        "text": "Tom has a red car. Tom likes his red",
        "from": {"text": "Tom has a red hat. Tom likes his red"},
    },
    "/api/explain/caching": {"text": "Once upon a time"},
    "/api/explain/forcing": {"text": "Once upon a time"},
    "/api/explain/prefix": {"text": "Once upon a time", "row": 1},
    "/api/explain/dropout": {"text": "Once upon a time", "n": 3},
    "/api/explain/neighbours": {"token_id": 100},
    "/api/explain/induction": {},
    "/api/explain/vocabulary": {"layer": 0, "head": 0, "token_id": 100},
    "/api/explain/positions": {"length": 16},
    "/api/explain/parameters": {},
    "/api/explain/cost": {},
    "/api/explain/timings": {},
    "/api/weights": {"want": ["*"], "rows": [0]},
}
OPTIONS = {
    "/api/trace": " -o trace.safetensors",
    "/api/open": " -N",
    "/api/generate": " -N",
    "/api/generate/ways": " -N",
    "/api/explain/effects": " -N",
    "/api/explain/ablations": " -N",
    "/api/explain/patches": " -N",
    "/api/explain/caching": " -N",
    "/api/explain/timings": " -N",
    "/api/explain/positions": " -o positions.safetensors",
    "/api/weights": " -o weights.safetensors",
}
IN_ROOMS: dict[str, str] = {
    "post /api/rooms": " -H 'Content-Type: application/json' -d '{}'",
    "post /api/rooms/join": """ -H 'Content-Type: application/json' -d '{"code": "K7QF3M", "name": "Aoi"}'""",
    "post /api/room": """ -H "X-Room-Key: $KEY" -H 'Content-Type: application/json'"""
    """ -d '{"message": {"kind": "lead", "link": "/#text=Once+upon+a+time"}}'""",
    "get /api/room": ' -H "X-Room-Key: $KEY"',
    "get /api/room/events": ' -N -H "X-Room-Key: $KEY"',
    "get /api/room/link": ' -H "X-Room-Key: $KEY"',
    "get /api/room/results": ' -H "X-Room-Key: $KEY"',
    "delete /api/room": ' -X DELETE -H "X-Room-Key: $KEY"',
}
"""What follows the address. The key is of the room that was opened, or of the pupil who joined."""
PICTURE = " -H 'Content-Type: image/png' --data-binary @picture.png"


def endpoints(openapi: Json, base: str, model: str) -> list[Endpoint]:
    """Every route, in the order of the description. `base` and `model` are the server's address and its default model,
    for the commands."""
    return [
        endpoint(method, path, operation, base, model)
        for path, operations in openapi["paths"].items()
        for method, operation in operations.items()
    ]


def endpoint(method: str, path: str, operation: Json, base: str, model: str) -> Endpoint:
    body = content_of(operation.get("requestBody", {}))
    return Endpoint(
        method=method.upper(),
        path=path,
        summary=operation.get("summary", ""),
        description=operation.get("description", ""),
        request=ref_name(body),
        responses=[
            (status, answer.get("description", ""), ref_name(content_of(answer)))
            for status, answer in operation["responses"].items()
        ],
        curl=curl(method, path, base, model),
    )


def curl(method: str, path: str, base: str, model: str) -> str:
    """A command that works as it is; in a room, with its key."""
    if (more := IN_ROOMS.get(f"{method} {path}")) is not None:
        return f"curl {base}{path}{more}"
    example = {"model": model} if path == "/api/open" and method == "post" else EXAMPLES.get(path)
    if method == "get" and example is not None:
        return f"curl{OPTIONS.get(path, '')} '{base}{path}?text={quote(example['text'])}'"
    if example is None:
        sent = PICTURE if method == "post" else ""
        return f"curl {base}{path.replace('{name}', quote(model, safe='')).replace('{function}', 'attend')}{sent}"
    body = json.dumps(example)
    return f"curl{OPTIONS.get(path, '')} {base}{path} -H 'Content-Type: application/json' -d '{body}'"


def content_of(part: Json) -> Json:
    """The schema of a body's first content type."""
    media: list[Json] = list(part.get("content", {}).values())
    schema: Json = media[0].get("schema", {}) if media else {}
    return schema


def ref_name(schema: Json) -> str | None:
    """`{"$ref": "#/components/schemas/Token"}` → Token; looks through lists and alternatives too."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    inner = [schema.get("items", {}), *schema.get("anyOf", []), *schema.get("oneOf", []), *schema.get("allOf", [])]
    return next((name for part in inner if part and (name := ref_name(part))), None)


def schemas(openapi: Json) -> list[Schema]:
    """Every named schema, except those of FastAPI's own errors, which we never return."""
    named = openapi.get("components", {}).get("schemas", {})
    return [
        Schema(name, schema.get("description", ""), fields(schema))
        for name, schema in named.items()
        if name not in ("HTTPValidationError", "ValidationError")
    ]


def fields(schema: Json) -> list[Field]:
    required = schema.get("required", [])
    return [
        Field(
            name=name,
            type=type_of(part),
            link=ref_name(part),
            required=name in required,
            default=json.dumps(part["default"]) if "default" in part else None,
            limits=limits_of(part),
            description=part.get("description", ""),
        )
        for name, part in schema.get("properties", {}).items()
    ]


def type_of(part: Json) -> str:
    """A field's type in words: `list of integer`, `string or null`, `"left" or "right"`."""
    if "$ref" in part:
        return str(ref_name(part))
    if "const" in part or "enum" in part:
        return " or ".join(json.dumps(value) for value in part.get("enum", [part.get("const")]))
    if alternatives := part.get("anyOf") or part.get("oneOf") or part.get("allOf"):
        return " or ".join(type_of(alternative) for alternative in alternatives)
    if part.get("type") == "array":
        return f"list of {type_of(part.get('items', {}))}"
    return str(part.get("type", "anything"))


LIMITS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
}


def limits_of(part: Json) -> str:
    """The limits of a field and of its alternatives, in words."""
    parts = [part, *part.get("anyOf", [])]
    return ", ".join(text.format(f"{each[key]:g}") for each in parts for key, text in LIMITS.items() if key in each)
