"""Streams of events, as the server's protocol sees them."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from chumoku.app.http import backpressure
from chumoku.app.http.backpressure import EventStream
from chumoku.app.services.wire import Event


class Client:
    """Reads a stream, and disconnects on request."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.left = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message.get("body", b"head"))

    async def read(self, events: AsyncGenerator[Event, None]) -> None:
        await EventStream(events, "a test")({"type": "http"}, self.receive, self.send)


async def test_each_event_is_one_message() -> None:
    async def events() -> AsyncGenerator[Event, None]:
        yield Event("start", {"text": "a\nb"})
        yield Event("end", {})

    client = Client()
    await client.read(events())
    assert client.sent == [b"head", b'event: start\ndata: {"text":"a\\nb"}\n\n', b"event: end\ndata: {}\n\n", b""]


async def test_who_leaves_cancels_what_makes_the_events() -> None:
    ended = asyncio.Event()

    async def events() -> AsyncGenerator[Event, None]:
        try:
            yield Event("start", {})
            client.left.set()
            await asyncio.sleep(60)
        finally:
            ended.set()

    client = Client()
    async with asyncio.timeout(10):
        await client.read(events())
    assert ended.is_set()
    assert client.sent == [b"head", b"event: start\ndata: {}\n\n"]


async def test_no_comment_comes_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a stream whose end and a comment wait until a slow client reads on."""
    monkeypatch.setattr(backpressure, "PING_EVERY", 0.01)
    read_on = asyncio.Event()

    class Slow(Client):
        async def send(self, message: Any) -> None:
            if message["type"] == "http.response.body":
                await read_on.wait()
            await super().send(message)

    async def events() -> AsyncGenerator[Event, None]:
        asyncio.get_running_loop().call_later(0.1, read_on.set)
        for event in ():
            yield event

    client = Slow()
    async with asyncio.timeout(10):
        await client.read(events())
    assert client.sent == [b"head", b""]


async def test_a_stream_that_waits_says_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backpressure, "PING_EVERY", 0.01)

    async def events() -> AsyncGenerator[Event, None]:
        while client.sent.count(backpressure.PING) < 2:
            await asyncio.sleep(0.01)
        yield Event("end", {})

    client = Client()
    async with asyncio.timeout(10):
        await client.read(events())
    assert client.sent[-2:] == [b"event: end\ndata: {}\n\n", b""]
