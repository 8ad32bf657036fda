"""What a room shows: to everybody, to its teacher, to one pupil, and as results when it is over."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from sqlite3 import Connection
from time import time
from typing import Any

from chumoku.app.services.rooms.database import Database
from chumoku.app.services.rooms.limits import HOURS, PRESENT_SECONDS, only_teacher, room_over
from chumoku.app.services.rooms.store import Person, whose

Json = dict[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """A room at one version: what everybody sees, and what only its teacher sees besides. `members`: who is in it."""

    version: int
    everyone: Json
    teacher: Json
    members: frozenset[int]


def snapshots(database: Database, known: Mapping[int, int]) -> dict[int, Snapshot | None]:
    """Of the rooms `known` by their version, those that changed; None: the room is over."""
    with database.reading() as connection:
        if connection is None:
            return dict.fromkeys(known)
        found: dict[int, Snapshot | None] = {}
        for room, version in known.items():
            now = connection.execute(
                "SELECT version FROM rooms WHERE id = ? AND expires > ?", (room, time())
            ).fetchone()
            if now is None:
                found[room] = None
            elif now[0] != version:
                found[room] = snapshot(connection, room)
        return found


def snapshot(connection: Connection, room: int) -> Snapshot:
    names = ["version", "code", "expires", "locked", "link", "scroll", "author", "recalls", "question", "turn", "wall"]
    row = connection.execute(f"SELECT {', '.join(names)} FROM rooms WHERE id = ?", (room,)).fetchone()
    about = dict(zip(names, row, strict=True))
    question = question_of(connection, about["question"])
    turn = turn_of(connection, about["turn"])
    lead = None
    if about["link"] is not None:
        lead = {"link": about["link"], "scroll": json.loads(about["scroll"] or "null"), "author": about["author"]}
    shared = {"lead": lead, "recalls": about["recalls"], "locked": bool(about["locked"])}
    members = list(members_of(connection, room))
    sentences = [] if turn is None else list(sentences_of(connection, about["turn"]))
    return Snapshot(
        version=about["version"],
        everyone={**shared, "question": covered(question), "turn": turn},
        teacher={
            **shared,
            "code": about["code"],
            "expires": about["expires"],
            "question": question,
            "turn": turn,
            "wall_shown": bool(about["wall"]),
            "members": members,
            "sentences": sentences,
        },
        members=frozenset(one["id"] for one in members),
    )


def covered(question: Json | None) -> Json | None:
    """A question without its counts, until the teacher shows them: a pupil who sees them follows the others."""
    return question if question is None or question["revealed"] else {**question, "counts": None}


def question_of(connection: Connection, id_: int | None) -> Json | None:
    find = "SELECT id, ask, options, others, round, revealed, right, says FROM questions WHERE id = ?"
    row = None if id_ is None else connection.execute(find, (id_,)).fetchone()
    return None if row is None else question_from(connection, row)


def question_from(connection: Connection, row: tuple[Any, ...]) -> Json:
    id_, ask, options, others, round_, revealed, right, says = row
    options = json.loads(options)
    return {
        "id": id_,
        "ask": ask,
        "options": options,
        "others": json.loads(others),
        "round": round_,
        "revealed": bool(revealed),
        "right": right,
        "says": says,
        "counts": [counts_of(connection, id_, one, len(options)) for one in range(1, round_ + 1)],
    }


def counts_of(connection: Connection, question: int, round_: int, n: int) -> list[int]:
    """Votes by option."""
    find = "SELECT choice, count(*) FROM votes WHERE question = ? AND round = ? GROUP BY choice"
    votes = Counter(dict(connection.execute(find, (question, round_))))
    return [votes[option] for option in range(n)]


def turn_of(connection: Connection, id_: int | None) -> Json | None:
    row = None if id_ is None else connection.execute("SELECT id, ask FROM turns WHERE id = ?", (id_,)).fetchone()
    return None if row is None else {"id": row[0], "ask": row[1]}


def members_of(connection: Connection, room: int) -> Iterator[Json]:
    find = "SELECT id, name, explores, seen FROM members WHERE room = ? AND removed = 0 ORDER BY id"
    since = time() - PRESENT_SECONDS
    for id_, name, explores, seen in connection.execute(find, (room,)):
        yield {"id": id_, "name": name, "explores": bool(explores), "here": seen > since}


def sentences_of(connection: Connection, turn: int) -> Iterator[Json]:
    """`author`: the nickname, if it may be shown."""
    find = (
        "SELECT s.id, member, link, text, name, named FROM sentences s JOIN members ON members.id = member"
        " WHERE turn = ? ORDER BY s.id"
    )
    for id_, member, link, text, name, named in connection.execute(find, (turn,)):
        author = name if named and name else None
        yield {"id": id_, "member": member, "link": link, "text": text, "author": author}


def own(connection: Connection, who: Person) -> Json:
    """What a pupil has done, for a page that is opened again: the nickname, votes by question and round, sentences by
    turn."""
    name, explores = connection.execute("SELECT name, explores FROM members WHERE id = ?", (who.member,)).fetchone()
    votes: dict[str, dict[str, int]] = {}
    find = "SELECT question, round, choice FROM votes WHERE member = ?"
    for question, round_, choice in connection.execute(find, (who.member,)):
        votes.setdefault(str(question), {})[str(round_)] = choice
    turns = dict(connection.execute("SELECT turn, text FROM sentences WHERE member = ?", (who.member,)))
    return {
        "name": name,
        "explores": bool(explores),
        "votes": votes,
        "sentences": {str(k): v for k, v in turns.items()},
    }


def seen_by(database: Database, key: str) -> tuple[Person, Json]:
    """The whole value, for the one whose key it is. Raises `room_over`."""
    with database.reading() as connection:
        who = whose(connection, key)
        assert connection is not None
        now = snapshot(connection, who.room)
        if who.teaches:
            return who, {"version": now.version, "role": "teacher", "room": now.teacher, "own": None}
        return who, {"version": now.version, "role": "pupil", "room": now.everyone, "own": own(connection, who)}


def own_of(database: Database, who: Person) -> Json:
    with database.reading() as connection:
        if connection is None:
            raise room_over()
        return own(connection, who)


def results(database: Database, key: str, names: bool) -> Json:
    """Votes before and after, and sentences, in the order in which they were asked. Raises `only_teacher`."""
    with database.reading() as connection:
        who = whose(connection, key)
        if not who.teaches:
            raise only_teacher()
        assert connection is not None
        find = "SELECT id, ask, options, others, round, revealed, right, says FROM questions WHERE room = ? ORDER BY id"
        asked = connection.execute(find, (who.room,)).fetchall()
        turns = connection.execute("SELECT id, ask FROM turns WHERE room = ? ORDER BY id", (who.room,)).fetchall()
        (people,) = connection.execute("SELECT count(*) FROM members WHERE room = ?", (who.room,)).fetchone()
        about = connection.execute("SELECT expires, question FROM rooms WHERE id = ?", (who.room,)).fetchone()
        expires, open_ = about
        return {
            "opened": expires - HOURS * 3600,
            "people": people,
            "questions": [result_of(question_from(connection, row), open_) for row in asked],
            "turns": [{"ask": ask, "sentences": list(handed_in(connection, turn, names))} for turn, ask in turns],
        }


def result_of(question: Json, open_: int | None) -> Json:
    """`open_`: the question that is on the screens, which may still be answered."""
    kept = {name: value for name, value in question.items() if name not in ("id", "others", "round", "revealed")}
    return {**kept, "withdrawn": not question["revealed"] and question["id"] != open_}


def handed_in(connection: Connection, turn: int, names: bool) -> Iterable[Json]:
    """In no order that tells who: by their text."""
    find = "SELECT text, link, name FROM sentences JOIN members ON members.id = member WHERE turn = ? ORDER BY text"
    for text, link, name in connection.execute(find, (turn,)):
        yield {"text": text, "link": link, "name": name if names else None}
