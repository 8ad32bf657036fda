"""Gzips what each page downloads first, for readers on other machines: a class of 30 shares one Wi-Fi.

On one machine, packing costs more than it saves. Rooms are left alone: an answer with a secret in it, packed together
with what another person typed, would tell of the secret by its length.
"""

from __future__ import annotations

import gzip
from hashlib import sha256

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chumoku.app.http.access import is_forwarded, is_loopback
from chumoku.app.services.request_coalescing import Answer, AnswerCache

OURS = ("/static/", "/api/models", "/docs")
"""The same for all who ask, as is `/`."""
TEXTS = ("text/javascript", "text/css", "text/html", "application/json")
SHORTEST, LONGEST = 2048, 4 * 2**20
KEPT = 16 * 2**20
"""Bytes of packed answers that a process keeps: all modules of the page take a twentieth."""


class Packing:
    """A middleware. Packs in a thread, and each text once."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.kept = app, AnswerCache(KEPT)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held = Held(send, self.kept, scope["path"]).send if scope["type"] == "http" and is_asked(scope) else send
        await self.app(scope, receive, held)


def is_asked(scope: Scope) -> bool:
    """Whether the answer may be packed."""
    request, path = Request(scope), scope["path"]
    if scope["method"] != "GET" or not (path == "/" or path.startswith(OURS)):
        return False
    unpacks = "gzip" in request.headers.get("accept-encoding", "") and "range" not in request.headers
    return unpacks and (is_forwarded(request) or not is_loopback(request))


class Held:
    """An answer that is held until it is whole, if it is a text."""

    def __init__(self, send: Send, kept: AnswerCache, path: str) -> None:
        self._send, self.kept, self.path = send, kept, path
        self.start: Message | None = None
        self.body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and is_text(message):
            self.start = message
        elif self.start is None:
            await self._send(message)
        else:
            self.body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_packed(self.start)

    async def _send_packed(self, start: Message) -> None:
        headers = MutableHeaders(scope=start)
        packed = await self._packed(headers.get("etag"))
        headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(packed))
        headers.add_vary_header("Accept-Encoding")
        await self._send(start)
        await self._send({"type": "http.response.body", "body": packed})

    async def _packed(self, etag: str | None) -> bytes | bytearray:
        key = f"{self.path} {etag or sha256(self.body).hexdigest()}"
        answer = self.kept.find(key)
        if answer is None:
            body = await to_thread.run_sync(lambda: gzip.compress(self.body, compresslevel=6, mtime=0))
            self.kept.keep(answer := Answer(body, etag=key))
        return answer.body


def is_text(start: Message) -> bool:
    """Whether an answer is a text that is worth packing, and not packed yet."""
    headers = Headers(raw=start["headers"])
    length = headers.get("content-length", "0")
    return (
        start["status"] == 200
        and headers.get("content-type", "").startswith(TEXTS)
        and "content-encoding" not in headers
        and length.isdecimal()
        and SHORTEST <= int(length) <= LONGEST
    )
