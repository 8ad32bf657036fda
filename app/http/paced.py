"""Large answers, sent as fast as they are read."""

from __future__ import annotations

from fastapi import Response
from starlette.types import Receive, Scope, Send

SLICE = 64 * 1024


class Paced(Response):
    """Sends its body in slices, each when the client has read most of those before it.

    So a large answer ends when it is sent, not when it is in a buffer, and its room is freed then.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = self.body
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if len(body) <= SLICE:
            return await send({"type": "http.response.body", "body": bytes(body)})
        for start in range(0, len(body), SLICE):
            await send({"type": "http.response.body", "body": bytes(body[start : start + SLICE]), "more_body": True})
        await send({"type": "http.response.body", "body": b""})
