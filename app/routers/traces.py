"""One sentence through one model, with the tensors asked for."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response

from app.deps import LibraryDep, SettingsDep, WorkDep
from app.responses import BUSY, REFUSALS, TRACE_ANSWER, Answers
from app.schemas import TraceRequest
from app.services.tracing import Encoded, answer
from app.services.work import Done

router = APIRouter(prefix="/api", tags=["traces"])
SAFETENSORS = "application/octet-stream"
RESPONSES: Answers = {200: TRACE_ANSWER, **REFUSALS, **BUSY}


@router.post("/trace", response_class=Response, responses=RESPONSES)
async def trace(
    request: TraceRequest, http: Request, library: LibraryDep, settings: SettingsDep, work: WorkDep
) -> Response:
    """Run a sentence through a model and get the tensors that `want` names, as a safetensors body.

    Tensors carry the names of their taps and no batch dimension. Everything that is no tensor (tokens, dimension names,
    predictions) is JSON text in the metadata, under `chumoku`.
    """

    async def wanted() -> bool:
        return not await http.is_disconnected()

    job = partial(answer, library.get(request.model), request, settings.max_text_chars)
    done = await work.run(job, wanted=wanted)
    return Response(done.value.body, media_type=SAFETENSORS, headers={"Server-Timing": timing(done)})


def timing(done: Done[Encoded]) -> str:
    """`Server-Timing`, in milliseconds: waiting for a thread, the model, the encoding."""
    parts = {"queue": done.waited, "model": done.value.model_seconds, "encode": done.value.encode_seconds}
    return ", ".join(f"{name};dur={1000 * seconds:.2f}" for name, seconds in parts.items())
