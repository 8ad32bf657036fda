"""The models."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from chumoku.app.api.answer import REFUSALS, Answers
from chumoku.app.api.models.answer import ModelDetail, ModelsResponse, PicturesResponse, PixelsResponse
from chumoku.app.errors import AppError
from chumoku.app.http.backpressure import SlicedResponse
from chumoku.app.http.deps import BuiltDep, ClaimDep, DecodingDep, LibraryDep, SeenDep, SettingsDep, WorkDep
from chumoku.app.services.models import all_models, detailed, pictures
from chumoku.app.services.pictures import fitted

FILE = {
    "required": True,
    "description": "The file, as it is.",
    "content": {f"image/{kind}": {"schema": {"type": "string", "format": "binary"}} for kind in ("png", "jpeg")},
}
FILES = ("image/", "application/octet-stream")
"""Content types of a file. A browser sends none of them to another site without asking it first (CORS)."""
UNKNOWN: Answers = {status: REFUSALS[status] for status in (404, 422)}

router = APIRouter(prefix="/api", tags=["models"])


@router.get("/models", response_model=ModelsResponse)
async def models(request: Request, library: LibraryDep, built: BuiltDep) -> Response:
    """All models: their shape and their card. No weights are loaded for this."""
    key = "models", library.default, *library.names, *library.problems
    return await built.response(request.headers, key, lambda: as_bytes(ModelsResponse, all_models(library)))


@router.get("/models/{name}", response_model=ModelDetail, responses=UNKNOWN)
async def model(name: str, request: Request, library: LibraryDep, built: BuiltDep, settings: SettingsDep) -> Response:
    """One model, or a snapshot of it (`name@step`), with its description: its stacks, attentions, roles, tensors and
    parameters."""
    entry = library.find(name)
    aside = [one.aside and one.aside.reason for one in (entry.of or entry).snapshots.values()]
    return await built.response(
        request.headers,
        ("model", name, *aside),
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
    """Other sites' pages could post a file as plain text or as a form, and so have this server work."""
    kind = request.headers.get("content-type", "")
    if not kind.lower().startswith(FILES):
        message = f"A picture is not sent as {kind}." if kind else "The request does not say what it sends."
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
    work: WorkDep,
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

        body = await work.aside(fit)
    claim.settle(len(body))
    return SlicedResponse(body, media_type="application/json")


def as_bytes(shape: type[BaseModel], fields: dict[str, Any]) -> bytes:
    return shape.model_validate(fields).model_dump_json().encode()
