"""The log's handler, whose thread waits instead of the server."""

import logging
import threading

import pytest

from chumoku.app.cli.serving import server_of
from chumoku.app.http import logs
from chumoku.app.main import create_app
from chumoku.app.services.library import Library
from chumoku.app.settings import Settings


def test_lines_that_nobody_reads_are_counted_and_the_reader_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    read, waits, written = threading.Event(), threading.Semaphore(0), []

    def write(text: str) -> None:
        waits.release()
        assert read.wait(10)
        written.append(text)

    monkeypatch.setattr(logs, "WAITING", 2)
    monkeypatch.setattr(logs, "write", write)
    log = logs.Stderr()
    log.emit(line("first"))
    assert waits.acquire(timeout=10)
    for text in ("second", "third", "lost", "lost too"):
        log.emit(line(text))
    read.set()
    log.flush()
    told = "2 lines of the log were dropped, because it was not read"
    assert sorted("".join(written).splitlines()) == sorted(["first", "second", "third", told])


def test_flush_waits_for_no_more_lines_and_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(logs, "GATHER", 60.0)
    monkeypatch.setattr(logs, "SECONDS_TO_FLUSH", 10.0)
    monkeypatch.setattr(logs, "write", written.append)
    log = logs.Stderr()
    texts = [f"line {n}" for n in range(3000)]
    for text in texts:
        log.emit(line(text))
    log.flush()
    assert "".join(written).splitlines() == texts


def line(text: str) -> logging.LogRecord:
    return logging.LogRecord("chumoku", logging.INFO, "", 0, text, (), None)


class Kept(logging.Handler):
    flushed = 0

    def flush(self) -> None:
        self.flushed += 1


async def test_a_stopping_server_writes_its_whole_log(monkeypatch: pytest.MonkeyPatch, three: Library) -> None:
    settings, kept = Settings(device="cpu"), Kept()
    monkeypatch.setattr(logging.getLogger(), "handlers", [kept])
    app = create_app(settings, three)
    server = server_of(app, settings, files=256, message="")
    async with app.router.lifespan_context(app):
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup(sockets=[])
        await server.shutdown(sockets=[])
    assert kept.flushed == 1
