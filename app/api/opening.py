"""Opening a model while the server runs: who may, what there is, and the stream of a download."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated
from urllib.parse import urlsplit

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from chumoku.app.api.answers import EVENTS, REFUSALS, Answers, as_json
from chumoku.app.api.requests import OpenRequest
from chumoku.app.errors import AppError
from chumoku.app.http.access import is_forwarded, is_loopback
from chumoku.app.http.backpressure import EventStream
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.deps import state_of
from chumoku.app.http.observe import seen
from chumoku.app.services.addresses import is_local
from chumoku.app.services.wire import Event
from chumoku.app.settings import Settings

router = APIRouter(prefix="/api", tags=["models"], route_class=JsonRoute)
NOT_ALLOWED = {**REFUSALS[422], "description": "`may_not_open`"}
ANOTHER = {**REFUSALS[422], "description": "`opening_another`"}


class OpenableResponse(BaseModel):
    allowed: bool = Field(description="Whether this client may open models.")
    replicas: bool = Field(description="True with `--ray`: no client may open models.")
    folders: list[str] = Field(description="Folders of the models directory that are not open; empty if not allowed.")


def may_open(request: Request, settings: Settings) -> bool:
    """As `CHUMOKU_OPEN_MODELS` says; without it, a client on this machine, to which alone the server listens, without a
    proxy between the two."""
    if settings.ray:  # its replicas share no disk
        return False
    if settings.open_models is not None:
        return settings.open_models
    return is_local(settings.host) and is_loopback(request) and not is_forwarded(request)


def is_own_page(request: Request) -> bool:
    """Whether no other site's page sent this: by `Sec-Fetch-Site`, else by `Origin`; programs send neither."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site in ("same-origin", "none")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


@router.get("/open", response_model=OpenableResponse)
async def openable(request: Request) -> OpenableResponse:
    """Whether this client may open models, and the folders that it may open."""
    state = state_of(request)
    if not (may_open(request, state.settings) and is_own_page(request)):
        return OpenableResponse(allowed=False, replicas=state.settings.ray, folders=[])
    folders = await to_thread.run_sync(state.openings.folders)
    return OpenableResponse(allowed=True, replicas=False, folders=folders)


async def opened(request: OpenRequest, http: Request) -> AsyncIterator[AsyncGenerator[Event, None]]:
    """The events of an opening; it holds the server's one turn until they end."""
    state = state_of(http)
    if not may_open(http, state.settings) or not is_own_page(http):
        raise may_not_open()
    seen(http.scope).model = request.model
    with state.openings.turn(request.model):
        found = await to_thread.run_sync(state.openings.find, request.model)
        yield state.openings.events(found)


STREAMED: Answers = {200: EVENTS, **as_json({**REFUSALS, 403: NOT_ALLOWED, 409: ANOTHER})}


@router.post("/open", response_class=Response, responses=STREAMED)
async def open_model(events: Annotated[AsyncGenerator[Event, None], Depends(opened)]) -> EventStream:
    """Open a folder of the models directory, or an id of Hugging Face's hub, which is downloaded if it is not in the
    cache.

    A stream: `start` with the bytes to download, `progress` (`bytes`, `of`, `seconds_left`), `opened` with the model's
    `name`, `done`; or `error`. Closing the connection stops the download. One model at a time. Allowed with
    `CHUMOKU_OPEN_MODELS=1`; else only on the server's own machine, without a proxy.
    """
    return EventStream(events, "the opening of a model")


def may_not_open() -> AppError:
    message = "Models cannot be opened from this page."
    hint = "Open the page on the server's own machine, or start the server with CHUMOKU_OPEN_MODELS=1."
    return AppError("may_not_open", message, hint, status=403)
