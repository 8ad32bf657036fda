"""Traces: one sentence through one model, with the requested tensors, by POST or at an address.

Each field of the request is a parameter of the address: texts as they are, everything else as JSON. The canonical
address has the fields in alphabetical order, without those that have their default, and JSON without spaces and with
sorted keys, all of it escaped as JavaScript's `encodeURIComponent` does.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from chumoku.app.api.answers import BUSY, CROSS_SITE, REFUSALS, Answers
from chumoku.app.api.requests import TraceRequest
from chumoku.app.api.schema import MAX_FIELDS
from chumoku.app.errors import AppError
from chumoku.app.http.access import own_pages
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.conditional import is_known, not_modified
from chumoku.app.http.responder import BYTES, Responder, ResponderDep
from chumoku.app.services.memory_budget import Reserve
from chumoku.app.services.metrics import Kind
from chumoku.app.services.request_coalescing import Answer, Question
from chumoku.app.services.tracing import answer
from chumoku.model.traceable import TraceableModel

TEXTS = ("model", "text", "target", "dtype", "format")
TOKEN = "token"
"""The server's token may be in any address (app/http/access.py). The request does not contain it."""
UNESCAPED = "!'()*"


def request_of(query: bytes) -> TraceRequest:
    """Parses a query into a request. Raises `invalid_text`, `invalid_request` and `RequestValidationError`."""
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
    """A field's value. Unknown fields are refused later."""
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


TRACE_ANSWER: dict[str, Any] = {
    "description": "A safetensors (or .npz) body; the metadata's `chumoku` is JSON text: version, produced_by, model, "
    "family, config, special, never_sampled, max_seq_len, text, read_text, tokens, "
    "n_characters, position_ids, second, token_type_ids, target_tokens, target_position_ids, target_text, "
    "target_from, heads, run, masks, pad, "
    "interventions, dtype, dims, scale, seconds, predictions, classes, notes; and `detail`, if there is one.",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
UNCHANGED = {"description": "The client's copy is current (`If-None-Match`)."}


def parameter(name: str, field: FieldInfo) -> dict[str, Any]:
    """A field of the request as a parameter of the query."""
    example = "Once upon a time" if name == "text" else None
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": ("" if name in TEXTS else "JSON. ") + (field.description or ""),
        "schema": {"type": "string"} | ({"example": example} if example else {}),
    }


ADDRESS: dict[str, Any] = {"parameters": [parameter(*one) for one in TraceRequest.model_fields.items()]}


router = APIRouter(prefix="/api", tags=["traces"], route_class=JsonRoute)
MANY = 1024
"""Most candidates of a cheap request; one that lists more is expensive."""
SECONDS = 60
"""Seconds for which a browser or proxy may use an answer before it revalidates."""
RESPONSES: Answers = {200: TRACE_ANSWER, **REFUSALS, **BUSY}


@router.post("/trace", response_class=Response, responses=RESPONSES)
async def trace(request: TraceRequest, responder: ResponderDep) -> Response:
    """Run a sentence through a model and return the tensors that `want` names, as a safetensors body.

    Tensors are named by their taps and have no batch dimension. Everything else (tokens, dimension names,
    predictions) is JSON text in the metadata, under `chumoku`. With `format: "npz"` the body is for `numpy.load`, and
    the same JSON text is the array `__metadata__`.

    An encoder-decoder also reads a target: `target` or `target_ids`, or else its own greedy translation. For an
    encoder-only model, the metadata has the `classes`.
    """
    return await answered(responder, asked(request, responder), request)


async def addressed(request: Request) -> TraceRequest:
    return request_of(request.scope["query_string"])


@router.get(
    "/trace",
    response_class=Response,
    responses={**RESPONSES, 304: UNCHANGED, **CROSS_SITE},
    openapi_extra=ADDRESS,
    dependencies=[Depends(own_pages)],
)
async def trace_at_address(
    http: Request, request: Annotated[TraceRequest, Depends(addressed)], responder: ResponderDep
) -> Response:
    """The same as an address that proxies and browsers can keep: each field is a parameter of the query, a text as it
    is, everything else as JSON.

    The answer's `ETag` follows from the request, the model's files and the version; `Content-Location` is the
    canonical address. **Addresses end up in logs and histories**: a text that must not be there belongs in a POST.
    """
    question = asked(request, responder)
    scope = "public" if responder.state.settings.token is None else "private"
    kept = {"Cache-Control": f"{scope}, max-age={SECONDS}", "Content-Location": f"trace?{query_of(request)}"}
    if question.etag is not None and is_known(http.headers, question.etag):
        return not_modified({"ETag": question.etag, **kept})
    response = await answered(responder, question, request)
    etag = response.headers.get("etag")
    if etag is None:  # the model's files are changing
        return response
    if is_known(http.headers, etag):
        return not_modified({"ETag": etag, **kept})
    response.headers.update(kept)
    return response


def asked(request: TraceRequest, responder: Responder) -> Question:
    def make(traceable: TraceableModel, reserve: Reserve) -> Answer:
        limit, languages = responder.state.settings.max_text_chars, responder.state.library.languages
        return answer(traceable, request, limit, languages, reserve)

    return responder.question(request, make, kind_of(request))


async def answered(responder: Responder, question: Question, request: TraceRequest) -> Response:
    name = attachment(question.entry.name, request.format)
    return await responder.respond(question, BYTES, {"Content-Disposition": name})


def kind_of(request: TraceRequest) -> Kind:
    """Many listed predictions take longer than the run."""
    return "predictions" if request.predict and request.predict.listed > MANY else "trace"


def attachment(model: str, suffix: str) -> str:
    """The file name for a browser. ASCII, because headers allow nothing else."""
    name = re.sub(r"[^\w.-]+", "-", model, flags=re.ASCII).strip("-.") or "model"
    return f'attachment; filename="chumoku-{name}.{suffix}"'
