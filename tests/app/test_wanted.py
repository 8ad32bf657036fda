"""Whether a client still waits for its answer."""

import asyncio

from fastapi import Request
from starlette.types import Message

from chumoku.app.http.deps import wanted_by


async def test_a_request_is_wanted_until_its_client_has_left() -> None:
    messages: asyncio.Queue[Message] = asyncio.Queue()
    wanted = wanted_by(Request({"type": "http"}, messages.get))
    assert await wanted()
    assert await wanted()
    messages.put_nowait({"type": "http.request", "body": b"late", "more_body": False})
    assert await wanted()
    messages.put_nowait({"type": "http.disconnect"})
    assert not await wanted()
    assert not await wanted(), "it is said once, and stays true"
