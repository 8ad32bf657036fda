"""Log lines to stderr. The server does not wait if stderr is a pipe that is not read."""

from __future__ import annotations

import logging
import os
import sys
import threading
from contextlib import suppress
from queue import Empty, Full, Queue

WAITING = 10_000
"""Lines that may wait for a reader. Others are left out, and a line says how many."""
SECONDS_TO_FLUSH = 1.0
GATHER = 0.05
"""Seconds for which the thread gathers lines, unless somebody waits for them: to wake it for each one costs a busy
server more than to write them."""


class Stderr(logging.Handler):
    """Writes from a thread of its own: if stderr is a pipe that is full, only that thread waits."""

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
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="stderr", daemon=True)
            self._thread.start()
        try:
            self.lines.put_nowait(line)
        except Full:
            self.left_out += 1

    def flush(self) -> None:
        """Wait until everything is written, but not for long."""
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
    """To the file itself: a thread that waits in `sys.stderr` holds its lock, and Python could not exit."""
    try:
        number = sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):  # replaced by something in memory, or closed
        print(text, end="", file=sys.stderr)
        return
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(number, data) :]
    except OSError:
        pass  # nobody can read it any more
