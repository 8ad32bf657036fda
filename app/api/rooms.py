"""Rooms: a class follows its teacher, votes, and hands in sentences."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import AfterValidator, BaseModel, Field
from starlette.concurrency import run_in_threadpool

from chumoku.app.api.answers import EVENTS, Answers, ErrorResponse, as_json
from chumoku.app.api.room_requests import JoinRequest, OpenRoomRequest, RoomPost, ScrollPlace
from chumoku.app.http.access import own_pages
from chumoku.app.http.backpressure import EventStream
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.deps import state_of
from chumoku.app.services.rooms.invitation import Problem, checked_page, invitation
from chumoku.app.services.rooms.limits import only_teacher
from chumoku.app.services.rooms.watch import Rooms
from chumoku.app.services.wire import Event, Piece, to_json

router = APIRouter(prefix="/api", tags=["rooms"], route_class=JsonRoute)


async def get_rooms(request: Request) -> Rooms:
    return state_of(request).rooms


RoomsDep = Annotated[Rooms, Depends(get_rooms)]
RoomKey = Annotated[
    str,
    Header(alias="X-Room-Key", min_length=1, max_length=80, description="The key that opened or joined the room."),
]


class OpenedRoom(BaseModel):
    code: str = Field(examples=["K7QF3M"])
    key: str = Field(description="The teacher's. It is never shown again; the server keeps only its hash.")


class JoinedRoom(BaseModel):
    key: str = Field(description="The pupil's, for this room.")


class RoomLead(BaseModel):
    link: str = Field(description="The page's own link, relative to it.")
    scroll: ScrollPlace | None
    author: str | None = Field(description="Who handed in what is shown, if they allow it.")


class RoomQuestionWords(BaseModel):
    ask: str
    options: list[str]
    says: str | None = None


class RoomQuestion(RoomQuestionWords):
    id: int
    round: int = Field(description="1, or 2 for the second vote.")
    revealed: bool
    right: int | None = Field(description="The model's answer, once it is revealed.")
    others: dict[str, RoomQuestionWords] = Field(description="The same in other languages of the page.")
    counts: list[list[int]] | None = Field(description="Votes by round and option. Pupils see them once revealed.")


class RoomTurn(BaseModel):
    id: int
    ask: str


class RoomMember(BaseModel):
    id: int
    name: str
    explores: bool
    here: bool


class RoomSentence(BaseModel):
    id: int
    member: int
    link: str
    text: str
    author: str | None = Field(description="The nickname, if it may be shown.")


class RoomValue(BaseModel):
    lead: RoomLead | None
    recalls: int = Field(description="How often the teacher has called everybody back.")
    locked: bool
    question: RoomQuestion | None
    turn: RoomTurn | None
    code: str | None = Field(default=None, description="This and what follows: for the teacher alone.")
    expires: float | None = None
    wall_shown: bool | None = None
    members: list[RoomMember] | None = None
    sentences: list[RoomSentence] | None = None


class OwnAnswers(BaseModel):
    name: str
    explores: bool
    votes: dict[str, dict[str, int]] = Field(description="The choice, by question and round.")
    sentences: dict[str, str] = Field(description="The text that was handed in, by turn.")


class RoomAnswer(BaseModel):
    version: int
    role: Literal["teacher", "pupil"]
    room: RoomValue
    own: OwnAnswers | None = Field(description="What this pupil has answered.")


class RoomLink(BaseModel):
    address: str = Field(description="What pupils type.", examples=["http://192.168.1.5:8000/join"])
    link: str = Field(description="With the code and the server's token.")
    qr: list[str] = Field(description="The link's QR code: one text of 0 and 1 for each row.")
    problem: Problem | None = Field(
        description="Why other machines may not open it: the server listens to its own machine only; it runs in a "
        "container or in WSL, and does not know the computer's address; or it does not answer at this address."
    )


class ResultQuestion(BaseModel):
    ask: str
    options: list[str]
    right: int | None
    says: str | None
    counts: list[list[int]]
    withdrawn: bool = Field(description="It was closed before its answer or its votes were shown.")


class ResultSentence(BaseModel):
    text: str
    link: str
    name: str | None


class ResultTurn(BaseModel):
    ask: str
    sentences: list[ResultSentence]


class RoomResults(BaseModel):
    opened: float = Field(description="When the room was opened, in seconds since 1970.")
    people: int
    questions: list[ResultQuestion]
    turns: list[ResultTurn]


class Heard(BaseModel):
    ok: Literal[True]


def refusals(**descriptions: str) -> Answers:
    found: Answers = {
        int(status.removeprefix("s")): {"model": ErrorResponse, "description": text}
        for status, text in descriptions.items()
    }
    invalid = "The request is invalid: `code` and `message` say why."
    unavailable = "`rooms_unavailable`: the disk is full, say. Try again after the seconds in `Retry-After`."
    return found | {
        422: {"model": ErrorResponse, "description": invalid},
        503: {"model": ErrorResponse, "description": unavailable},
    }


NOT_JSON = "The body is not JSON in UTF-8."
OVER = "`room_over`: the room has ended, or the key is not of a member."
NOT_YOURS = "`only_teacher`, `only_pupils`"


OPENING = refusals(s400=NOT_JSON, s403="`cross_site`", s413="`body_too_large`", s429="`rooms_full`")


@router.post("/rooms", response_model=OpenedRoom, responses=OPENING, dependencies=[Depends(own_pages)])
async def open_room(_: OpenRoomRequest, rooms: RoomsDep) -> Response:
    """Open a room. Its code lets pupils in; its key leads it."""
    code, key = await rooms.open()
    return Response(to_json({"code": code, "key": key}), media_type="application/json")


JOINING = refusals(
    s400=NOT_JSON,
    s403="`room_locked`, `cross_site`",
    s404="`unknown_code`",
    s413="`body_too_large`",
    s429="`room_full`, `server_full`, `room_used_up`; `too_many_tries`, after many wrong codes; `too_many_joins`",
)


@router.post("/rooms/join", response_model=JoinedRoom, responses=JOINING, dependencies=[Depends(own_pages)])
async def join_room(asked: JoinRequest, rooms: RoomsDep, request: Request) -> Response:
    """Come into a room with its code, with a nickname or none. Who already has a key uses it again."""
    key = await rooms.join(asked, request.client.host if request.client else "")
    return Response(to_json({"key": key}), media_type="application/json")


@router.get("/room", response_model=RoomAnswer, responses=refusals(s404=OVER))
async def show_room(rooms: RoomsDep, key: RoomKey) -> Response:
    """The whole room, as its teacher or a pupil sees it: for clients that get no events."""
    return Response(to_json(await rooms.seen(key)), media_type="application/json")


async def watched(rooms: RoomsDep, key: RoomKey) -> AsyncGenerator[AsyncGenerator[Event | Piece]]:
    """A dependency, so that a wrong key gets a normal error."""
    who = await rooms.person(key)
    async with aclosing(rooms.watch.events(who)) as events:
        yield events


WATCHING: Answers = {200: EVENTS, **as_json(refusals(s404=OVER, s429="`server_full`"))}


@router.get("/room/events", response_class=Response, responses=WATCHING)
async def watch_room(events: Annotated[AsyncGenerator[Event | Piece], Depends(watched)]) -> EventStream:
    """The room, whenever it looks different: `room` has all of it, so nothing is lost by who comes late. A pupil first
    gets `own`, what they have answered. `ended` says why no more comes: `over`, `removed` or `elsewhere`.
    """
    return EventStream(events, "a room")


POSTING = refusals(
    s400=NOT_JSON,
    s403=NOT_YOURS,
    s404=OVER,
    s409="`not_open`: the vote or the turn has ended",
    s413="`message_too_large`: the teacher's link over 16,384 bytes, a pupil's message over 2,048; `body_too_large`",
    s429="`too_fast`: ten changes a second of the teacher, one message a second of a pupil; `too_many_asked`",
)


@router.post("/room", response_model=Heard, responses=POSTING)
async def post_to_room(asked: RoomPost, rooms: RoomsDep, key: RoomKey) -> Response:
    """One message: of the teacher `lead`, `recall`, `ask`, `again`, `reveal`, `done`, `turn`, `wall`, `lock`, `remove`,
    `renew`; of a pupil `vote`, `sentence`, `explore`."""
    await rooms.post(key, asked.message)
    return Response(b'{"ok":true}', media_type="application/json")


PageAddress = Annotated[
    Annotated[str, AfterValidator(checked_page)] | None,
    Query(
        max_length=500,
        description="The page's address in the browser, with a prefix that a proxy may have added.",
    ),
]


@router.get("/room/link", response_model=RoomLink, responses=refusals(s403=NOT_YOURS, s404=OVER))
async def room_link(rooms: RoomsDep, key: RoomKey, request: Request, page: PageAddress = None) -> Response:
    """Teacher: the address and the QR code for the first slide."""
    shown = await rooms.seen(key)
    if shown["role"] != "teacher":
        raise only_teacher()
    settings, base = state_of(request).settings, page or str(request.base_url)
    found = await run_in_threadpool(invitation, base, shown["room"]["code"], settings.token, settings.host)
    return Response(to_json(vars(found)), media_type="application/json")


@router.get("/room/results", response_model=RoomResults, responses=refusals(s403=NOT_YOURS, s404=OVER))
async def room_results(rooms: RoomsDep, key: RoomKey, names: bool = False) -> Response:
    """Teacher: all votes and sentences. `names`: with nicknames."""
    return Response(to_json(await rooms.results(key, names)), media_type="application/json")


@router.delete("/room", response_model=Heard, responses=refusals(s404=OVER))
async def leave_room(rooms: RoomsDep, key: RoomKey) -> Response:
    """The teacher ends the room, and all of it is deleted. A pupil leaves it; what was answered stays."""
    await rooms.leave(key)
    return Response(b'{"ok":true}', media_type="application/json")
