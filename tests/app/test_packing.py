"""What a page downloads first is packed for readers on other machines, and for nobody else."""

import asyncio
import gzip
import json
import time

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from chumoku.app.http import packing
from tests.app.helpers import error_of

pytestmark = pytest.mark.anyio
FAR = {"x-forwarded-for": "192.168.1.9"}
PATHS = ["/", "/static/joined.js", "/static/css/page.css", "/static/i18n/ja.json", "/api/models", "/docs"]


@pytest.mark.parametrize("path", PATHS)
async def test_texts_are_packed_for_another_machine(client: AsyncClient, path: str) -> None:
    plain = await client.get(path)
    first, second = [await client.get(path, headers=FAR) for _ in range(2)]
    assert "content-encoding" not in plain.headers
    for one in (first, second):
        assert one.headers["content-encoding"] == "gzip"
        assert "Accept-Encoding" in one.headers["vary"]
        assert one.content == plain.content
        assert one.headers.get("etag") == plain.headers.get("etag")
        assert int(one.headers["content-length"]) == one.num_bytes_downloaded < len(plain.content) / 2
    for headers in (FAR | {"accept-encoding": "identity"}, FAR | {"range": "bytes=0-9"}):
        assert "content-encoding" not in (await client.get(path, headers=headers)).headers
    assert (await client.head(path, headers=FAR)).content == b""
    if "etag" in plain.headers:
        known = await client.get(path, headers=FAR | {"if-none-match": plain.headers["etag"]})
        assert (known.status_code, known.content) == (304, b"")


async def test_a_client_of_another_address_is_another_machine(app_of_zoo: FastAPI, client: AsyncClient) -> None:
    there = ASGITransport(app_of_zoo, client=("192.168.1.9", 4000))
    async with (
        AsyncClient(transport=there, base_url="http://localhost") as other,
        other.stream("GET", "/static/i18n/en.json") as answer,
    ):
        sent = b"".join([part async for part in answer.aiter_raw()])
    assert json.loads(gzip.decompress(sent))["room.join"] == "Join"


@pytest.mark.parametrize("refused", ["gzip;q=0", "gzip; q=0.0, identity", "br", "x-gzip"])
async def test_who_refuses_gzip_gets_none(client: AsyncClient, refused: str) -> None:
    for path in ("/docs", "/static/vendor/plotly.min.js"):
        answer = await client.get(path, headers=FAR | {"accept-encoding": refused})
        assert answer.status_code == 200
        assert "content-encoding" not in answer.headers


async def test_a_class_that_opens_one_link_at_once_has_it_packed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text, times = b"the same for all " * 1000, []

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(text, media_type="text/html")(scope, receive, send)

    def slowly(body: bytes) -> bytes:
        times.append(1)
        time.sleep(0.05)  # the others ask meanwhile
        return gzip.compress(body)

    monkeypatch.setattr(packing, "gzipped", slowly)
    async with AsyncClient(transport=ASGITransport(packing.Packing(page)), base_url="http://localhost") as one:
        answers = await asyncio.gather(*(one.get("/", headers=FAR) for _ in range(30)))
    assert {answer.content for answer in answers} == {text}
    assert len(times) == 1


@pytest.mark.parametrize("path", ["/static/icon.svg", "/healthz"])
async def test_what_is_short_or_no_text_is_not_packed(client: AsyncClient, path: str) -> None:
    assert "content-encoding" not in (await client.get(path, headers=FAR)).headers


async def test_a_room_is_not_packed(client: AsyncClient) -> None:
    """Its code beside what a pupil typed: the length would tell of it."""
    opened = (await client.post("/api/rooms", json={})).json()
    teacher = {"x-room-key": opened["key"]}
    lead = {"kind": "lead", "link": "/#text=" + "a" * 4000}
    await client.post("/api/room", json={"message": lead}, headers=teacher)
    room = await client.get("/api/room", headers=FAR | teacher)
    assert room.num_bytes_downloaded > 4000
    assert "content-encoding" not in room.headers
    await client.delete("/api/room", headers=teacher)


async def test_an_error_is_as_it_is(client: AsyncClient) -> None:
    error_of(await client.get("/static/none.js", headers=FAR), 404, "not_found")
