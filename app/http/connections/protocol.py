"""uvicorn's HTTP protocol with limits on what a connection may send and how long it may take.

Middleware sees a request only after its head, so these limits are kept here.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Literal, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from chumoku.app.errors import AppError
from chumoku.app.http.connections import refusals
from chumoku.app.http.connections.limits import ConnectionLimiter
from chumoku.app.http.connections.transport import CountingTransport, system_buffer

SLICE = 16 * 1024
"""Bytes fed to the parser at once. It concatenates the parts of a long field, which takes quadratic time."""
HEAD_BYTES = 64 * 1024
"""Most bytes of a request besides its body: preceding line ends, the head, chunk framing, trailers."""
FIELDS = 100
PIPELINED = 8
DISCARDED = 1024 * 1024
"""Most bytes that a closing connection still reads."""

Reading = Literal["idle", "head", "body"]


class Refusal(Exception):
    """Raised in a callback of the parser, to stop it."""

    def __init__(self, error: AppError) -> None:
        super().__init__(error.message)
        self.error = error


class LimitedHttpProtocol(HttpToolsProtocol):
    """One connection.

    `reading` is what the client is expected to send, `since` when that began. `active` is the request that is being
    answered; those pipelined after it wait in `pipeline`.
    """

    def __init__(self, limiter: ConnectionLimiter, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self.limiter, self.limits = limiter, limiter.limits
        self.reading: Reading = "head"
        self.since = self.moved = self.loop.time()
        self.active: RequestResponseCycle | None = None
        self.refused: AppError | None = None
        self.leaving = self.lost = False
        self.overhead = self.fields = self.body_bytes = self.discarded = 0
        self.written = self.taken = 0

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, CountingTransport(transport, self)))
        if not self.limiter.admit(self):
            self.refuse(refusals.too_many_connections(self.limits.connections), "full")

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.limiter.forget(self)
        self._disconnect()
        super().connection_lost(exc)

    def leave(self) -> None:
        """Closes after sending what is left, and still reads for a moment: a reset would discard an answer in
        flight."""
        if self.lost or self.transport.is_closing():
            return
        self.leaving, self.since = True, self.loop.time()
        self._disconnect()
        self.flow.resume_reading()
        with suppress(OSError):  # the client may have reset the connection just now
            self.transport.write_eof()
        self.limiter.settle(self)

    def drop(self, why: str) -> None:
        """Closes at once, discarding unsent bytes."""
        self.limiter.count(why)
        self.limiter.forget(self)
        self.transport.abort()

    def shutdown(self) -> None:
        """Called by uvicorn when the server stops: finish what is being answered, and close."""
        self.limiter.stop()
        if self.busy and self.active is not None:
            self.active.keep_alive = False
        elif self._unread():
            self.leave()
        else:
            self.transport.abort()

    def _disconnect(self) -> None:
        """Marks the active request as disconnected: uvicorn does so only for the newest in the pipeline."""
        self.pipeline.clear()
        if self.active is not None and not self.active.response_complete:
            self.active.disconnected = True
            self.active.message_event.set()
            self.flow.resume_writing()

    # Requests

    @property
    def busy(self) -> bool:
        return self.active is not None and not self.active.response_complete

    @property
    def at_work(self) -> bool:
        """Whether a complete request is being answered."""
        return self.busy and not (self.reading == "body" and self.active is self.cycle)

    def data_received(self, data: bytes) -> None:
        if self.leaving:
            return self._discard(data)
        while data and self.refused is None and not self.leaving:
            size = min(SLICE, HEAD_BYTES - self.overhead) if self.reading == "head" else SLICE
            self._feed(data[:size])
            data = data[size:]

    def _discard(self, data: bytes) -> None:
        self.discarded += len(data)
        if self.discarded > DISCARDED:
            self.flow.pause_reading()

    def _feed(self, piece: bytes) -> None:
        self.overhead, self.body_bytes = self.overhead + len(piece), 0
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            pass  # no upgrades: the request is answered as it is
        except httptools.HttpParserError as error:
            refusal = error.__context__
            return self.refuse(refusal.error if isinstance(refusal, Refusal) else refusals.invalid_http(), "head")
        self.overhead = max(0, self.overhead - self.body_bytes)
        if self.overhead > HEAD_BYTES or (self.overhead == HEAD_BYTES and self.reading == "head"):
            self.refuse(refusals.head_too_large(HEAD_BYTES), "head")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.fields = 0
        if self.reading == "idle":
            self._expect("head")

    def on_header(self, name: bytes, value: bytes) -> None:
        self.fields += 1
        if self.fields > FIELDS:
            raise Refusal(refusals.too_many_fields(FIELDS))
        if self.reading == "head":  # the app sees no trailers
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= PIPELINED:
            raise Refusal(refusals.too_many_pipelined(PIPELINED))
        super().on_headers_complete()
        self._expect("body")

    def on_body(self, body: bytes) -> None:
        self.body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._expect("idle")
        self.overhead = self.body_bytes = 0
        self.limiter.settle(self)

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        self.since = self.loop.time()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        if self.refused is not None and not self.at_work:
            return self._tell(self.refused)
        self.limiter.settle(self)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.active = cycle
        super()._start_asgi_task(cycle, unframed(app, cycle) if cycle.scope["http_version"] == "1.0" else app)

    def _expect(self, reading: Reading) -> None:
        self.reading, self.since = reading, self.loop.time()

    # Refusals and deadlines

    def refuse(self, error: AppError, why: str) -> None:
        """Answer with `error` after the requests that came before, then close. Nothing more is parsed."""
        if self.refused is None:
            self.limiter.count(why)
            self.refused = error
            if not self.at_work:
                self._tell(error)

    def _tell(self, error: AppError) -> None:
        answered = self.reading == "body" and self.active is not None and self.active.response_started
        if not answered:
            self.transport.write(refusals.answer(error, self.server_state.default_headers))
        self.leave()

    def check(self, now: float) -> None:
        """Called by the sweep: close a connection that takes too long."""
        waiting = self._unread() if self.busy or self.transport.is_closing() else 0
        if not waiting or self.written - waiting > self.taken:
            self.moved, self.taken = now, self.written - waiting
        if waiting and self.leaving:
            self.since = now
        early = now + self.limits.sweep / 2
        if early - self.moved > self.limits.stalled:
            self.drop("stalled")
        elif self.leaving and early - self.since > self.limits.linger:
            self.transport.abort()
        elif not self.leaving and not self.at_work:
            self._check_reading(early - self.since)

    def _check_reading(self, waited: float) -> None:
        if self.reading == "idle" and waited > self.limits.idle:
            self.leave()
        elif self.reading == "head" and waited > self.limits.head:
            self.refuse(refusals.too_slow("head", self.limits.head), "slow")
        elif self.reading == "body" and waited > self.limits.body:
            self.refuse(refusals.too_slow("body", self.limits.body), "slow")

    def _unread(self) -> int:
        """Bytes that the client has not acknowledged: in our buffer and in the kernel's."""
        return 0 if self.lost else self.transport.get_write_buffer_size() + system_buffer(self.transport)


def unframed(app: Any, cycle: RequestResponseCycle) -> Any:
    """Wraps the app for one request, so that uvicorn sends its answer without chunks."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        streaming = False

        async def send_whole(message: Any) -> None:
            nonlocal streaming
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message.get("headers", [])}
                streaming = b"content-length" not in names
                cycle.chunked_encoding = False if streaming else None
            elif streaming:
                cycle.expected_content_length = len(message.get("body", b""))
            await send(message)

        await app(scope, receive, send_whole)

    return wrapped
