"""Rooms and their members: who comes and goes, one transaction each. What is said in a room: `acts.py`.

Keys are random and kept only as their SHA-256. A code is short, so that it can be typed, and only lets people in.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection, IntegrityError
from time import time

from chumoku.app.api import room_requests as said
from chumoku.app.errors import HIDDEN
from chumoku.app.services.rooms import limits
from chumoku.app.services.rooms.database import Database

LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""31 that nobody confuses: without 0, 1, I, L, O."""
CODE_LENGTH = 6


@dataclass(frozen=True)
class Person:
    """Whose key it is. `member`: None for the teacher."""

    room: int
    member: int | None

    @property
    def teaches(self) -> bool:
        return self.member is None


def hashed(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def typed(code: str) -> str:
    """A code as it was typed, also with a Japanese keyboard: `abc-234` → `ABC234`."""
    return "".join(one for one in unicodedata.normalize("NFKC", code).upper() if one.isalnum())


def named(name: str) -> str:
    """A nickname on one line, without what turns or hides text."""
    return " ".join(HIDDEN.sub("", name).split())


as_json = partial(json.dumps, ensure_ascii=False)


def new_code() -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))


def opened(database: Database, now: float | None = None) -> tuple[str, str]:
    """A new room's code and its teacher's key. Raises `rooms_full`."""
    at, key, over = time() if now is None else now, secrets.token_urlsafe(18), 0
    while True:
        with database.beginning() as connection:
            over += swept(connection, at)
            if rooms_of(connection) >= limits.ROOMS:
                over += unwatched(connection, at)
            if rooms_of(connection) >= limits.ROOMS:
                raise limits.rooms_full()
            code = with_new_code(partial(added, connection, hashed(key), at))
        if database.is_current():
            break
    if over:
        database.wipe()
    return code, key


def rooms_of(connection: Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM rooms").fetchone()[0])


def added(connection: Connection, key: bytes, now: float, code: str) -> None:
    add = "INSERT INTO rooms (code, key, expires, watched) VALUES (?, ?, ?, ?)"
    connection.execute(add, (code, key, now + limits.HOURS * 3600, now))


def with_new_code(write: Callable[[str], object]) -> str:
    while True:
        code = new_code()
        try:
            write(code)
        except IntegrityError:
            continue  # another room has it
        return code


def swept(connection: Connection, now: float) -> int:
    """Deletes the rooms that are over; how many."""
    return connection.execute("DELETE FROM rooms WHERE expires <= ?", (now,)).rowcount


def unwatched(connection: Connection, now: float) -> int:
    """Deletes the rooms that nobody watched for an hour; how many. Not earlier: a laptop may sleep through lunch."""
    since = now - limits.UNWATCHED_SECONDS
    return connection.execute("DELETE FROM rooms WHERE watched <= ?", (since,)).rowcount


def joined(
    database: Database, request: said.JoinRequest, address: str = "", now: float | None = None
) -> tuple[Person, str]:
    """A new member and their key. `address`: from where. Raises `unknown_code`, `room_locked`, `room_full`,
    `server_full`, `room_used_up`, `too_many_tries` and `too_many_joins`."""
    at, key = time() if now is None else now, secrets.token_urlsafe(18)
    with database.writing() as connection:
        if connection is None:
            raise limits.unknown_code()
        whence = hashed(f"{database.name} {address}")
        check_joins(connection, whence, at)
        find = "SELECT id, locked FROM rooms WHERE code = ? AND expires > ?"
        room = connection.execute(find, (typed(request.code), at)).fetchone()
        connection.execute("INSERT INTO joins VALUES (?, ?, ?)", (whence, at, room is None))
        if room is not None:
            return let_in(connection, room, request.name, key, at), key
    raise limits.unknown_code()  # and it is counted


def check_joins(connection: Connection, address: bytes, now: float) -> None:
    """Raises `too_many_tries` if this address, or all together, sent too many wrong codes, and `too_many_joins`."""
    forget_joins(connection, now)
    count = "SELECT count(*), count(*) FILTER (WHERE address = ?) FROM joins WHERE wrong = 1"
    of_server, of_address = connection.execute(count, (address,)).fetchone()
    if of_address >= limits.WRONG_OF_ADDRESS:
        raise limits.too_many_tries(limits.WRONG_OF_ADDRESS)
    if of_server >= limits.WRONG_OF_SERVER:
        raise limits.too_many_tries(limits.WRONG_OF_SERVER)
    count = "SELECT count(*) FROM joins WHERE address = ? AND wrong = 0"
    if connection.execute(count, (address,)).fetchone()[0] >= limits.JOINS_OF_ADDRESS:
        raise limits.too_many_joins()


def forget_joins(connection: Connection, now: float) -> None:
    """Deletes the joins that no longer count."""
    for wrong, seconds in ((1, limits.WRONG_SECONDS), (0, limits.JOIN_SECONDS)):
        connection.execute("DELETE FROM joins WHERE wrong = ? AND at <= ?", (wrong, now - seconds))


def let_in(connection: Connection, about: tuple[int, int], name: str, key: str, now: float) -> Person:
    """A new member of a room, of which `about` is (id, locked)."""
    room, locked = about
    if locked:
        raise limits.room_locked()
    here = "SELECT count(*), count(*) FILTER (WHERE room = ?) FROM members WHERE removed = 0 AND seen > ?"
    people, members = connection.execute(here, (room, now - limits.PRESENT_SECONDS)).fetchone()
    (ever,) = connection.execute("SELECT count(*) FROM members WHERE room = ?", (room,)).fetchone()
    if ever >= limits.EVER:
        raise limits.room_used_up()
    if members >= limits.MEMBERS:
        raise limits.room_full()
    if people >= limits.PEOPLE:
        raise limits.server_full()
    add = "INSERT INTO members (room, key, name, seen) VALUES (?, ?, ?, ?)"
    member = connection.execute(add, (room, hashed(key), named(name), now)).lastrowid
    changed(connection, room)
    return Person(room, member)


def person(database: Database, key: str) -> Person:
    """Whose key it is. Raises `room_over`."""
    with database.reading() as connection:
        return whose(connection, key)


def whose(connection: Connection | None, key: str) -> Person:
    if connection is None:
        raise limits.room_over()
    digest = hashed(key)
    for find in (
        "SELECT id, NULL FROM rooms WHERE key = ? AND expires > ?",
        "SELECT room, members.id FROM members JOIN rooms ON rooms.id = room"
        " WHERE members.key = ? AND removed = 0 AND expires > ?",
    ):
        found = connection.execute(find, (digest, time())).fetchone()
        if found is not None:
            return Person(*found)
    raise limits.room_over()


def changed(connection: Connection, room: int) -> None:
    connection.execute("UPDATE rooms SET version = version + 1, watched = ? WHERE id = ?", (time(), room))


def left(database: Database, key: str) -> Person:
    """The teacher ends the room; a pupil leaves it, and the answers stay."""
    with database.writing() as connection:
        who = whose(connection, key)
        assert connection is not None
        if who.teaches:
            connection.execute("DELETE FROM rooms WHERE id = ?", (who.room,))
        else:
            connection.execute("UPDATE members SET removed = 1 WHERE id = ?", (who.member,))
            changed(connection, who.room)
    if who.teaches:
        database.wipe()
    return who


def seen(database: Database, people: Collection[Person], now: float | None = None) -> None:
    """These are there. What is over is deleted: rooms, and joins that no longer count."""
    at, over = time() if now is None else now, 0
    with database.writing() as connection:
        if connection is not None:
            members = [(at, who.member) for who in people if who.member is not None]
            connection.executemany("UPDATE members SET seen = ? WHERE id = ?", members)
            rooms = [(at, room) for room in {who.room for who in people}]
            connection.executemany("UPDATE rooms SET watched = ? WHERE id = ?", rooms)
            forget_joins(connection, at)
            over = swept(connection, at)
    if over:
        database.wipe()
