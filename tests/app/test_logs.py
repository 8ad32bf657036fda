"""The log is JSON, one line for each request, and contains nothing that a user typed."""

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from httpx import AsyncClient

from chumoku.app.http import logs
from chumoku.app.services.generation import GenerationSession
from chumoku.app.settings import Settings
from tests.app.conftest import Open
from tests.app.helpers import error_of

SECRET = "Xyzzy plugh"
Log = io.StringIO


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """What the server's log writes to stderr, from any logger."""
    yield from written(monkeypatch, log_text=False)


@pytest.fixture
def open_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """The same with CHUMOKU_LOG_TEXT."""
    yield from written(monkeypatch, log_text=True)


def written(monkeypatch: pytest.MonkeyPatch, log_text: bool) -> Iterator[Log]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonLines(log_text))
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    yield stream


def lines(log: Log, message: str | None = "request") -> list[dict[str, Any]]:
    found = [json.loads(line) for line in log.getvalue().splitlines()]
    return [line for line in found if message in (None, line["message"])]


async def test_one_line_a_request(client: AsyncClient, log: Log) -> None:
    traced = await client.post("/api/trace", json={"text": SECRET})
    await client.post("/api/tokenize", json={"text": SECRET})
    await client.post("/api/generate", json={"text": SECRET, "max_new_tokens": 2})
    await client.post("/api/trace", json={"text": ""})
    await client.head("/")
    n = lines(log)[0]["n_tokens"]
    keys = ("method", "route", "status", "n_tokens", "n_new", "code")
    assert [tuple(line.get(key) for key in keys) for line in lines(log)] == [
        ("POST", "/api/trace", 200, n, None, None),
        ("POST", "/api/tokenize", 200, n, None, None),
        ("POST", "/api/generate", 200, n, 2, None),
        ("POST", "/api/trace", 422, None, None, "empty_text"),
        ("HEAD", "/", 200, None, None, None),
    ]
    assert n > 1
    for line in lines(log):
        assert (line["level"], line["logger"]) == ("info", "chumoku")
        assert line["ms"] > 0
        assert line["time"].endswith("+00:00")
    assert lines(log)[0]["request_id"] == traced.headers["x-request-id"]
    assert len({line["request_id"] for line in lines(log)}) == 5


async def test_routine_is_for_debug(open_app: Open, log: Log) -> None:
    for level, expected in (
        ("info", ["/static"]),
        ("debug", ["/healthz", "/readyz", "/metrics", "/static", "/static"]),
    ):
        async with open_app(Settings(device="cpu", log_level=level)) as client:  # type: ignore[arg-type]
            for path in ("/healthz", "/readyz", "/metrics", "/static/theme.js", "/static/nowhere.js"):
                await client.get(path)
        assert [line["route"] for line in lines(log)] == expected
        log.truncate(0)
        log.seek(0)


async def test_what_was_typed_is_not_logged(client: AsyncClient, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever field the text was in, and whether the request succeeded, was refused or failed inside our code."""
    for path in ("/api/trace", "/api/tokenize", "/api/generate"):
        await client.post(path, json={"text": SECRET, "max_new_tokens": 1} if "gen" in path else {"text": SECRET})
        await client.post(path, json={"text": SECRET * 3000})
        await client.post(path, json={"text": SECRET, "model": SECRET})
        await client.post(path, json={"text": SECRET, SECRET: SECRET})
        await client.post(path, content=SECRET.encode(), headers={"content-type": SECRET})
    await client.post("/api/trace", json={"text": "a", "want": [SECRET]})
    await client.get(
        f"/{SECRET}", params={"text": SECRET}, headers={"x-request-id": SECRET, "cookie": f"lang={SECRET}"}
    )
    await client.get("/", params={"text": SECRET})
    await client.get("/api/trace", params={"text": SECRET})
    await client.get("/api/trace", params={"text": SECRET, "want": SECRET})
    await client.request("XYZZY", "/")
    for where in ("chumoku.app.api.traces.answer", "chumoku.app.services.tokens.tokenize"):
        monkeypatch.setattr(where, fail)
    monkeypatch.setattr(GenerationSession, "tell", fail)
    error_of(await client.post("/api/trace", json={"text": f"{SECRET} now"}), 500, "internal")
    error_of(await client.post("/api/tokenize", json={"text": SECRET}), 500, "internal")
    assert "event: error" in (await client.post("/api/generate", json={"text": f"{SECRET} now"})).text
    shown = log.getvalue().lower()
    for word in SECRET.lower().split():
        assert word not in shown
    failures = [line for line in lines(log, None) if "error" in line]
    assert len(failures) == 3
    assert len({line["request_id"] for line in failures}) == 3


def fail(*_: object) -> None:
    """A failure whose message quotes the text, with a cause that does too."""
    try:
        {}[SECRET]  # type: ignore[index]
    except KeyError as error:
        raise ValueError(f"cannot work on {SECRET!r}\n{SECRET}") from error


async def test_a_failure_says_where(client: AsyncClient, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chumoku.app.api.traces.answer", fail)
    response = await client.post("/api/trace", json={"text": "a"})
    (line,) = [line for line in lines(log, None) if "error" in line]
    assert (line["level"], line["request_id"]) == ("error", response.headers["x-request-id"])
    assert line["error"]["type"] == "ValueError"
    assert line["error"]["frames"][-1].endswith(" fail")
    assert "test_logs.py:" in line["error"]["frames"][-1]
    assert [cause["type"] for cause in line["error"]["causes"]] == ["KeyError"]
    assert (lines(log)[-1]["status"], lines(log)[-1]["code"], lines(log)[-1]["level"]) == (500, "internal", "error")


async def test_text_is_logged_when_asked_for(open_app: Open, open_log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_app(Settings(device="cpu", log_text=True)) as client:
        await client.post("/api/trace", json={"text": "注目"})
        assert lines(open_log)[-1]["text"] == "注目"
        monkeypatch.setattr("chumoku.app.api.traces.answer", fail)
        await client.post("/api/trace", json={"text": "a"})
    (line,) = [line for line in lines(open_log, None) if "error" in line]
    assert SECRET in line["error"]["message"]


def test_a_group_of_errors_and_a_librarys_second_line() -> None:
    record = logging.LogRecord("asyncio", logging.ERROR, "", 0, "never retrieved\nfuture: %s", (SECRET,), None)
    try:
        raise ExceptionGroup(SECRET, [ValueError(SECRET), KeyError(SECRET)])
    except ExceptionGroup as error:
        record.exc_info = (type(error), error, None)
    line = logs.JsonLines().format(record)
    assert SECRET not in line
    told = json.loads(line)
    assert told["message"] == "never retrieved"
    assert [cause["type"] for cause in told["error"]["causes"]] == ["ValueError", "KeyError"]


def test_at_a_terminal_a_request_is_a_line_to_read() -> None:
    record = logging.LogRecord("chumoku", logging.INFO, "", 0, "request", (), None)
    record.fields = {"method": "POST", "route": "/api/trace", "status": 200, "ms": 184.3, "n_tokens": 1}
    record.fields |= {"model": "stories-gpt", "text": "a secret"}
    line = logs.PlainLines().format(record)
    assert re.fullmatch(r"\d\d:\d\d:\d\d  200  POST /api/trace  184 ms  stories-gpt, 1 token", line)
    assert logs.config("info", False, plain=True)["formatters"]["lines"]["()"] is logs.PlainLines
    assert logs.config("info", False)["formatters"]["lines"]["()"] is logs.JsonLines


def test_a_line_stays_one_line() -> None:
    record = logging.LogRecord("chumoku", logging.INFO, "", 0, "request", (), None)
    record.fields = {"text": 'a\n"b\u2028\ud800'}
    line = logs.JsonLines(log_text=True).format(record)
    assert len(line.splitlines()) == 1
    line.encode("ascii")
    assert json.loads(line)["text"] == 'a\n"b\u2028\ud800'
