"""Traces: one sentence through one model, with the requested tensors."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from chumoku.app.api.answer import BUSY, REFUSALS, Answers
from chumoku.app.api.traces.address import query_of, request_of
from chumoku.app.api.traces.answer import ADDRESS, CROSS_SITE, TRACE_ANSWER, UNCHANGED
from chumoku.app.api.traces.schema import TraceRequest
from chumoku.app.errors import AppError
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.conditional import is_known, not_modified
from chumoku.app.http.responder import BYTES, Responder, ResponderDep
from chumoku.app.services.memory_budget import Reserve
from chumoku.app.services.metrics import Kind
from chumoku.app.services.request_coalescing import Answer, Question
from chumoku.app.services.tracing import answer
from chumoku.model.traceable import TraceableModel

router = APIRouter(prefix="/api", tags=["traces"], route_class=JsonRoute)
MANY = 1024
"""Candidates: a request that lists more gives way to others."""
SECONDS = 60
"""How long a browser or a proxy may show an answer before it asks whether it is still the same."""
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


async def own_pages(request: Request) -> None:
    """Other sites' pages could load addresses in their visitors' browsers, and so have this server work."""
    if request.headers.get("sec-fetch-site") == "cross-site":
        message = "A page of another site asked for this."
        raise AppError("cross_site", message, "Open the address itself.", status=403)


async def addressed(request: Request) -> TraceRequest:
    return request_of(request.scope["query_string"])


@router.get(
    "/trace",
    response_class=Response,
    responses={**RESPONSES, 304: UNCHANGED, 403: CROSS_SITE},
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
    kept = {"Cache-Control": f"{scope}, max-age={SECONDS}", "Content-Location": f"/api/trace?{query_of(request)}"}
    if question.etag is not None and is_known(http.headers, question.etag):
        return not_modified({"ETag": question.etag, **kept})
    response = await answered(responder, question, request)
    etag = response.headers.get("etag")
    if etag is None:  # the model's files change just now
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
