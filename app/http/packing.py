"""Gzips what each page downloads first, for readers on other machines: a class of 30 shares one Wi-Fi.

On one machine, packing costs more than it saves. Rooms are left alone: an answer with a secret in it, packed together
with what another person typed, would reveal the secret by its length. (Starlette's GZipMiddleware packs on the event
loop, for each request anew: 20 ms for the page's modules.)
"""

from __future__ import annotations

import asyncio
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
    """A middleware. Packs in a thread, and each text once, for however many ask at the same time."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.kept = app, AnswerCache(KEPT)
        self.running: dict[str, asyncio.Task[bytes]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held = Held(send, self, scope["path"]).send if scope["type"] == "http" and is_asked(scope) else send
        await self.app(scope, receive, held)

    async def packed(self, body: bytes, key: str) -> bytes | bytearray:
        """The text gzipped; `key` is of its content."""
        found = self.kept.find(key)
        if found is not None:
            return found.body
        if key not in self.running:
            self.running[key] = asyncio.create_task(self._pack(body, key))
        return await asyncio.shield(self.running[key])  # others may wait for it when this client has left

    async def _pack(self, body: bytes, key: str) -> bytes:
        try:
            packed = await to_thread.run_sync(gzipped, body)
            self.kept.keep(Answer(packed, etag=key))
            return packed
        finally:
            del self.running[key]


def gzipped(body: bytes) -> bytes:
    return gzip.compress(body, compresslevel=6, mtime=0)


def takes_gzip(headers: Headers) -> bool:
    """Whether Accept-Encoding names gzip and does not refuse it by q=0 (RFC 9110, section 12.5.3)."""
    for coding in headers.get("accept-encoding", "").lower().split(","):
        name, _, weight = coding.replace(" ", "").partition(";q=")
        if name == "gzip":
            return weight.strip("0.") != "" or weight == ""
    return False


def is_asked(scope: Scope) -> bool:
    """Whether the answer may be packed."""
    path = scope["path"]
    if scope["method"] != "GET" or not (path == "/" or path.startswith(OURS)):
        return False
    request = Request(scope)
    unpacks = takes_gzip(request.headers) and "range" not in request.headers
    return unpacks and (is_forwarded(request) or not is_loopback(request))


class Held:
    """An answer that is held until it is whole, if it is a text."""

    def __init__(self, send: Send, packing: Packing, path: str) -> None:
        self._send, self.packing, self.path = send, packing, path
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
        content = headers.get("etag") or sha256(self.body).hexdigest()
        packed = await self.packing.packed(bytes(self.body), f"{self.path} {content}")
        headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(packed))
        headers.add_vary_header("Accept-Encoding")
        await self._send(start)
        await self._send({"type": "http.response.body", "body": packed})


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
