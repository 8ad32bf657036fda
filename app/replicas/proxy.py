"""Adds our connection limits to Ray's HTTP proxy.

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
from chumoku.app.http.connections.limits import ConnectionLimiter
from chumoku.app.http.connections.protocol import LimitedHttpProtocol
from chumoku.app.http.security import SECURITY
from chumoku.app.settings import Settings

FOR_RAY = {b"x-request-disconnect-disabled", b"x-request-timeout-seconds", b"serve-multiplexed-model-id"}
"""Headers that would let clients control Ray, for example to keep working after a disconnect."""
OF_RAY = "/-/"
"""The paths that Ray's proxy answers itself. /healthz and /readyz are the app's."""
REQUEST_ID = b"x-request-id"
METRICS = "METRICS_OF_REPLICAS"
"""Names the folder of the replicas' metrics; the proxy writes its own there, too."""


def middlewares() -> list[Middleware]:
    """Sets the protocol of the uvicorn that Ray is about to start. Returns the middlewares for Ray's proxy."""
    if METRICS in os.environ:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = os.environ[METRICS]  # not in Ray's own processes
    uvicorn.config.HTTP_PROTOCOLS["auto"] = f"{__name__}:http_protocol"
    return [Middleware(Front)]


def http_protocol(**uvicorns: Any) -> LimitedHttpProtocol:
    """The protocol of a new connection. The first one starts the sweep, in the event loop of the proxy."""
    return LimitedHttpProtocol(limiter(), **uvicorns)


@cache
def limiter() -> ConnectionLimiter:
    from chumoku.app.services.metrics import Metrics  # late: prometheus_client reads the folder's name on import

    dropped = Metrics().dropped
    return ConnectionLimiter(limits_of(Settings(), raise_file_limit()), lambda limit: dropped.labels(limit).inc())


class Front:
    """Around Ray's proxy. It answers for a replica that ended before it began to."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if scope["path"].startswith(OF_RAY):  # its own answers know no token, no Host and no headers
            return await JSONResponse(absent().body(), 404, SECURITY)(scope, receive, send)
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
            headers = {"Retry-After": str(error.retry_after), **SECURITY}
            await JSONResponse(error.body(), error.status, headers)(scope, receive, send)


def with_one_id(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Drops Ray's request id if the app has set one, which is in the log."""
    ids = [one for one in headers if one[0].lower() == REQUEST_ID]
    return [one for one in headers if one not in ids[1:]]


def absent() -> AppError:
    return AppError("not_found", "There is nothing at this address.", "/docs lists all routes.", status=404)


def gone() -> AppError:
    message = "The process that worked on this request has ended."
    return AppError("stopping", message, "Try again: another process will answer.", status=503, retry_after=1)
