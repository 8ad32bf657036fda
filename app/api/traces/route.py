"""Traces: one sentence through one model, with the requested tensors."""

from __future__ import annotations

import re

from fastapi import APIRouter, Response

from app.api.answer import BUSY, REFUSALS, Answers
from app.api.traces.answer import TRACE_ANSWER
from app.api.traces.schema import TraceRequest
from app.http.deps import ClaimDep, LibraryDep, SeenDep, SettingsDep, WantedDep, WorkDep
from app.http.paced import Paced
from app.services.metrics import Kind
from app.services.tracing import Encoded, answer
from app.services.work import Done

router = APIRouter(prefix="/api", tags=["traces"])
BYTES = "application/octet-stream"
MANY = 1024
"""Candidates: a request that lists more gives way to others."""
RESPONSES: Answers = {200: TRACE_ANSWER, **REFUSALS, **BUSY}


@router.post("/trace", response_class=Response, responses=RESPONSES)
async def trace(
    request: TraceRequest,
    library: LibraryDep,
    settings: SettingsDep,
    work: WorkDep,
    claim: ClaimDep,
    seen: SeenDep,
    wanted: WantedDep,
) -> Response:
    """Run a sentence through a model and return the tensors that `want` names, as a safetensors body.

    Tensors are named by their taps and have no batch dimension. Everything else (tokens, dimension names,
    predictions) is JSON text in the metadata, under `chumoku`. With `format: "npz"` the body is for `numpy.load`, and
    the same JSON text is the array `__metadata__`.

    An encoder-decoder also reads a target: `target` or `target_ids`, or else its own greedy translation. For an
    encoder-only model, the metadata has the `classes`.
    """

    def job() -> Encoded:
        with library.use(entry) as subject:
            return answer(subject, request, settings.max_text_chars, library.languages, claim.take)

    entry = library.find(request.model)
    seen.model, seen.text = entry.name, request.sentence.text
    done = await work.run(job, kind=kind_of(request), wanted=wanted)
    seen.n_tokens = done.value.n_tokens
    headers = {"Server-Timing": timing(done), "Content-Disposition": attachment(entry.name, request.format)}
    claim.settle(len(done.value.body))
    return Paced(done.value.body, media_type=BYTES, headers=headers)


def kind_of(request: TraceRequest) -> Kind:
    """Many listed predictions take longer than the run."""
    return "predictions" if request.predict and request.predict.listed > MANY else "trace"


def attachment(model: str, suffix: str) -> str:
    """The file name for a browser. ASCII, because headers allow nothing else."""
    name = re.sub(r"[^\w.-]+", "-", model, flags=re.ASCII).strip("-.") or "model"
    return f'attachment; filename="chumoku-{name}.{suffix}"'


def timing(done: Done[Encoded]) -> str:
    """`Server-Timing`, in milliseconds: waiting for a thread (behind so many others), the model, the encoding."""
    queue = f'queue;dur={1000 * done.waited:.2f};desc="{done.ahead} ahead"'
    model, encode = 1000 * done.value.model_seconds, 1000 * done.value.encode_seconds
    return f"{queue}, model;dur={model:.2f}, encode;dur={encode:.2f}"
