"""A size limit on bodies, enforced without reading them to the end."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chumoku.app.http.handlers import body_too_large, respond


class BodyLimit:
    """Refuses a body over the limit (413): by its declared length before reading, otherwise once too much has arrived.

    FastAPI's own `max_body_size` answers the first case in plain text; ours has the one error shape.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        declared = int(length[:20]) if length.isdecimal() else 0
        too_large = declared > self.limit
        body = Body(receive, send, self.limit, endless=too_large or "transfer-encoding" in headers)
        answer = respond(scope, body_too_large(self.limit, declared)) if too_large else self.app
        await answer(scope, body.receive, body.send)


class Body:
    """The body of a request as it arrives.

    If the request is answered before the whole body has arrived, and the rest may be large or endless, the rest is not
    read: the connection closes after the answer. The door reads on for a moment, so that the client gets the answer.
    """

    def __init__(self, receive: Receive, send: Send, limit: int, endless: bool) -> None:
        self._receive, self._send, self.limit, self.endless = receive, send, limit, endless
        self.got, self.whole, self.answered = 0, False, False

    async def receive(self) -> Message:
        message = await self._receive()
        self.got += len(message.get("body", b""))
        self.whole = self.whole or not message.get("more_body", False)
        if self.got > self.limit and not self.answered:
            raise HTTPException(413)  # passes through FastAPI's reading of the body to our handler
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.answered = True
            if self.endless and not self.whole:
                MutableHeaders(scope=message)["Connection"] = "close"
        await self._send(message)
