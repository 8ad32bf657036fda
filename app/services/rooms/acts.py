"""What is said in a room, and what it does: one function for each kind of message, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable
from sqlite3 import Connection, Row
from time import time
from typing import Any

from chumoku.app.api import room_requests as said
from chumoku.app.services.rooms import limits
from chumoku.app.services.rooms.database import Database
from chumoku.app.services.rooms.store import Person, as_json, changed, whose, with_new_code


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
