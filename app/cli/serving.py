"""`chumoku serve`: the port first, then the models, then the address."""

from __future__ import annotations

import errno
import socket
import sys
from contextlib import suppress
from typing import Any

import uvicorn

from app.http import logs
from app.settings import Settings

SECONDS_TO_FINISH = 3
"""How long open answers (a generation's stream) may go on after Ctrl+C."""


def serve(settings: Settings) -> None:
    """Serve until Ctrl+C. Raises `ValueError` for a port or address that cannot be had, or when there is no model."""
    with listen(settings.host, settings.port) as listener:
        # After the port, so that a taken one is told at once: torch takes seconds to import.
        from app.main import create_app
        from app.services import library

        found = library.discover(settings)
        ready = f"Chumoku is ready: {address(listener)}  ({', '.join(found.names)} on {found.device}; Ctrl+C stops it)"
        with suppress(KeyboardInterrupt):  # uvicorn raises it again once it has stopped in good order
            Announcing(config_of(create_app(settings, found), settings), ready).run(sockets=[listener])


class Announcing(uvicorn.Server):
    """A server that says where it is, once it answers."""

    def __init__(self, config: uvicorn.Config, message: str) -> None:
        super().__init__(config)
        self.message = message

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(self.message, flush=True)


def config_of(app: Any, settings: Settings) -> uvicorn.Config:
    """uvicorn's configuration; our own line for each request in place of its."""
    return uvicorn.Config(
        app,
        log_config=logs.config(settings.log_level, settings.log_text, plain=sys.stderr.isatty()),
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; raises `ValueError` saying why there is none."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            other = 9000 if port != 9000 else 9001
            raise ValueError(
                f"port {port} on {host} is taken by another program. Take another one: "
                f"chumoku serve --port {other}, or make run PORT={other}"
            ) from None
        raise ValueError(f"cannot listen on {host} port {port}: {error.strerror or error}") from None


def address(listener: socket.socket) -> str:
    """Where a browser on this machine finds the server."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{host}:{port}"
