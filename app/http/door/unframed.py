"""Answers to HTTP/1.0, which has no chunks: an answer of unknown length ends with its connection."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


def unframed(app: Any, cycle: RequestResponseCycle) -> Any:
    """The app for one request, whose answer uvicorn then sends without chunks."""

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
