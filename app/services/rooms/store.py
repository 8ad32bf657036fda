"""What happens in rooms: one function for each act, and each is one transaction.

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
from sqlite3 import Connection, IntegrityError, Row
from time import time
from typing import Any

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
    for wrong, seconds in ((1, limits.WRONG_SECONDS), (0, limits.JOIN_SECONDS)):
        connection.execute("DELETE FROM joins WHERE wrong = ? AND at <= ?", (wrong, now - seconds))
    count = "SELECT count(*), count(*) FILTER (WHERE address = ?) FROM joins WHERE wrong = 1"
    of_server, of_address = connection.execute(count, (address,)).fetchone()
    if of_address >= limits.WRONG_OF_ADDRESS:
        raise limits.too_many_tries(limits.WRONG_OF_ADDRESS)
    if of_server >= limits.WRONG_OF_SERVER:
        raise limits.too_many_tries(limits.WRONG_OF_SERVER)
    count = "SELECT count(*) FROM joins WHERE address = ? AND wrong = 0"
    if connection.execute(count, (address,)).fetchone()[0] >= limits.JOINS_OF_ADDRESS:
        raise limits.too_many_joins()


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
    """These are there. And rooms that are over are deleted."""
    at, over = time() if now is None else now, 0
    with database.writing() as connection:
        if connection is not None:
            members = [(at, who.member) for who in people if who.member is not None]
            connection.executemany("UPDATE members SET seen = ? WHERE id = ?", members)
            rooms = [(at, room) for room in {who.room for who in people}]
            connection.executemany("UPDATE rooms SET watched = ? WHERE id = ?", rooms)
            over = swept(connection, at)
    if over:
        database.wipe()


def posted(database: Database, key: str, message: said.OfTeacher | said.OfPupil) -> Person:
    """Does what the message says. Raises `only_teacher`, `only_pupils`, `too_fast`,
    `message_too_large`, `not_open` and `too_many_asked`."""
    with database.writing() as connection:
        who = whose(connection, key)
        assert connection is not None
        teaches = isinstance(message, said.OfTeacher)
        if teaches and not who.teaches:
            raise limits.only_teacher()
        if not teaches and who.teaches:
            raise limits.only_pupils()
        check_size(message)
        (paced_teacher if who.teaches else paced_pupil)(connection, who)
        ACTS[message.kind](connection, who, message)
        changed(connection, who.room)
        return who


def check_size(message: said.OfTeacher | said.OfPupil) -> None:
    """Not from the request's length, which need not be declared. Raises `message_too_large`."""
    limit, sent = limits.PUPIL_BYTES, ""
    if isinstance(message, said.LeadMessage):
        limit, sent = limits.LEAD_BYTES, message.link
    elif isinstance(message, said.OfPupil):
        sent = message.model_dump_json()
    size = len(sent.encode())
    if size > limit:
        raise limits.message_too_large(size, limit)


def paced_teacher(connection: Connection, who: Person) -> None:
    """`due` is when the room would be idle again at the allowed pace."""
    now = time()
    (due,) = connection.execute("SELECT due FROM rooms WHERE id = ?", (who.room,)).fetchone()
    if due - now > limits.TEACHER_SECONDS * limits.TEACHER_BURST:
        raise limits.too_fast(limits.TEACHER_SECONDS)
    after = max(due, now) + limits.TEACHER_SECONDS
    connection.execute("UPDATE rooms SET due = ? WHERE id = ?", (after, who.room))


def paced_pupil(connection: Connection, who: Person) -> None:
    now = time()
    (spoke,) = connection.execute("SELECT spoke FROM members WHERE id = ?", (who.member,)).fetchone()
    if 0 <= now - spoke < limits.PUPIL_SECONDS:
        raise limits.too_fast(limits.PUPIL_SECONDS)
    connection.execute("UPDATE members SET spoke = ?, seen = ? WHERE id = ?", (now, now, who.member))


# The acts. Each gets the connection, who acts, and the message.


def lead(connection: Connection, who: Person, message: said.LeadMessage) -> None:
    scroll = None if message.scroll is None else json.dumps(message.scroll.model_dump())
    author = message.sentence and author_of(connection, who, message.sentence)
    values = (message.link, scroll, author, who.room)
    connection.execute("UPDATE rooms SET link = ?, scroll = ?, author = ? WHERE id = ?", values)


def author_of(connection: Connection, who: Person, sentence: int) -> str | None:
    """The nickname of who handed it in, if it may be shown."""
    find = (
        "SELECT name FROM sentences JOIN members ON members.id = member"
        " WHERE sentences.id = ? AND room = ? AND named AND name <> ''"
    )
    found = connection.execute(find, (sentence, who.room)).fetchone()
    return found and str(found[0])


def recall(connection: Connection, who: Person, _: said.RecallMessage) -> None:
    connection.execute("UPDATE rooms SET recalls = recalls + 1 WHERE id = ?", (who.room,))
    connection.execute("UPDATE members SET explores = 0 WHERE room = ?", (who.room,))


def check_asked(connection: Connection, who: Person, table: str) -> None:
    if connection.execute(f"SELECT count(*) FROM {table} WHERE room = ?", (who.room,)).fetchone()[0] >= limits.ASKED:
        raise limits.too_many_asked()


def ask(connection: Connection, who: Person, message: said.AskMessage) -> None:
    check_asked(connection, who, "questions")
    add = "INSERT INTO questions (room, ask, options, others) VALUES (?, ?, ?, ?)"
    others = {language: words.model_dump() for language, words in message.others.items()}
    values = (who.room, message.ask, as_json(message.options), as_json(others))
    question = connection.execute(add, values).lastrowid
    connection.execute("UPDATE rooms SET question = ? WHERE id = ?", (question, who.room))


def question_of(connection: Connection, who: Person) -> Row | tuple[Any, ...]:
    """(id, round, revealed, number of options) of the question on the screens. Raises `not_open`."""
    find = (
        "SELECT q.id, q.round, q.revealed, json_array_length(q.options)"
        " FROM questions q JOIN rooms ON rooms.question = q.id WHERE rooms.id = ?"
    )
    found: tuple[Any, ...] | None = connection.execute(find, (who.room,)).fetchone()
    if found is None:
        raise limits.not_open("question")
    return found


def again(connection: Connection, who: Person, _: said.AgainMessage) -> None:
    question, round_, revealed, _n = question_of(connection, who)
    if round_ != 1 or revealed:
        raise limits.not_open("question")
    connection.execute("UPDATE questions SET round = 2 WHERE id = ?", (question,))


def reveal(connection: Connection, who: Person, message: said.RevealMessage) -> None:
    question, _, _, n = question_of(connection, who)
    right = message.right if message.right is not None and message.right < n else None
    (known,) = connection.execute("SELECT others FROM questions WHERE id = ?", (question,)).fetchone()
    says = message.others
    others = {language: {**words, "says": says.get(language)} for language, words in json.loads(known).items()}
    values = (right, message.says, as_json(others), question)
    connection.execute("UPDATE questions SET revealed = 1, right = ?, says = ?, others = ? WHERE id = ?", values)


def done(connection: Connection, who: Person, _: said.DoneMessage) -> None:
    connection.execute("UPDATE rooms SET question = NULL WHERE id = ?", (who.room,))


def vote(connection: Connection, who: Person, message: said.VoteMessage) -> None:
    question, round_, revealed, n = question_of(connection, who)
    if (message.question, message.round) != (question, round_) or revealed or message.choice >= n:
        raise limits.not_open("question")
    add = "INSERT OR REPLACE INTO votes (question, round, member, choice) VALUES (?, ?, ?, ?)"
    connection.execute(add, (question, round_, who.member, message.choice))


def turn(connection: Connection, who: Person, message: said.TurnMessage) -> None:
    if message.ask is None:
        connection.execute("UPDATE rooms SET turn = NULL, wall = 0 WHERE id = ?", (who.room,))
        return
    check_asked(connection, who, "turns")
    add = "INSERT INTO turns (room, ask) VALUES (?, ?)"
    opened_turn = connection.execute(add, (who.room, message.ask)).lastrowid
    connection.execute("UPDATE rooms SET turn = ?, wall = 0 WHERE id = ?", (opened_turn, who.room))


def sentence(connection: Connection, who: Person, message: said.SentenceMessage) -> None:
    (asked,) = connection.execute("SELECT turn FROM rooms WHERE id = ?", (who.room,)).fetchone()
    if asked != message.turn:
        raise limits.not_open("turn")
    add = (
        "INSERT INTO sentences (turn, member, link, text, named) VALUES (?, ?, ?, ?, ?) ON CONFLICT (turn, member)"
        " DO UPDATE SET link = excluded.link, text = excluded.text, named = excluded.named"
    )
    connection.execute(add, (asked, who.member, message.link, message.text, message.named))


def wall(connection: Connection, who: Person, message: said.WallMessage) -> None:
    connection.execute("UPDATE rooms SET wall = ? WHERE id = ?", (message.shown, who.room))


def lock(connection: Connection, who: Person, message: said.LockMessage) -> None:
    connection.execute("UPDATE rooms SET locked = ? WHERE id = ?", (message.locked, who.room))


def remove(connection: Connection, who: Person, message: said.RemoveMessage) -> None:
    """With what they handed in: it may be why they are removed."""
    find = "SELECT 1 FROM members WHERE id = ? AND room = ?"
    if connection.execute(find, (message.member, who.room)).fetchone():
        connection.execute("UPDATE members SET removed = 1, name = '' WHERE id = ?", (message.member,))
        for table in ("votes", "sentences"):
            connection.execute(f"DELETE FROM {table} WHERE member = ?", (message.member,))


def renew(connection: Connection, who: Person, _: said.RenewMessage) -> None:
    with_new_code(lambda code: connection.execute("UPDATE rooms SET code = ? WHERE id = ?", (code, who.room)))


def explore(connection: Connection, who: Person, message: said.ExploreMessage) -> None:
    connection.execute("UPDATE members SET explores = ? WHERE id = ?", (message.explores, who.member))


ACTS: dict[str, Callable[[Connection, Person, Any], None]] = {
    one.__name__: one
    for one in (lead, recall, ask, again, reveal, done, turn, wall, lock, remove, renew, vote, sentence, explore)
}
