"""Models: descriptions, the pictures they read, parameters, and the source code of their formulas."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from chumoku.app.api.answers import BUSY, REFUSALS, Answers, tensors_answer
from chumoku.app.api.model_answers import ChatResponse, ModelDetail, ModelsResponse, PicturesResponse, PixelsResponse
from chumoku.app.api.requests import ChatRequest, WeightsRequest
from chumoku.app.errors import AppError, unknown_name
from chumoku.app.http.backpressure import SlicedResponse
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.deps import BuiltDep, ClaimDep, DecodingDep, JobQueueDep, LibraryDep, SeenDep, SettingsDep
from chumoku.app.http.responder import ResponderDep
from chumoku.app.services.chat import chat
from chumoku.app.services.models import all_models, detailed, pictures, weights_answer
from chumoku.app.services.pictures import fitted
from chumoku.model.source_code import SOURCES
from chumoku.model.source_code import source as lines_of

FILE = {
    "required": True,
    "description": "The file, as it is.",
    "content": {f"image/{kind}": {"schema": {"type": "string", "format": "binary"}} for kind in ("png", "jpeg")},
}
FILES = ("image/", "application/octet-stream")
"""Content types of a file. Browsers send them to another site only after a CORS preflight."""
UNKNOWN: Answers = {status: REFUSALS[status] for status in (404, 422)}

router = APIRouter(prefix="/api", tags=["models"], route_class=JsonRoute)


@router.get("/models", response_model=ModelsResponse)
async def models(request: Request, library: LibraryDep, built: BuiltDep) -> Response:
    """All models: their shape and their card. No weights are loaded for this."""
    library.refresh()
    key = "models", library.default, *library.names, *library.problems
    return await built.response(request.headers, key, lambda: as_bytes(ModelsResponse, all_models(library)))


@router.get("/models/{name}", response_model=ModelDetail, responses=UNKNOWN)
async def model(name: str, request: Request, library: LibraryDep, built: BuiltDep, settings: SettingsDep) -> Response:
    """One model, or a snapshot of it (`name@step`), with its description: its stacks, attentions, roles, tensors and
    parameters."""
    entry = library.find(name)
    failures = [one.failure and one.failure.reason for one in (entry.of or entry).snapshots.values()]
    return await built.response(
        request.headers,
        ("model", name, *failures),
        lambda: as_bytes(ModelDetail, detailed(entry, str(library.device), settings)),
    )


@router.get("/models/{name}/pictures", response_model=PicturesResponse, responses=UNKNOWN)
async def model_pictures(name: str, request: Request, library: LibraryDep, built: BuiltDep) -> Response:
    """The pictures that were held out of a model's training, with their classes."""
    entry = library.find(name)
    return await built.response(
        request.headers, ("pictures", name), lambda: as_bytes(PicturesResponse, pictures(entry))
    )


async def sent_as_file(request: Request) -> None:
    """Refuses content types that another site's page could post without a preflight, to keep it from using this
    server."""
    kind = request.headers.get("content-type", "")
    if not kind.lower().startswith(FILES):
        message = f"A picture is not sent as {kind}." if kind else "The request has no Content-Type."
        hint = "Send the file with the header Content-Type: image/png, image/jpeg or application/octet-stream."
        raise AppError("invalid_request", message, hint)


@router.post(
    "/models/{name}/pixels",
    response_model=PixelsResponse,
    responses=REFUSALS,
    openapi_extra={"requestBody": FILE},
    dependencies=[Depends(sent_as_file)],
)
async def model_pixels(
    name: str,
    request: Request,
    library: LibraryDep,
    settings: SettingsDep,
    work: JobQueueDep,
    claim: ClaimDep,
    decoding: DecodingDep,
    seen: SeenDep,
) -> Response:
    """An uploaded PNG or JPEG as the pixels that a model reads: upright, on white, resized as the model's image
    processor says. It is not stored."""
    entry = library.find(name)
    seen.model = entry.name
    file = await request.body()
    with decoding.claim() as working:

        def fit() -> bytes:
            found = fitted(entry.about, file, settings.upload_pixels, claim.take, working.take)
            return as_bytes(PixelsResponse, found)

        body = await work.without_model(fit)
    claim.settle(len(body))
    return SlicedResponse(body, media_type="application/json")


@router.post("/models/{name}/chat", response_model=ChatResponse, responses=REFUSALS)
async def model_chat(
    name: str, request: ChatRequest, library: LibraryDep, settings: SettingsDep, work: JobQueueDep, seen: SeenDep
) -> dict[str, Any]:
    """Turns of a chat as the text that the model's chat template makes of them. The template is rendered in a sandbox,
    in a process with limits on time and memory. The answer's `input` is that of a run."""
    entry = library.find(name)
    seen.model = entry.name
    return await work.without_model(lambda: chat(entry.about, request, settings.max_text_chars))


def as_bytes(shape: type[BaseModel], fields: dict[str, Any]) -> bytes:
    return shape.model_validate(fields).model_dump_json().encode()


WEIGHTS_ANSWER = tensors_answer("the parameters, float32; the metadata's `chumoku` is JSON text: model, dims.")


@router.post("/weights", response_class=Response, responses={200: WEIGHTS_ANSWER, **REFUSALS, **BUSY})
async def weights(request: WeightsRequest, responder: ResponderDep) -> Response:
    """A model's parameters as a safetensors body in float32: those that `want` names, at most 64 MB at once.

    A matrix W [out in] is used as x·Wᵀ + b. A tied matrix is listed under each of its names.
    """
    return await responder.tensors(request, weights_answer)


class SourceResponse(BaseModel):
    name: str
    object: str = Field(description="The function, qualified by its class.", examples=["MultiHeadAttention.attend"])
    file: str = Field(examples=["model/mechanisms/softmax.py"])
    line: int = Field(description="The first line in the file, from 1.")
    code: str


UNKNOWN_SOURCE: Answers = {404: {**REFUSALS[404], "description": "`unknown_source`"}, 422: REFUSALS[422]}


@router.get("/source/{function}", response_model=SourceResponse, responses=UNKNOWN_SOURCE)
async def source(function: str) -> dict[str, Any]:
    """A function of the model's code, read from the file that runs: `attend`, `masked_softmax`, `causal` …"""
    if function not in SOURCES:
        raise unknown_name("unknown_source", "source", function, list(SOURCES), status=404)
    return asdict(lines_of(function))
