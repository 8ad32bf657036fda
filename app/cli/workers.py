"""`chumoku serve --workers N`: processes that share only the port. One that dies or hangs is replaced."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from logging.config import dictConfig
from multiprocessing.queues import SimpleQueue

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from chumoku.app.cli.links import announcement
from chumoku.app.cli.serving import UVICORN, http_protocol_of, raise_file_limit, show
from chumoku.app.http import logs
from chumoku.app.services.metrics import MANY
from chumoku.app.settings import Settings

SECONDS_TO_ANSWER = 20
"""Seconds of silence after which a worker counts as hung. Importing torch takes some of them."""
log = logging.getLogger("chumoku")


def serve_together(listener: socket.socket, settings: Settings) -> None:
    """Serve until Ctrl+C or SIGTERM. Raises `ValueError` if a worker cannot start, with its reason if it has one."""
    plain = sys.stderr.isatty()
    dictConfig(logs.config(settings.log_level, settings.log_text, plain=plain))
    with tempfile.TemporaryDirectory(prefix="chumoku-metrics-") as folder:
        os.environ[MANY] = folder  # read by prometheus_client when a worker imports it
        ready = announcement(listener, settings.token, f"{settings.workers} workers")
        workers = Workers(WorkerConfig(settings, plain), listener, ready)
        workers.run()
    if workers.reason is not None:
        raise ValueError(workers.reason)
    if not workers.announced:
        raise ValueError("the workers did not start: the log above says why")


class WorkerConfig(uvicorn.Config):
    """What is sent to a worker's process, which builds the app."""

    def __init__(self, settings: Settings, plain: bool) -> None:
        super().__init__(
            "chumoku.app.main:create_app",
            workers=settings.workers,
            timeout_worker_healthcheck=SECONDS_TO_ANSWER,
            **UVICORN,
        )
        self.settings, self.plain = settings, plain
        self.reasons: SimpleQueue[str] = multiprocessing.get_context("spawn").SimpleQueue()

    def load(self) -> None:
        from chumoku.app.main import create_app, discovered

        threading.Thread(target=end_with_parent, daemon=True).start()
        dictConfig(logs.config(self.settings.log_level, self.settings.log_text, plain=self.plain))
        try:
            app = create_app(self.settings, discovered(self.settings))
        except ValueError as error:  # a setting: it would be the same in another worker
            self.reasons.put(str(error))
            sys.exit(STARTUP_FAILURE)
        self.app, self.http = app, http_protocol_of(app, self.settings, raise_file_limit())
        super().load()


def end_with_parent() -> None:
    """Stops this worker cleanly when its supervisor is gone, however that ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


class Workers(Multiprocess):
    """uvicorn's supervisor, which also prints the address once all answer and forgets the gauges of the dead."""

    def __init__(self, config: WorkerConfig, listener: socket.socket, message: str) -> None:
        super().__init__(config, [listener])
        self.message, self.announced = message, False
        self.reason: str | None = None
        self.reasons = config.reasons
        threading.Thread(target=self.stop_with_a_reason, daemon=True).start()

    def stop_with_a_reason(self) -> None:
        """Ends all once a worker says why it cannot start. One that ended does not answer the health check: an answer
        in its place saves the rest of its time."""
        self.reason = self.reasons.get()
        self.should_exit.set()
        for process in self.processes:
            with suppress(OSError):
                process.child_conn.send(False)

    def keep_subprocess_alive(self) -> None:
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
            log.warning("a worker ended; another one starts", extra={"fields": {"pid": pid}})
        if not self.announced and not self.should_exit.is_set() and all(one.is_ready() for one in self.processes):
            self.announced = True
            show(self.message)
