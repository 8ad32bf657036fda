"""The file of the rooms: who may do what, limits, and two processes at once."""

import json
import multiprocessing
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chumoku.app.api.room_requests import JoinRequest, RoomPost
from chumoku.app.errors import AppError
from chumoku.app.services.rooms import acts, limits, store, value
from chumoku.app.services.rooms.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "rooms")
    yield made
    made.close()


def join(database: Database, code: str, name: str = "", **whence: Any) -> str:
    return store.joined(database, JoinRequest(code=code, name=name), **whence)[1]


def post(database: Database, key: str, **message: Any) -> None:
    acts.posted(database, key, RoomPost(message=message).message)  # type: ignore[arg-type]


def room(database: Database, key: str) -> dict[str, Any]:
    shown: dict[str, Any] = value.seen_by(database, key)[1]["room"]
    return shown


def waited(database: Database) -> None:
    """As if a second had passed since everybody's last message."""
    with database.writing() as connection:
        assert connection is not None
        connection.execute("UPDATE members SET spoke = spoke - 1")
        connection.execute("UPDATE rooms SET due = 0")


class Refusal:
    """`with Refusal("too_fast"):` fails unless the block is refused with this code."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.limit: float | None = None
        self.got: float | str | None = None

    def __enter__(self) -> "Refusal":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        assert isinstance(error, AppError), f"not refused: {error!r}"
        assert error.code == self.code
        self.limit, self.got = error.limit, error.got
        return True


def test_a_code_is_six_of_31_letters_that_nobody_confuses(database: Database) -> None:
    code, _ = store.opened(database)
    assert len(code) == 6
    assert len(set(store.LETTERS)) == 31
    assert not set("01ILO") & set(store.LETTERS)
    assert set(code) <= set(store.LETTERS)


@pytest.mark.parametrize("change", [str, str.lower, lambda code: f" {code[:3]}-{code[3:]} ", "fullwidth"])
def test_a_code_may_be_typed_in_any_way(database: Database, change: Any) -> None:
    code, teacher = store.opened(database)
    wide = "".join(chr(ord(one) + 0xFEE0) for one in code)
    join(database, wide if change == "fullwidth" else change(code))
    assert len(room(database, teacher)["members"]) == 1


def test_everybody_sees_what_the_teacher_shows(database: Database) -> None:
    code, teacher = store.opened(database)
    pupil = join(database, code, "Aoi")
    post(database, teacher, kind="lead", link="/?layer=3#text=a+cat", scroll={"at": "river", "by": 0.5})
    lead = room(database, pupil)["lead"]
    assert lead == {"link": "/?layer=3#text=a+cat", "scroll": {"at": "river", "by": 0.5}, "author": None}


def test_a_vote_is_counted_once_and_may_be_changed(database: Database) -> None:
    code, teacher = store.opened(database)
    pupils = [join(database, code) for _ in range(3)]
    post(database, teacher, kind="ask", ask="Which?", options=["a", "b"])
    question = room(database, teacher)["question"]["id"]
    for pupil, choice in zip(pupils, (0, 1, 1), strict=True):
        post(database, pupil, kind="vote", question=question, round=1, choice=choice)
    waited(database)
    post(database, pupils[0], kind="vote", question=question, round=1, choice=1)
    assert room(database, teacher)["question"]["counts"] == [[0, 3]]
    assert room(database, pupils[0])["question"]["counts"] is None  # until it is revealed
    post(database, teacher, kind="again")
    waited(database)
    post(database, pupils[2], kind="vote", question=question, round=2, choice=0)
    post(database, teacher, kind="reveal", right=1, says="b has 60 %.")
    shown = room(database, pupils[0])["question"]
    assert (shown["counts"], shown["right"], shown["says"]) == ([[0, 3], [1, 0]], 1, "b has 60 %.")
    waited(database)
    with Refusal("not_open"):
        post(database, pupils[1], kind="vote", question=question, round=2, choice=0)


def test_a_question_goes_to_the_room_in_each_language_of_the_page(database: Database) -> None:
    code, teacher = store.opened(database)
    pupil = join(database, code)
    japanese = {"ask": "どちら？", "options": ["はい", "いいえ"]}
    post(database, teacher, kind="ask", ask="Which?", options=["yes", "no"], others={"ja": japanese})
    shown = room(database, pupil)["question"]
    assert (shown["ask"], shown["others"]) == ("Which?", {"ja": japanese})
    post(database, teacher, kind="reveal", right=0, says="Yes.", others={"ja": "はい。"})
    shown = room(database, pupil)["question"]
    assert (shown["says"], shown["others"]) == ("Yes.", {"ja": {**japanese, "says": "はい。"}})
    for others in ({"ja": {"ask": "どちら？", "options": ["はい", "いいえ", "?"]}}, {"fr": japanese}):
        with pytest.raises(ValueError, match=r"as many options|should be 'en' or 'ja'"):
            RoomPost.model_validate({"message": {"kind": "ask", "ask": "?", "options": ["a", "b"], "others": others}})


def test_a_pupil_cannot_lead_nor_read_names(database: Database) -> None:
    code, teacher = store.opened(database)
    pupil = join(database, code, "Aoi")
    join(database, code, "Ren")
    for message in ({"kind": "lead", "link": "/"}, {"kind": "reveal"}, {"kind": "lock", "locked": True}):
        with Refusal("only_teacher"):
            post(database, pupil, **message)
    with Refusal("only_teacher"):
        value.results(database, pupil, names=True)
    assert "Ren" not in repr(value.seen_by(database, pupil))
    assert [one["name"] for one in room(database, teacher)["members"]] == ["Aoi", "Ren"]


def test_a_name_is_shown_with_a_sentence_only_if_its_author_allows(database: Database) -> None:
    code, teacher = store.opened(database)
    post(database, teacher, kind="turn", ask="A sentence with red")
    turn = room(database, teacher)["turn"]["id"]
    for name, named in (("Aoi", True), ("Ren", False)):
        pupil = join(database, code, name)
        post(database, pupil, kind="sentence", turn=turn, link=f"/#text={name}", text=name.lower(), named=named)
    sentences = room(database, teacher)["sentences"]
    assert [one["author"] for one in sentences] == ["Aoi", None]
    for one, author in zip(sentences, ("Aoi", None), strict=True):
        post(database, teacher, kind="lead", link=one["link"], sentence=one["id"])
        assert room(database, pupil)["lead"]["author"] == author
    assert [one["name"] for one in value.results(database, teacher, names=False)["turns"][0]["sentences"]] == [None] * 2
    assert [one["name"] for one in value.results(database, teacher, names=True)["turns"][0]["sentences"]] == [
        "Aoi",
        "Ren",
    ]


def test_a_pupil_speaks_once_a_second_and_briefly(database: Database) -> None:
    code, _ = store.opened(database)
    pupil = join(database, code)
    post(database, pupil, kind="explore", explores=True)
    with Refusal("too_fast"):
        post(database, pupil, kind="explore", explores=False)
    waited(database)
    large = {"kind": "sentence", "turn": 1, "text": "", "named": False, "link": ""}
    room_left = limits.PUPIL_BYTES - len(json.dumps(large, separators=(",", ":")))
    with Refusal("message_too_large"):
        post(database, pupil, **large | {"link": "?" + "字" * (room_left // 3)})
    with Refusal("not_open"):  # the size is right
        post(database, pupil, **large | {"link": "?" + "a" * (room_left - 1)})


def test_a_teachers_link_is_limited_in_bytes(database: Database) -> None:
    code, teacher = store.opened(database)
    pupil = join(database, code)
    link = "#" + "字" * ((limits.LEAD_BYTES - 1) // 3)
    post(database, teacher, kind="lead", link=link)
    assert room(database, pupil)["lead"]["link"] == link
    with Refusal("message_too_large") as refusal:
        post(database, teacher, kind="lead", link=link + "字")
    assert (refusal.limit, refusal.got) == (limits.LEAD_BYTES, limits.LEAD_BYTES + 3)


def test_a_teacher_changes_ten_times_a_second(database: Database) -> None:
    _, teacher = store.opened(database)
    for _ in range(10):
        post(database, teacher, kind="recall")
    with Refusal("too_fast"):
        for _ in range(10):
            post(database, teacher, kind="recall")


def test_a_recall_ends_exploring(database: Database) -> None:
    code, teacher = store.opened(database)
    pupil = join(database, code)
    post(database, pupil, kind="explore", explores=True)
    assert [one["explores"] for one in room(database, teacher)["members"]] == [True]
    post(database, teacher, kind="recall")
    assert [one["explores"] for one in room(database, teacher)["members"]] == [False]
    assert room(database, pupil)["recalls"] == 1


def test_the_door(database: Database) -> None:
    code, teacher = store.opened(database)
    pupil = join(database, code, "Aoi")
    post(database, teacher, kind="lock", locked=True)
    with Refusal("room_locked"):
        join(database, code)
    post(database, teacher, kind="lock", locked=False)
    post(database, teacher, kind="renew")
    with Refusal("unknown_code"):
        join(database, code)
    assert room(database, pupil)["lead"] is None  # who is in stays
    join(database, room(database, teacher)["code"])
    (first, _) = room(database, teacher)["members"]
    post(database, teacher, kind="remove", member=first["id"])
    with Refusal("room_over"):
        room(database, pupil)


def test_nobody_acts_in_another_room(database: Database) -> None:
    (code, teacher), (_, other) = store.opened(database), store.opened(database)
    pupil = join(database, code)
    post(database, teacher, kind="ask", ask="Which?", options=["a", "b"])
    post(database, other, kind="remove", member=room(database, teacher)["members"][0]["id"])
    assert room(database, pupil)["question"]["ask"] == "Which?"
    with Refusal("not_open"):
        post(database, other, kind="reveal")


def test_a_room_has_limits(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("ROOMS", 2), ("MEMBERS", 3), ("PEOPLE", 5)):
        monkeypatch.setattr(limits, name, most)
    (first, _), (second, _) = store.opened(database), store.opened(database)
    with Refusal("rooms_full"):
        store.opened(database)
    for _ in range(3):
        join(database, first)
    with Refusal("room_full"):
        join(database, first)
    for _ in range(2):
        join(database, second)
    with Refusal("server_full"):
        join(database, second)
    with database.writing() as connection:
        assert connection is not None
        connection.execute("UPDATE members SET seen = seen - 100")  # they have left without a word
    join(database, first)


def test_a_room_that_nobody_watches_gives_up_its_place(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROOMS", 2)
    (_, first), (_, second) = store.opened(database), store.opened(database)
    hour = limits.UNWATCHED_SECONDS + 1
    later = time.time() + hour
    store.seen(database, [store.person(database, second)], now=later)
    assert room(database, first)["recalls"] == 0  # as long as there is place
    store.opened(database, now=later)
    with Refusal("room_over"):
        room(database, first)
    assert room(database, second)["recalls"] == 0
    with Refusal("rooms_full"):
        store.opened(database, now=later)


def test_a_room_keeps_so_many_questions_and_turns(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ASKED", 2)
    _, teacher = store.opened(database)
    _, other = store.opened(database)
    for _ in range(2):
        post(database, teacher, kind="ask", ask="Which?", options=["a", "b"])
        post(database, teacher, kind="turn", ask="Write.")
    with Refusal("too_many_asked"):
        post(database, teacher, kind="ask", ask="Which?", options=["a", "b"])
    with Refusal("too_many_asked"):
        post(database, teacher, kind="turn", ask="Write.")
    post(database, teacher, kind="turn", ask=None)
    post(database, other, kind="turn", ask="Write.")


def test_a_room_is_used_up_after_so_many(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EVER", 2)
    code, _ = store.opened(database)
    for _ in range(2):
        store.left(database, join(database, code))
    with Refusal("room_used_up"):
        join(database, code)


def test_wrong_codes_are_limited_for_each_address_and_for_all_whichever_process_asks(database: Database) -> None:
    code, _ = store.opened(database)
    other, now = Database(database.folder), time.time()

    def wrong(n: int, address: str, at: float) -> None:
        with Refusal("unknown_code"):
            join((database, other)[n % 2], "AAAAAA", address=address, now=at)

    for n in range(limits.WRONG_OF_ADDRESS):
        wrong(n, "10.0.0.1", now)
    with Refusal("too_many_tries"):
        join(database, code, address="10.0.0.1", now=now)
    join(database, code, address="10.0.0.2", now=now)
    for n in range(limits.WRONG_OF_SERVER - limits.WRONG_OF_ADDRESS):
        wrong(n, f"10.0.1.{n}", now + 30)
    with Refusal("too_many_tries"):
        join(other, code, address="10.0.0.2", now=now + 30)
    join(other, code, address="10.0.0.1", now=now + 61)
    other.close()


def test_joins_are_limited_for_each_address(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JOINS_OF_ADDRESS", 2)
    code, _ = store.opened(database)
    now = time.time()
    for _ in range(2):
        join(database, code, address="10.0.0.1", now=now)
    with Refusal("too_many_joins"):
        join(database, code, address="10.0.0.1", now=now + 599)
    join(database, code, address="10.0.0.2", now=now + 599)
    join(database, code, address="10.0.0.1", now=now + 601)
    store.seen(database, [], now=now + 601)  # also where nobody joins any more
    with database.reading() as connection:
        assert connection is not None
        assert connection.execute("SELECT count(*) FROM joins").fetchone() == (2,)
    store.seen(database, [], now=now + 1202)
    with database.reading() as connection:
        assert connection is not None
        assert connection.execute("SELECT count(*) FROM joins").fetchone() == (0,)


def test_no_key_is_in_the_file_and_nothing_is_left_when_the_last_room_ends(database: Database) -> None:
    code, teacher = store.opened(database)
    pupil = join(database, code, "Aoi-the-first", address="10.20.30.40")
    assert database.folder is not None
    held = b"".join(path.read_bytes() for path in database.folder.iterdir())
    assert b"Aoi-the-first" in held
    assert b"10.20.30.40" not in held
    for key in (teacher, pupil):
        assert key.encode() not in held
    assert {path.stat().st_mode & 0o077 for path in database.folder.iterdir() if path.suffix != ""} == {0}
    store.left(database, teacher)
    assert list(database.folder.iterdir()) == []
    with Refusal("room_over"):
        room(database, pupil)


def test_a_room_ends_after_twelve_hours(database: Database) -> None:
    then = time.time() - 12 * 3600 - 1
    _, teacher = store.opened(database, now=then)
    with Refusal("room_over"):
        room(database, teacher)
    store.seen(database, [])
    assert database.folder is not None
    assert list(database.folder.iterdir()) == []


# --- several processes -----------------------------------------------------------------------------------------

SPAWN = multiprocessing.get_context("spawn")


def votes_of(folder: Path, keys: list[str], question: int) -> None:
    database = Database(folder)
    for n, key in enumerate(keys):
        post(database, key, kind="vote", question=question, round=1, choice=n % 2)
    database.close()


def never_ends(folder: Path, key: str, question: int) -> None:
    """Votes, and stops in the middle of the next change."""
    database = Database(folder)
    post(database, key, kind="vote", question=question, round=1, choice=1)
    with database.writing() as connection:
        assert connection is not None
        connection.execute("DELETE FROM votes")
        (folder / "ready").touch()
        while True:
            time.sleep(60)


def asked_in(database: Database, n: int) -> tuple[str, list[str], int]:
    code, teacher = store.opened(database)
    keys = [join(database, code) for _ in range(n)]
    post(database, teacher, kind="ask", ask="Which?", options=["a", "b"])
    return teacher, keys, room(database, teacher)["question"]["id"]


def test_two_processes_count_every_vote_once(database: Database) -> None:
    teacher, keys, question = asked_in(database, 40)
    database.has_changed()  # from here on
    post(database, teacher, kind="lock", locked=True)
    assert not database.has_changed()  # this process's own changes are not others'
    both = [SPAWN.Process(target=votes_of, args=(database.folder, part, question)) for part in (keys[:20], keys[20:])]
    for one in both:
        one.start()
    for one in both:
        one.join(60)
        assert one.exitcode == 0
    assert database.has_changed()
    assert not database.has_changed()
    assert room(database, teacher)["question"]["counts"] == [[20, 20]]


def joins_of(folder: Path, codes: list[str], addresses: list[str]) -> list[str]:
    """What became of each join: "in", or the code of the refusal."""
    database, found = Database(folder), []
    for code, address in zip(codes, addresses, strict=True):
        try:
            join(database, code, address=address)
            found.append("in")
        except AppError as error:
            found.append(error.code)
    database.close()
    return found


def test_two_processes_together_let_in_no_more_than_the_limits(database: Database) -> None:
    code, teacher = store.opened(database)
    with ProcessPoolExecutor(2, SPAWN) as processes:

        def joined_by_two(code: str, n: int) -> Counter[str]:
            """What became of n joins by each of two processes at once."""
            froms = [[f"10.0.{part}.{i}" for i in range(n)] for part in range(2)]
            jobs = [processes.submit(joins_of, database.folder, [code] * n, addresses) for addresses in froms]
            return Counter(one for job in jobs for one in job.result(60))

        assert joined_by_two(code, 160) == {"in": limits.MEMBERS, "room_full": 320 - limits.MEMBERS}
        wrong = joined_by_two("AAAAAA", 125)
        assert wrong == {"unknown_code": limits.WRONG_OF_SERVER, "too_many_tries": 250 - limits.WRONG_OF_SERVER}
        used_up_but(database, 8)
        assert joined_by_two(code, 10) == {"in": 8, "room_used_up": 12}
    assert len(room(database, teacher)["members"]) == limits.MEMBERS + 8


def used_up_but(database: Database, n: int) -> None:
    """As after a long lesson, in which many came and went: n more may join the only room."""
    with database.writing() as connection:
        assert connection is not None
        connection.execute("DELETE FROM joins")
        connection.execute("UPDATE members SET seen = 0")
        id_, there = connection.execute("SELECT room, count(*) FROM members").fetchone()
        gone = [(id_, os.urandom(8)) for _ in range(limits.EVER - there - n)]
        connection.executemany("INSERT INTO members (room, key, name, seen, removed) VALUES (?, ?, '', 0, 1)", gone)


def test_a_process_killed_in_the_middle_of_a_change_loses_no_answer(database: Database) -> None:
    teacher, (first, second), question = asked_in(database, 2)
    assert database.folder is not None
    other = SPAWN.Process(target=never_ends, args=(database.folder, first, question))
    other.start()
    while not (database.folder / "ready").exists():
        assert other.is_alive()
        time.sleep(0.01)
    assert other.pid is not None
    os.kill(other.pid, signal.SIGKILL)
    other.join(60)
    post(database, second, kind="vote", question=question, round=1, choice=0)
    assert room(database, teacher)["question"]["counts"] == [[1, 1]]


def test_a_file_that_another_process_removed_is_not_written_to(database: Database, tmp_path: Path) -> None:
    other = Database(database.folder)
    _, teacher = store.opened(database)
    assert room(other, teacher)["recalls"] == 0
    store.left(database, teacher)
    code, _ = store.opened(database)  # a new file, while the other still has the old one open
    key = join(other, code)
    other.close()
    assert room(database, key)["lead"] is None


def test_a_file_that_another_version_left_is_not_read_and_goes_after_twelve_hours(database: Database) -> None:
    assert database.folder is not None
    database.folder.mkdir()
    young, old = [database.folder / f"rooms-{name}.sqlite" for name in ("young", "old")]
    for path in (young, old):
        with closing(sqlite3.connect(path)) as file:
            file.execute("CREATE TABLE rooms (of_another TEXT)")
    (database.folder / "current").write_text(young.name, "ascii")
    os.utime(old, (time.time() - 12 * 3600 - 1,) * 2)
    (database.folder / "current-notes.txt").write_text("of the host", "utf-8")
    (database.folder / "current").with_suffix(".d").mkdir()
    code, teacher = store.opened(database)
    join(database, code)
    assert len(room(database, teacher)["members"]) == 1
    assert (young.exists(), old.exists()) == (True, False)
    assert (database.folder / "current-notes.txt").read_text("utf-8") == "of the host"


def test_rooms_open_again_after_another_version_deleted_the_file(database: Database) -> None:
    """It deletes what is old, and does not know which name a file of ours has."""
    first, _ = store.opened(database)
    assert database.folder is not None
    assert database.current() is not None
    path = database.folder / str(database.current())
    database.close()
    for part in database.folder.glob(f"{path.name}*"):
        part.unlink()
    code, teacher = store.opened(database)
    join(database, code)
    assert code != first
    assert len(room(database, teacher)["members"]) == 1
    assert len(list(database.folder.glob("current*"))) == 1


def test_two_processes_that_open_the_first_rooms_at_once_share_a_file(tmp_path: Path) -> None:
    one, two = Database(tmp_path), Database(tmp_path)
    one._create()
    two._create()
    (_, first), (_, second) = store.opened(one), store.opened(two)
    assert room(two, first)
    assert room(one, second)
    assert len(list(tmp_path.glob("*.sqlite"))) == 1
    with sqlite3.connect(next(tmp_path.glob("*.sqlite"))) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    one.close()
    two.close()
