"""Which host names the server accepts: protection against DNS rebinding.

A malicious page can point its own domain at this server's address; the visitor's browser then lets it read the answers.
It cannot do that with an IP address, or with a name that only this machine and its network know.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from chumoku.app.errors import AppError
from chumoku.app.http.handlers import respond

ANY = "*"
HOST = re.compile(r"(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d*)?", re.ASCII | re.IGNORECASE)
"""An IPv6 address in brackets, or a name; then a port."""


class Hosts:
    """Refuses a request whose `Host` is a name that is not one of `names` (421)."""

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self.app, self.names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self.app
        if scope["type"] == "http":
            wrong = next((host for host in Headers(scope=scope).getlist("host") if not self.knows(host)), None)
            if wrong is not None:
                answer = respond(scope, unknown_host(name_of(wrong) or wrong))
        await answer(scope, receive, send)

    def knows(self, host: str) -> bool:
        name = name_of(host)
        return name is not None and (ANY in self.names or name in self.names or is_address(name))


def known_names(extra: Collection[str]) -> frozenset[str]:
    """localhost, this machine's own names, and `extra`."""
    machine = socket.gethostname()
    short = machine.partition(".")[0]
    names = {"localhost", machine, short, f"{short}.local", *extra}
    return frozenset(name.lower().rstrip(".") for name in names if name)


def name_of(host: str) -> str | None:
    """A `Host` without its port and brackets, in lower case: `[::1]:8000` → `::1`. None if it is not a valid one."""
    match = HOST.fullmatch(host)
    return match and (match[1] or match[2]).lower().rstrip(".")


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def unknown_host(name: str) -> AppError:
    message = f"This server does not answer to the name {name[:100]!r}."
    hint = "Open it by its IP address, or start it with this name in CHUMOKU_HOSTS."
    return AppError("unknown_host", message, hint, status=421, where="Host", got=name[:100])
