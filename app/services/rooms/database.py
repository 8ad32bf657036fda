"""The SQLite file of all rooms: one for each server, shared by its processes, removed with the last room.

A file that is removed may still be open in another process, whose closing would delete the write-ahead log of a new
file of the same name. So each file has a name of its own, and a small file beside it, `current-…`, has that name.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import RLock
from time import time

from chumoku.app.services.rooms.limits import HOURS

SCHEMA = """
CREATE TABLE rooms (
    id INTEGER PRIMARY KEY AUTOINCREMENT, code TEXT NOT NULL UNIQUE, key BLOB NOT NULL UNIQUE, expires REAL NOT NULL,
    watched REAL NOT NULL, version INTEGER NOT NULL DEFAULT 1, due REAL NOT NULL DEFAULT 0,
    locked INTEGER NOT NULL DEFAULT 0, link TEXT, scroll TEXT, author TEXT, recalls INTEGER NOT NULL DEFAULT 0,
    question INTEGER, turn INTEGER, wall INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE members (
    id INTEGER PRIMARY KEY AUTOINCREMENT, room INTEGER NOT NULL REFERENCES rooms ON DELETE CASCADE,
    key BLOB NOT NULL UNIQUE, name TEXT NOT NULL, seen REAL NOT NULL, spoke REAL NOT NULL DEFAULT 0,
    explores INTEGER NOT NULL DEFAULT 0, removed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX of_room ON members (room);
CREATE TABLE questions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, room INTEGER NOT NULL REFERENCES rooms ON DELETE CASCADE,
    ask TEXT NOT NULL, options TEXT NOT NULL, round INTEGER NOT NULL DEFAULT 1, revealed INTEGER NOT NULL DEFAULT 0,
    right INTEGER, says TEXT, others TEXT NOT NULL
);
CREATE TABLE votes (
    question INTEGER NOT NULL REFERENCES questions ON DELETE CASCADE, round INTEGER NOT NULL,
    member INTEGER NOT NULL, choice INTEGER NOT NULL, PRIMARY KEY (question, round, member)
) WITHOUT ROWID;
CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT, room INTEGER NOT NULL REFERENCES rooms ON DELETE CASCADE, ask TEXT NOT NULL
);
CREATE TABLE sentences (
    id INTEGER PRIMARY KEY AUTOINCREMENT, turn INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE,
    member INTEGER NOT NULL, link TEXT NOT NULL, text TEXT NOT NULL, named INTEGER NOT NULL, UNIQUE (turn, member)
);
CREATE TABLE joins (address BLOB NOT NULL, at REAL NOT NULL, wrong INTEGER NOT NULL);
CREATE INDEX by_time ON joins (wrong, at);
CREATE INDEX of_address ON joins (address, wrong);
"""
CURRENT = f"current-{sha256(SCHEMA.encode()).hexdigest()[:8]}"
POINTER, DATABASE = re.compile(r"current(-[0-9a-f]{8})?"), re.compile(r"rooms-\w+\.sqlite")
"""Of this schema: a killed server of another version may have left its file here."""
BUSY_SECONDS = 10.0


class Database:
    """One connection to the file, used by one thread at a time. There is no file before the first room."""

    def __init__(self, folder: Path | None) -> None:
        """`folder`: None makes a private one, which is removed by `close`."""
        self.private = folder is None
        self.folder = folder
        self.lock = RLock()
        self.name: str | None = None
        self.connection: sqlite3.Connection | None = None
        self._seen: tuple[str | None, int] = (None, -1)

    def current(self) -> str | None:
        """The name of the file that has the rooms; None: there is no room."""
        if self.folder is None:
            return None
        try:
            name = (self.folder / CURRENT).read_text("ascii")
        except FileNotFoundError:
            return None
        return name if (self.folder / name).exists() else None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """One consistent state of the file; None if there is no room."""
        with self.lock:
            connection = self._opened(self.current())
            if connection is None:
                yield None
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                undone(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection | None]:
        """A change, whole or not at all; None if there is no room."""
        with self.lock:
            connection = self._opened(self.current())
            if connection is None:
                yield None
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                undone(connection)

    @contextmanager
    def beginning(self) -> Iterator[sqlite3.Connection]:
        """As `writing`, and makes the file if there is none. Check `is_current` afterwards: another process may have
        removed the file just before."""
        with self.lock:
            if self.current() is None:
                self._create()
            with self.writing() as connection:
                if connection is None:
                    raise sqlite3.OperationalError("the file of the rooms was removed")
                yield connection

    def is_current(self) -> bool:
        return self.name is not None and self.name == self.current()

    def has_changed(self) -> bool:
        """Whether another connection has changed the file since this was last asked. 10 µs."""
        with self.lock:
            connection = self._opened(self.current())
            now = -1 if connection is None else connection.execute("PRAGMA data_version").fetchone()[0]
            before, self._seen = self._seen, (self.name, now)
            return before != self._seen

    def wipe(self) -> None:
        """After a room was deleted: nothing of it stays in the log, and the file is removed if it has no other room.
        Meanwhile no process can add one."""
        with self.lock:
            connection = self._opened(self.current())
            if connection is None or self.folder is None:
                return
            connection.execute("BEGIN EXCLUSIVE")
            try:
                empty = connection.execute("SELECT count(*) FROM rooms").fetchone()[0] == 0
                if empty:
                    (self.folder / CURRENT).unlink(missing_ok=True)
                connection.execute("COMMIT")
            finally:
                undone(connection)
            if empty:
                self._forget(remove=True)
            else:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Closes the connection, and removes a private folder."""
        with self.lock:
            self._forget()
            if self.private and self.folder is not None:
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder = None

    def _create(self) -> None:
        """A new file, unless another process made one at the same time."""
        folder = self.folder = made(self.folder)
        drop_outdated(folder)
        name = f"rooms-{secrets.token_hex(8)}.sqlite"
        os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # its log gets the same mode
        with closing(sqlite3.connect(folder / name)) as new:
            new.execute("PRAGMA journal_mode = WAL")
            new.executescript(SCHEMA)
        pointer = folder / f"{name}.name"
        pointer.write_text(name, "ascii")
        try:
            os.link(pointer, folder / CURRENT)  # fails if there is one
        except FileExistsError:
            (folder / name).unlink()
        finally:
            pointer.unlink()

    def _opened(self, name: str | None) -> sqlite3.Connection | None:
        if name != self.name:
            self._forget()
        if name is not None and self.connection is None and self.folder is not None:
            path = self.folder / name
            if not path.exists():
                return None
            self.connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            for pragma in ("foreign_keys = ON", "secure_delete = ON", "synchronous = NORMAL", "temp_store = MEMORY"):
                self.connection.execute(f"PRAGMA {pragma}")
            self.name = name
        return self.connection

    def _forget(self, remove: bool = False) -> None:
        if self.connection is not None:
            self.connection.close()
        if remove and self.folder is not None and self.name is not None:
            for path in self.folder.glob(f"{self.name}*"):
                path.unlink(missing_ok=True)
        self.connection = self.name = None


def drop_outdated(folder: Path) -> None:
    """Deletes what other versions left behind, once all its rooms are over: no nickname is kept for longer."""
    since = time() - HOURS * 3600
    for path in folder.glob("rooms-*.sqlite"):
        parts = list(folder.glob(f"{path.name}*"))
        with suppress(FileNotFoundError):  # another process deletes them
            if all(part.stat().st_mtime < since for part in parts):
                for part in parts:
                    part.unlink()
    for pointer in folder.iterdir():
        if POINTER.fullmatch(pointer.name):  # the folder is the host's, and may have other files
            with suppress(FileNotFoundError):
                named = pointer.read_bytes().decode("ascii", "replace")
                if DATABASE.fullmatch(named) and not (folder / named).is_file():
                    pointer.unlink()


def undone(connection: sqlite3.Connection) -> None:
    """Ends a transaction that was not committed. After some errors SQLite has ended it itself."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def made(folder: Path | None) -> Path:
    """The folder, or a new private one."""
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="chumoku-rooms-"))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
