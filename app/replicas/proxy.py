"""Ray's HTTP proxy with our door in it.

Ray starts a bare uvicorn, with no setting for its protocol. Before that, it calls `middlewares` in the proxy's process:
RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH names it.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import uvicorn.config
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chumoku.app.cli.serving import limits_of, raise_file_limit
from chumoku.app.errors import AppError
from chumoku.app.http.door.keeper import Doorkeeper
from chumoku.app.http.door.protocol import Door
from chumoku.app.settings import Settings

FOR_RAY = {b"x-request-disconnect-disabled", b"x-request-timeout-seconds", b"serve-multiplexed-model-id"}
"""Headers with which a client could tell Ray to work on after it has left, for example."""
REQUEST_ID = b"x-request-id"
METRICS = "METRICS_OF_REPLICAS"
"""Names the folder where the replicas count; the door counts there, too."""


def middlewares() -> list[Middleware]:
    """Put the door into the uvicorn that Ray is about to start. Returns what goes around Ray's proxy."""
    if METRICS in os.environ:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = os.environ[METRICS]  # not for Ray's own processes, which count as well
    uvicorn.config.HTTP_PROTOCOLS["auto"] = f"{__name__}:door"
    return [Middleware(Front)]


def door(**uvicorns: Any) -> Door:
    """The protocol of a new connection. The first one starts the sweep, in the event loop of the proxy."""
    return Door(keeper(), **uvicorns)


@cache
def keeper() -> Doorkeeper:
    from chumoku.app.services.metrics import Metrics  # late: prometheus_client asks for the folder when it is imported

    dropped = Metrics().dropped
    return Doorkeeper(limits_of(Settings(), raise_file_limit()), lambda limit: dropped.labels(limit).inc())


class Front:
    """Around Ray's proxy. It answers for a replica that ended before it began to."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        begun = False

        async def watch(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = with_one_id(list(message.get("headers", ())))
            await send(message)

        scope["headers"] = [one for one in scope["headers"] if one[0].replace(b"_", b"-") not in FOR_RAY]
        await self.app(scope, receive, watch)
        if not begun:
            error = gone()
            await JSONResponse(error.body(), error.status, {"Retry-After": str(error.retry_after)})(
                scope, receive, send
            )


def with_one_id(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Without Ray's id of a request if the app has given it one, which is in the log."""
    ids = [one for one in headers if one[0].lower() == REQUEST_ID]
    return [one for one in headers if one not in ids[1:]]


def gone() -> AppError:
    message = "The process that worked on this request has ended."
    return AppError("stopping", message, "Try again: another one answers.", status=503, retry_after=1)
