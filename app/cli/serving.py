"""`chumoku serve`: takes the port, loads the models, prints the address."""

from __future__ import annotations

import errno
import getpass
import logging
import os
import secrets
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from logging.config import dictConfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from chumoku.app.cli.links import ANYWHERE, announcement
from chumoku.app.http import logs
from chumoku.app.http.connections.limits import SPARE_FILES, ConnectionLimiter, ConnectionLimits
from chumoku.app.http.connections.protocol import LimitedHttpProtocol
from chumoku.app.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

log = logging.getLogger("chumoku")
SECONDS_TO_FINISH = 3
"""Seconds that open streams may continue after Ctrl+C."""

UVICORN: dict[str, Any] = {
    "log_config": None,
    "access_log": False,  # our log already has a line for each request
    "server_header": False,
    "ws": "none",
    "timeout_graceful_shutdown": SECONDS_TO_FINISH,
}


def serve(settings: Settings) -> None:
    """Serve until Ctrl+C. Raises `ValueError` for an unavailable port or address, or if there is no model."""
    if settings.ray:
        return serve_on_ray(settings)
    with listen(settings.host, settings.port) as listener, with_rooms(settings, listener) as shared:
        if shared.workers > 1:
            from chumoku.app.cli.workers import serve_together

            return serve_together(listener, shared)
        # Imported after the port is taken, so that a busy port fails at once: torch takes seconds to import.
        from chumoku.app.main import create_app
        from chumoku.app.services import discovery

        dictConfig(logs.config(shared.log_level, shared.log_text, plain=sys.stderr.isatty()))
        found = discovery.discover(shared)
        models = f"{', '.join(found.names)} on {found.device}"
        ready = announcement(listener, shared.token, models)
        server = server_of(create_app(shared, found), shared, raise_file_limit(), ready)
        if settings.rooms_dir is None:
            server.folder = shared.rooms_dir
        found.gc_freeze.freeze()
        with suppress(KeyboardInterrupt):  # uvicorn raises it again after an orderly stop
            server.run(sockets=[listener])


def serve_on_ray(settings: Settings) -> None:
    """Serves with replicas. Also raises `ValueError` if Ray Serve is not installed."""
    if find_spec("ray") is None or find_spec("mmh3") is None:  # mmh3: the session router's hash
        raise ValueError("--ray needs Ray Serve, which is not installed: pip install -c constraints.txt -e '.[scale]'")
    from chumoku.app.replicas.cluster import serve_replicas

    serve_replicas(settings)


def with_token(settings: Settings) -> Settings:
    """The settings with their token, or a new one."""
    return settings if settings.token else settings.model_copy(update={"token": secrets.token_urlsafe(16)})


@contextmanager
def with_rooms(settings: Settings, listener: socket.socket) -> Iterator[Settings]:
    """The settings with a folder for the file of rooms, which workers share. It has the port's name: after a kill, the
    next server on this port goes on with the rooms. One that stops in order removes the folder."""
    if settings.rooms_dir is not None:
        yield settings
        return
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    folder = Path(tempfile.gettempdir(), f"chumoku-rooms-{user}-{listener.getsockname()[1]}")
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_ours(folder):
        folder = Path(tempfile.mkdtemp(prefix="chumoku-rooms-"))
    try:
        yield settings.model_copy(update={"rooms_dir": folder})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_ours(folder: Path) -> bool:
    """Whether a folder in a place where anybody can make one belongs to this user alone."""
    about = folder.lstat()
    private = stat.S_ISDIR(about.st_mode) and not about.st_mode & 0o077
    return private and (not hasattr(os, "getuid") or about.st_uid == os.getuid())


class Announcing(uvicorn.Server):
    """A server that prints its address once it answers. When it stops, it flushes its log."""

    def __init__(self, config: uvicorn.Config, message: str) -> None:
        super().__init__(config)
        self.message = message
        self.folder: Path | None = None
        """Of rooms, which end with the server."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            show(self.message)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # Here, because uvicorn then re-raises the signal that stopped it.
        for handler in logging.getLogger().handlers:
            handler.flush()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def show(message: str) -> None:
    """Prints what the terminal can encode: an old one lacks the blocks of a QR code. A closed or full stdout stops no
    server."""
    try:
        encoding = sys.stdout.encoding or "ascii"
        print(message.encode(encoding, "replace").decode(encoding), flush=True)
    except (OSError, ValueError, AttributeError) as error:  # without a stdout, `sys.stdout` is None
        log.warning("the address could not be printed on stdout: %s", error)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - what is left in its buffer would fail again at the end


def server_of(app: FastAPI, settings: Settings, files: int, message: str) -> Announcing:
    """uvicorn's server with our own protocol."""
    return Announcing(uvicorn.Config(app, http=http_protocol_of(app, settings, files), **UVICORN), message)


def http_protocol_of(app: FastAPI, settings: Settings, files: int) -> Any:
    """The protocol of an app's connections: uvicorn calls it for each, as it would the class."""

    def stop() -> None:
        app.state.chumoku.work.stopping = True

    return partial(
        LimitedHttpProtocol,
        ConnectionLimiter(
            limits_of(settings, files), lambda limit: app.state.metrics.dropped.labels(limit).inc(), stop
        ),
    )


def limits_of(settings: Settings, files: int) -> ConnectionLimits:
    """The limits of connections in a process that may open `files` files."""
    return ConnectionLimits(
        head=settings.head_seconds,
        body=settings.body_seconds,
        idle=settings.idle_seconds,
        stalled=settings.stalled_seconds,
        connections=settings.connections or max(files - SPARE_FILES, 1),
    )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `ValueError` with the reason if it fails."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        both = family == socket.AF_INET6 and host in ANYWHERE and socket.has_dualstack_ipv6()
        return socket.create_server((host, port), family=family, backlog=2048, dualstack_ipv6=both)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            other = 9000 if port != 9000 else 9001
            raise ValueError(
                f"port {port} on {host} is in use by another program. Choose another: "
                f"chumoku serve --port {other}, or make run PORT={other}"
            ) from None
        raise ValueError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None


UNKNOWN_FILES = 2048
"""Assumed where the system has no limit to report."""
MOST_FILES = 65_536
"""A system may allow far more than fits into memory."""


def raise_file_limit() -> int:
    """Raises the soft limit of open files to the hard one, at most `MOST_FILES`, and returns it."""
    try:
        import resource
    except ImportError:  # Windows
        return UNKNOWN_FILES
    files, endless = resource.RLIMIT_NOFILE, resource.RLIM_INFINITY
    soft, hard = resource.getrlimit(files)
    most = MOST_FILES if hard == endless else min(hard, MOST_FILES)
    for wanted in (most, 10_240):  # macOS names no hard limit, and refuses more than a system-wide one
        if soft == endless or soft >= wanted:
            break
        with suppress(OSError, ValueError):
            resource.setrlimit(files, (wanted, hard))
            return wanted
    return MOST_FILES if soft == endless else min(soft, MOST_FILES)
