"""Responses that are sent as fast as the client reads: large bodies in slices, and server-sent events."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing

import anyio
from fastapi import Response
from starlette.types import Message, Receive, Scope, Send

from chumoku.app.errors import AppError, internal
from chumoku.app.services.wire import Event, Piece

log = logging.getLogger("chumoku")

SLICE = 64 * 1024


class SlicedResponse(Response):
    """Sends its body in slices, each when the client has read most of the previous ones. So a large response ends when
    it is sent, not when it is buffered, and its memory is counted until then.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = self.body
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if len(body) <= SLICE:
            return await send({"type": "http.response.body", "body": bytes(body)})
        for start in range(0, len(body), SLICE):
            await send({"type": "http.response.body", "body": bytes(body[start : start + SLICE]), "more_body": True})
        await send({"type": "http.response.body", "body": b""})


STREAM = "text/event-stream"
UNBUFFERED = {"X-Accel-Buffering": "no"}
"""Else nginx collects events."""


class WholeStream(SlicedResponse):
    """A stream of events that are all there."""

    media_type = STREAM

    def __init__(self, whole: Piece, held: AsyncExitStack) -> None:
        """`held` is closed when it is sent."""
        super().__init__(whole.encoded, headers=UNBUFFERED)
        self.held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.held:
            await super().__call__(scope, receive, send)


PING = b": ping\n\n"
"""A comment, which clients ignore; without it, proxies take a waiting stream for dead."""
PING_EVERY = 15.0


class EventStream(Response):
    """Sends each event when it comes. If the client leaves, the generator of the events is cancelled. An error after
    the start is the last event.

    FastAPI's own stream passes each event through three tasks, which takes as long as a small request.
    """

    media_type = STREAM

    def __init__(
        self, events: AsyncGenerator[Event | Piece, None], what: str, held: AsyncExitStack | None = None
    ) -> None:
        """`what` names the stream in the log if it fails; `held` is closed when it has ended."""
        super().__init__(headers=UNBUFFERED)
        del self.headers["Content-Length"]
        self.events, self.what, self.held = events, what, held or AsyncExitStack()
        self.sending, self.ended = anyio.Lock(fast_acquire=True), False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.held, anyio.create_task_group() as group, aclosing(self.events):
            group.start_soon(self._attend, receive, send, group.cancel_scope)
            head = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            await self._send(send, head)
            while (event := await self._next()) is not None:
                await self._send(send, part(event.encoded))
            await self._send(send, {"type": "http.response.body", "body": b"", "more_body": False})
            group.cancel_scope.cancel()

    async def _send(self, send: Send, message: Message) -> None:
        """Sends one message at a time, and none after the last: a pending comment and the end of the stream could
        otherwise both be sent."""
        async with self.sending:
            if not self.ended:
                self.ended = message.get("more_body") is False
                await send(message)

    async def _next(self) -> Event | Piece | None:
        try:
            return await anext(self.events, None)
        except Exception as error:
            if not isinstance(error, AppError):
                log.exception("%s failed", self.what)
                error = internal()
            return Event("error", error.body())

    async def _attend(self, receive: Receive, send: Send, stream: anyio.CancelScope) -> None:
        """Cancels the stream when the client disconnects; until then, sends a comment from time to time."""
        while not stream.cancel_called:
            with anyio.move_on_after(PING_EVERY) as waiting:
                while (await receive())["type"] != "http.disconnect":
                    pass
                stream.cancel()
            if waiting.cancelled_caught:
                await self._send(send, part(PING))


def part(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": True}
