"""A trace's request as the query of an address, and back.

Each field of the request is a parameter: texts as they are, everything else as JSON. One request has many addresses.
The canonical one has the fields in alphabetical order, without those that have their default, and JSON without spaces
and with sorted keys, all of it escaped as JavaScript's `encodeURIComponent` does.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, quote

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from chumoku.app.api.schema import MAX_FIELDS
from chumoku.app.api.traces.schema import TraceRequest
from chumoku.app.errors import AppError

TEXTS = ("model", "text", "target", "dtype", "format")
TOKEN = "token"
"""The server's token may be in any address (app/http/access.py). The request does not contain it."""
UNESCAPED = "!'()*"


def request_of(query: bytes) -> TraceRequest:
    """The request that a query spells. Raises `invalid_text`, `invalid_request` and `RequestValidationError`."""
    pairs = [(name, value) for name, value in pairs_of(query) if name != TOKEN]
    fields = {name: value_of(name, text) for name, text in pairs}
    if len(fields) < len(pairs):
        raise AppError("invalid_request", "A field is there twice.", "Write a list as JSON, in one field.")
    try:
        return TraceRequest.model_validate(fields)
    except ValidationError as error:
        complaints = error.errors(include_url=False)
        raise RequestValidationError([{**one, "loc": ("query", *one["loc"])} for one in complaints]) from None


def pairs_of(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError:
        hint = "Escape it as encodeURIComponent does."
        raise AppError("invalid_text", "This is not valid text: it is not UTF-8.", hint) from None
    except ValueError:
        raise AppError("invalid_request", "These are more fields than exist.", "/docs lists the fields.") from None


def value_of(name: str, text: str) -> Any:
    """A field's value. A field that does not exist is refused later."""
    if name in TEXTS or name not in TraceRequest.model_fields:
        return text
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        message = f"{name} is not valid text: it holds half of a character."
        raise AppError("invalid_text", message, "Delete that character.", where=name) from None
    except (ValueError, RecursionError):
        hint = f"Only {', '.join(TEXTS)} are written as they are; every other field is JSON."
        raise AppError("invalid_request", f"{name} is not JSON.", hint, where=name) from None
    return value


def query_of(request: TraceRequest) -> str:
    """The canonical query."""
    fields = request.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return "&".join(f"{name}={escaped(name, fields[name])}" for name in sorted(fields))


def escaped(name: str, value: Any) -> str:
    text = value if name in TEXTS else json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return quote(text, safe=UNESCAPED)
