"""Logs on stderr: JSON, one object per line, or plain lines at a terminal. Logging never blocks the server. No line
contains what a user typed, unless the settings allow it.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from queue import Empty, Full, Queue
from traceback import extract_tb
from typing import Any

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the current request, which each line carries."""


class JsonLines(logging.Formatter):
    """`{"time", "level", "logger", "message", …}`: a record's `fields`, the request's id, and the error if any.

    The message of an exception may quote what was typed, so only its type and location are logged; so may the second
    line of a library's message. With `log_text`, everything is logged.
    """

    def __init__(self, log_text: bool = False) -> None:
        super().__init__()
        self.log_text = log_text

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message if self.log_text else message.partition("\n")[0],
            "request_id": REQUEST_ID.get(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = self.failure(record.exc_info[1])
        return json.dumps({name: value for name, value in line.items() if value is not None}, default=str)

    def failure(self, error: BaseException, depth: int = 4) -> dict[str, Any]:
        """The error's type, its frames from the outermost to the innermost, and its cause."""
        frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in extract_tb(error.__traceback__)]
        told: dict[str, Any] = {"type": type(error).__qualname__, "frames": frames}
        if self.log_text:
            told["message"] = str(error)
        inner = error.exceptions if isinstance(error, BaseExceptionGroup) else [error.__cause__ or error.__context__]
        causes = [self.failure(each, depth - 1) for each in inner if each is not None and depth]
        return told | ({"causes": causes} if causes else {})


class PlainLines(JsonLines):
    """The same for a person at a terminal: "09:04:40  200  POST /api/trace  184 ms  stories-gpt, 10 tokens"."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        fields: dict[str, Any] = getattr(record, "fields", {})
        if "route" not in fields:
            return f"{time}  {record.levelname.lower()}  {super().format(record)}"
        tokens = fields.get("n_tokens")
        about = [fields.get("model"), tokens and f"{tokens} token{'s' if tokens > 1 else ''}", fields.get("code")]
        request = f"{fields['status']}  {fields['method']} {fields['route']}  {fields['ms']:.0f} ms"
        return f"{time}  {request}  {', '.join(filter(None, about))}".rstrip()


def config(level: str, log_text: bool, plain: bool = False) -> dict[str, Any]:
    """For `logging.config.dictConfig`: our lines from `level` on, and others' from the level above it. `plain`: for a
    person, not a program."""
    others = {"debug": "INFO", "info": "WARNING"}.get(level, level.upper())
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": PlainLines if plain else JsonLines, "log_text": log_text}},
        "handlers": {"stderr": {"class": "chumoku.app.http.logs.Stderr", "formatter": "lines"}},
        "loggers": {"chumoku": {"level": level.upper()}},
        "root": {"handlers": ["stderr"], "level": others},
    }


WAITING = 10_000
"""Lines that may be queued. Further ones are dropped, and a line says how many."""
SECONDS_TO_FLUSH = 1.0
GATHER = 0.05
"""Seconds for which the thread collects lines, unless a flush waits for them: waking it for each line costs more than
writing it."""


class Stderr(logging.Handler):
    """Writes from a separate thread: if stderr is a full pipe, only that thread waits."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: Queue[str] = Queue(WAITING)
        self.left_out = 0
        self._thread: threading.Thread | None = None
        self._awaited = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        if self._thread is None or not self._thread.is_alive():  # without memory, it ends
            self._thread = threading.Thread(target=self._write_all, name="stderr", daemon=True)
            self._thread.start()
        try:
            self.lines.put_nowait(line)
        except Full:
            self.left_out += 1

    def flush(self) -> None:
        """Waits until everything is written, up to a timeout."""
        self._awaited.set()
        with self.lines.all_tasks_done:
            self.lines.all_tasks_done.wait_for(lambda: not self.lines.unfinished_tasks, SECONDS_TO_FLUSH)
        self._awaited.clear()

    def _write_all(self) -> None:
        told = 0
        while True:
            lines = [self.lines.get()]
            self._awaited.wait(GATHER)
            with suppress(Empty):
                while len(lines) < WAITING:
                    lines.append(self.lines.get_nowait())
            write("".join(f"{line}\n" for line in lines))
            left_out = self.left_out
            if left_out > told:
                write(f"{self.format(gap(left_out - told))}\n")
                told = left_out
            for _ in lines:
                self.lines.task_done()


def gap(n: int) -> logging.LogRecord:
    message = "%d lines of the log were dropped, because it was not read"
    return logging.LogRecord("chumoku", logging.WARNING, __file__, 0, message, (n,), None)


def write(text: str) -> None:
    """Writes to the file descriptor: a thread blocked in `sys.stderr` holds its lock, and Python could not exit."""
    try:
        number = sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):  # replaced by an in-memory stream, or closed
        print(text, end="", file=sys.stderr)
        return
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(number, data) :]
    except OSError:
        pass  # its reader is gone
