"""Rooms over HTTP: who may come in, what is sent to whom, and what is refused."""

import asyncio
import json
import socket
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, closing, contextmanager
from pathlib import Path
from time import time
from typing import Any

import httpx
import pytest
from httpx import AsyncClient

from chumoku.app.api.room_requests import JoinRequest, RoomPost
from chumoku.app.services.rooms import invitation, watch
from chumoku.app.services.rooms.database import Database
from chumoku.app.settings import Settings
from tests.app.conftest import Open, Serve
from tests.app.helpers import error_of

pytestmark = pytest.mark.anyio
Json = dict[str, Any]


async def opened(client: AsyncClient) -> tuple[str, Json]:
    """A new room: its code, and the teacher's header."""
    answer = (await client.post("/api/rooms", json={})).json()
    return answer["code"], {"x-room-key": answer["key"]}


async def joined(client: AsyncClient, code: str, name: str = "") -> Json:
    answer = await client.post("/api/rooms/join", json={"code": code, "name": name})
    assert answer.status_code == 200, answer.text
    return {"x-room-key": answer.json()["key"]}


async def post(client: AsyncClient, key: Json, **message: Any) -> httpx.Response:
    return await client.post("/api/room", json={"message": message}, headers=key)


async def test_a_class_follows_votes_and_ends(families: AsyncClient) -> None:
    code, teacher = await opened(families)
    pupil = await joined(families, code, "Aoi")
    assert (await post(families, teacher, kind="lead", link="/?layer=3#text=a+cat")).json() == {"ok": True}
    await post(families, teacher, kind="ask", ask="Which?", options=["a", "b"])
    shown = (await families.get("/api/room", headers=pupil)).json()
    assert shown["role"] == "pupil"
    assert shown["room"]["lead"]["link"] == "/?layer=3#text=a+cat"
    question = shown["room"]["question"]["id"]
    await post(families, pupil, kind="vote", question=question, round=1, choice=1)
    again = (await families.get("/api/room", headers=pupil)).json()
    assert again["own"]["votes"] == {str(question): {"1": 1}}
    kept = {"ask": "Which?", "options": ["a", "b"], "right": None, "says": None, "counts": [[0, 1]]}
    results = (await families.get("/api/room/results", headers=teacher)).json()
    assert results["questions"] == [{**kept, "withdrawn": False}]  # it is still open
    assert 0 <= time() - results["opened"] < 600
    await post(families, teacher, kind="done")
    results = (await families.get("/api/room/results", headers=teacher)).json()
    assert results["questions"] == [{**kept, "withdrawn": True}]
    assert (await families.delete("/api/room", headers=teacher)).status_code == 200
    error_of(await families.get("/api/room", headers=pupil), 404, "room_over")


async def test_what_is_refused_and_why(families: AsyncClient) -> None:
    code, teacher = await opened(families)
    pupil = await joined(families, code)
    error_of(await post(families, pupil, kind="lead", link="/"), 403, "only_teacher")
    error_of(await post(families, teacher, kind="vote", question=1, round=1, choice=0), 403, "only_pupils")
    error_of(await families.post("/api/rooms/join", json={"code": "AAAAAA"}), 404, "unknown_code")
    error_of(await families.get("/api/room", headers={"x-room-key": "nobody"}), 404, "room_over")
    error_of(await families.get("/api/room"), 422, "invalid_request")
    error_of(await families.get("/api/room/results", headers=pupil), 403, "only_teacher")
    error_of(await families.get("/api/room/link", headers=pupil), 403, "only_teacher")
    large = {"kind": "sentence", "turn": 1, "link": "/#text=" + "字" * 900, "text": "字"}
    error_of(await post(families, pupil, **large), 413, "message_too_large")
    undeclared = json.dumps({"message": large}).encode()

    async def body() -> AsyncIterator[bytes]:  # of no declared length
        yield undeclared

    sent = await families.post("/api/room", content=body(), headers=pupil | {"content-type": "application/json"})
    error_of(sent, 413, "message_too_large")
    await post(families, pupil, kind="explore", explores=True)
    fast = await post(families, pupil, kind="explore", explores=False)
    error_of(fast, 429, "too_fast")
    assert fast.headers["retry-after"] == "1"
    await families.delete("/api/room", headers=teacher)


@pytest.mark.parametrize("link", ["https://elsewhere.example/", "//elsewhere.example", "/api/models", "javascript:1"])
async def test_only_links_of_this_page_are_led(families: AsyncClient, link: str) -> None:
    _, teacher = await opened(families)
    error_of(await post(families, teacher, kind="lead", link=link), 422, "invalid_request")
    await families.delete("/api/room", headers=teacher)


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
async def test_a_page_of_another_site_cannot_post(families: AsyncClient, media: str | None) -> None:
    """A form can send these types without asking first; JSON it cannot."""
    code, teacher = await opened(families)
    for path, body in (
        ("/api/rooms", {}),
        ("/api/rooms/join", {"code": code}),
        ("/api/room", {"message": {"kind": "lock", "locked": True}}),
    ):
        headers = teacher | ({} if media is None else {"content-type": media})
        answer = await families.post(path, content=json.dumps(body), headers=headers)
        assert answer.status_code == 422, (path, answer.text)
    shown = (await families.get("/api/room", headers=teacher)).json()["room"]
    assert (shown["locked"], shown["members"]) == (False, [])
    await families.delete("/api/room", headers=teacher)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_no_page_of_another_site_opens_or_joins_a_room(families: AsyncClient, site: str) -> None:
    code, teacher = await opened(families)
    for path, body in (("/api/rooms", {}), ("/api/rooms/join", {"code": code})):
        error_of(await families.post(path, json=body, headers={"sec-fetch-site": site}), 403, "cross_site")
    await families.delete("/api/room", headers=teacher)


async def test_the_link_has_the_token_and_the_code(open_three: Open) -> None:
    async with open_three(Settings(device="cpu", token="secret")) as client:
        client.headers["authorization"] = "Bearer secret"
        code, teacher = await opened(client)
        client.base_url = httpx.URL("http://192.168.1.5:8000")
        link = (await client.get("/api/room/link", headers=teacher)).json()
        assert link["address"] == "http://192.168.1.5:8000/join"
        joining = await client.get("/join")
        assert (joining.status_code, joining.headers["location"]) == (303, "./?room=")
        assert link["link"] == f"http://192.168.1.5:8000/?token=secret&room={code}"
        assert link["problem"] is None
        assert {len(row) for row in link["qr"]} == {len(link["qr"])}


@pytest.mark.parametrize(
    ("page", "base"),
    [
        ("https://hub.example/user/ann/proxy/8010/", "https://hub.example/user/ann/proxy/8010"),
        ("http://192.168.1.5:8000/", "http://192.168.1.5:8000"),
        ("http://localhost:8000/under/", "http://10.1.2.3:8000/under"),
        ("https://127.0.0.1/", "https://10.1.2.3:443"),
    ],
)
async def test_the_link_has_the_address_that_the_page_has(
    families: AsyncClient, monkeypatch: pytest.MonkeyPatch, page: str, base: str
) -> None:
    monkeypatch.setattr("chumoku.app.services.rooms.invitation.network_address", lambda _: "10.1.2.3")
    monkeypatch.setattr("chumoku.app.services.rooms.invitation.problem_of", lambda *_: None)
    code, teacher = await opened(families)
    link = (await families.get("/api/room/link", params={"page": page}, headers=teacher)).json()
    assert (link["address"], link["link"]) == (f"{base}/join", f"{base}/?room={code}")
    await families.delete("/api/room", headers=teacher)


@pytest.mark.parametrize("page", ["javascript:1", "//a.example/", "http://a:b@c/", "http://[::/", "http://a:x/", "a"])
async def test_no_other_address_is_put_in_a_link(families: AsyncClient, page: str) -> None:
    _, teacher = await opened(families)
    refused = await families.get("/api/room/link", params={"page": page}, headers=teacher)
    error_of(refused, 422, "invalid_request")
    await families.delete("/api/room", headers=teacher)


def test_the_door_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitation, "is_inside", lambda: False)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        assert invitation.problem_of("127.0.0.1", port, "0.0.0.0") is None
        assert invitation.problem_of("127.0.0.2", port, "127.0.0.1") == "only_this_machine"
        assert invitation.problem_of("127.0.0.2", port, "0.0.0.0") == "no_network"
    monkeypatch.setattr(invitation, "is_inside", lambda: True)
    assert invitation.problem_of("127.0.0.1", port, "0.0.0.0") == "inside"
    assert invitation.problem_of("127.0.0.1", port, "127.0.0.1") == "only_this_machine"


async def test_many_wrong_codes_are_refused(open_three: Open) -> None:
    async with open_three(Settings(device="cpu")) as client:
        code, _ = await opened(client)
        tries = [await client.post("/api/rooms/join", json={"code": "AAAAAA"}) for _ in range(61)]
        assert [one.status_code for one in tries] == [404] * 60 + [429]
        error_of(tries[-1], 429, "too_many_tries")
        error_of(await client.post("/api/rooms/join", json={"code": code}), 429, "too_many_tries")


async def test_nothing_that_people_typed_is_logged(families: AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "chumoku")
    code, teacher = await opened(families)
    pupil = await joined(families, code, "Aoi-the-first")
    await post(families, pupil, kind="sentence", turn=1, link="/#text=hidden-words", text="hidden-words")
    await families.delete("/api/room", headers=teacher)
    logged = repr([(record.getMessage(), vars(record)) for record in caplog.records])
    for secret in ("Aoi-the-first", "hidden-words", code, teacher["x-room-key"], pupil["x-room-key"]):
        assert secret not in logged


# --- streams, over a real socket -------------------------------------------------------------------------------


class Events:
    """The events of one stream, read as they come."""

    def __init__(self, response: httpx.Response) -> None:
        self.lines = response.aiter_lines()

    async def next(self, name: str) -> Json:
        async with asyncio.timeout(20):
            while True:
                event, data = "", {}
                async for line in self.lines:
                    field, _, text = line.partition(": ")
                    if field == "event":
                        event = text
                    elif field == "data":
                        data = json.loads(text)
                    elif line == "":
                        break
                if event == name:
                    return data

    async def until(self, holds: Any) -> Json:
        while True:
            room = await self.next("room")
            if holds(room):
                return room


@asynccontextmanager
async def stream(client: AsyncClient, key: Json) -> AsyncIterator[Events]:
    async with client.stream("GET", "/api/room/events", headers=key) as response:
        assert response.status_code == 200
        yield Events(response)


async def test_two_processes_serve_one_room(serve: Serve, tmp_path: Path) -> None:
    """Two servers that share the folder, as two workers do: a pupil on the other one sees each change."""
    settings = Settings(device="cpu", rooms_dir=tmp_path)
    with serve(settings) as first, serve(settings) as second:
        async with AsyncClient(base_url=first) as here, AsyncClient(base_url=second) as there:
            code, teacher = await opened(here)
            pupil = await joined(there, code, "Aoi")
            async with stream(there, pupil) as events, stream(here, teacher) as teachers:
                assert (await events.next("own"))["name"] == "Aoi"
                await post(here, teacher, kind="lead", link="/#text=one")
                assert (await events.until(lambda room: room["lead"]))["lead"]["link"] == "/#text=one"
                await post(here, teacher, kind="ask", ask="Which?", options=["a", "b"])
                asked = (await events.until(lambda room: room["question"]))["question"]
                await post(there, pupil, kind="vote", question=asked["id"], round=1, choice=1)
                counted = await teachers.until(lambda room: room["question"] and room["question"]["counts"] != [[0, 0]])
                assert counted["question"]["counts"] == [[0, 1]]
                async with stream(there, pupil) as other:
                    await other.next("room")
                    await post(here, teacher, kind="recall")
                    assert await events.next("ended") == {"why": "elsewhere"}
                    await post(here, teacher, kind="remove", member=counted["members"][0]["id"])
                    assert await other.next("ended") == {"why": "removed"}
                await here.delete("/api/room", headers=teacher)
                assert await teachers.next("ended") == {"why": "over"}
    assert list(tmp_path.iterdir()) == []


async def test_who_comes_later_is_let_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process has shown of the room is older than its newest member: nobody was removed."""
    monkeypatch.setattr(watch, "SOON_SECONDS", 60.0)
    monkeypatch.setattr(watch, "POLL_SECONDS", 61.0)
    rooms = watch.Rooms(Database(tmp_path))
    code, key = await rooms.open()
    async with aclosing(rooms.watch.events(await rooms.person(key))) as teachers:
        await anext(teachers)
        pupil = await rooms.person(await rooms.join(JoinRequest(code=code), ""))
        async with aclosing(rooms.watch.events(pupil)) as events:
            assert b"event: own" in (await anext(events)).encoded
            assert b"event: room" in (await anext(events)).encoded
    rooms.watch.close()


@contextmanager
def broken(folder: Path) -> Iterator[None]:
    """The file of the rooms gives an error for each question."""
    with closing(sqlite3.connect(next(folder.glob("*.sqlite")), isolation_level=None)) as file:
        file.execute("ALTER TABLE rooms RENAME TO elsewhere")
        yield
        file.execute("ALTER TABLE elsewhere RENAME TO rooms")


async def failures(caplog: pytest.LogCaptureFixture, n: int) -> None:
    """Waits until the log has so many failures of the file."""
    async with asyncio.timeout(20):
        while sum("the file of the rooms" in record.getMessage() for record in caplog.records) < n:
            await asyncio.sleep(0.01)


async def test_streams_outlive_an_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watch, "AGAIN_SECONDS", 0.01)
    rooms = watch.Rooms(Database(tmp_path))
    code, key = await rooms.open()
    pupil = await rooms.person(await rooms.join(JoinRequest(code=code), ""))
    async with aclosing(rooms.watch.events(pupil)) as events:
        for _ in range(2):
            await anext(events)
        with broken(tmp_path):
            await failures(caplog, 2)
        await rooms.post(key, RoomPost.model_validate({"message": {"kind": "lead", "link": "/#text=after"}}).message)
        assert b"text=after" in (await anext(events)).encoded
    rooms.watch.close()


async def test_the_sweep_outlives_an_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watch, "SWEEP_SECONDS", 0.01)
    rooms = watch.Rooms(Database(tmp_path))
    async with rooms.kept():
        await rooms.open()
        with broken(tmp_path):
            await failures(caplog, 3)


async def test_who_asks_while_the_file_fails_is_told_to_try_again(open_three: Open, tmp_path: Path) -> None:
    async with open_three(Settings(device="cpu", rooms_dir=tmp_path)) as client:
        code, teacher = await opened(client)
        with broken(tmp_path):
            for answer in (
                await client.get("/api/room", headers=teacher),
                await post(client, teacher, kind="recall"),
                await client.post("/api/rooms/join", json={"code": code}),
                await client.get("/api/room/events", headers=teacher),
            ):
                error_of(answer, 503, "rooms_unavailable")
                assert answer.headers["retry-after"] == "1"
        await joined(client, code)
        await client.delete("/api/room", headers=teacher)


async def test_a_pupil_gets_nothing_while_others_vote(serve: Serve, tmp_path: Path) -> None:
    """300 votes in a second are no 300 events for each of 300 pupils."""
    with serve(Settings(device="cpu")) as url:
        async with AsyncClient(base_url=url) as client:
            code, teacher = await opened(client)
            pupils = [await joined(client, code) for _ in range(5)]
            await post(client, teacher, kind="ask", ask="Which?", options=["a", "b"])
            async with stream(client, pupils[0]) as events, stream(client, teacher) as teachers:
                question = (await events.next("room"))["question"]["id"]
                for pupil in pupils[1:]:
                    await post(client, pupil, kind="vote", question=question, round=1, choice=0)
                await teachers.until(lambda room: room["question"]["counts"] == [[4, 0]])
                await post(client, teacher, kind="reveal", right=0)
                assert (await events.next("room"))["question"]["revealed"]  # the very next one
            await client.delete("/api/room", headers=teacher)


async def test_the_file_is_looked_at_only_while_somebody_watches(tmp_path: Path) -> None:
    rooms = watch.Rooms(Database(tmp_path))
    _, key = await rooms.open()
    events = rooms.watch.events(await rooms.person(key))
    await anext(events)
    task = rooms.watch._task
    assert task is not None
    assert rooms.watch.streams == 1
    await events.aclose()
    async with asyncio.timeout(5):
        await task
    assert rooms.watch.streams == 0
    rooms.watch.close()


async def test_the_api_page_has_a_command_for_every_route_of_rooms(families: AsyncClient) -> None:
    from chumoku.app.services.api_page import IN_ROOMS

    paths = (await families.get("/openapi.json")).json()["paths"]
    routes = {f"{method} {path}" for path, methods in paths.items() for method in methods if "/room" in path}
    assert set(IN_ROOMS) == routes
