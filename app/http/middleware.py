"""Middleware for every response: security headers, and an error in our format if the app fails."""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chumoku.app.errors import internal, is_out_of_memory
from chumoku.app.http.handlers import respond
from chumoku.app.http.security import SECURITY
from chumoku.app.services.job_queue import no_memory
from chumoku.model.tokenizer import is_panic

ETAG, CACHE = b"etag", b"cache-control"
HEADERS = [(name.lower().encode(), value.encode()) for name, value in SECURITY.items()]
NAMES = {name for name, _ in HEADERS}
log = logging.getLogger("chumoku")


class SecurityHeaders:
    """Adds `SECURITY` to every answer, and `Cache-Control: no-store` to API responses that must not be cached."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [one for one in message["headers"] if one[0] not in NAMES] + HEADERS
                there = {name for name, _ in headers}
                if scope["path"].startswith("/api/") and not {ETAG, CACHE} <= there:
                    headers = [*(one for one in headers if one[0] != CACHE), (CACHE, b"no-store")]
                message["headers"] = headers
            await send(message)

        await self.app(scope, receive, send_with_headers)


class Failures:
    """An internal failure is logged with its traceback and answered with 500, without details."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise  # a stop
            if started:
                raise  # too late for another answer: the server closes the connection
            log.exception("a request failed")
            answer = no_memory() if is_out_of_memory(error) else internal()
            await respond(scope, answer)(scope, receive, send)


class HeadAsGet:
    """Answers HEAD like GET without the body, on every path with a GET (RFC 9110, 9.3.2); FastAPI's routes do not."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            return await self.app(scope, receive, send)

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        asked: Scope = {**scope, "method": "GET"}
        try:
            await self.app(asked, receive, send_head)
        finally:
            scope.update({**asked, "method": "HEAD"})  # the route found, for the log
