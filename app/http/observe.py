"""One log line and one count for each request, whatever its outcome."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPMethod, HTTPStatus
from time import perf_counter
from typing import Any, cast
from uuid import uuid4

from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chumoku.app.http.logs import REQUEST_ID
from chumoku.app.services.metrics import Metrics
from chumoku.app.services.scheduler import CLIENT

log = logging.getLogger("chumoku")

ROUTINE = ("/healthz", "/readyz", "/metrics", "/static")
"""Polled paths: logged at debug level unless they fail."""


@dataclass
class Seen:
    """What is known about a request; routes add to it. `text` is logged only if the settings allow it."""

    id: str
    status: int | None = None
    whole: bool = False
    model: str | None = None
    n_tokens: int | None = None
    n_new: int | None = None
    code: str | None = None
    text: str | None = None


def seen(scope: Mapping[str, Any]) -> Seen:
    """What is known about the request of this scope."""
    return cast(Seen, scope["state"]["seen"])


class Observe:
    """Gives each request an id (`X-Request-Id`), and logs and counts it when it ends."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log_text: bool) -> None:
        self.app, self.metrics, self.log_text = app, metrics, log_text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        about = Seen(uuid4().hex[:16])
        scope.setdefault("state", {})["seen"] = about

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                about.status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", about.id.encode())]
            elif message["type"] == "http.response.body":
                about.whole = not message.get("more_body", False)
            await send(message)

        token, start = REQUEST_ID.set(about.id), perf_counter()
        client = CLIENT.set((scope.get("client") or ("",))[0])
        try:
            await self.app(scope, receive, watch)
        finally:
            self.done(scope, about, perf_counter() - start)
            REQUEST_ID.reset(token)
            CLIENT.reset(client)

    def done(self, scope: Scope, about: Seen, seconds: float) -> None:
        """Log and count a finished request."""
        route, status = template(scope), about.status or HTTPStatus.INTERNAL_SERVER_ERROR
        self.metrics.requests.labels(route, int(status)).inc()
        fields = {
            "method": scope["method"] if scope["method"] in list(HTTPMethod) else "other",
            "route": route,
            "status": int(status),
            "ms": round(1000 * seconds, 1),
            "model": about.model,
            "n_tokens": about.n_tokens,
            "n_new": about.n_new,
            "code": about.code,
            "cut_short": None if about.whole else True,  # the client disconnected, or we failed midway
            "text": about.text if self.log_text else None,
        }
        known = {name: value for name, value in fields.items() if value is not None}
        log.log(level(route, status), "request", extra={"fields": known})


def template(scope: Scope) -> str:
    """The path template of the route: the requested path may be anything."""
    route = scope.get("route")
    if route is not None:
        return str(route.path)
    if isinstance(scope.get("endpoint"), StaticFiles):
        return "/static"
    return str(scope["path"]) if "endpoint" in scope else "unknown"


def level(route: str, status: int) -> int:
    """The log level of a request."""
    if status >= 500:
        return logging.WARNING if status == HTTPStatus.SERVICE_UNAVAILABLE else logging.ERROR
    return logging.DEBUG if route in ROUTINE and status < 400 else logging.INFO
