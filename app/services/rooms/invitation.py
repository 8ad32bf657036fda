"""How pupils come in: the link of a room and its QR code."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from chumoku.app.services.addresses import answers, network_address, url

LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Invitation:
    """`address`: what a person types, who is then asked for the code. `link`: with the code and, where the server has
    one, its token. `qr`: the modules of the link's QR code, one text of 0 and 1 for each row. `reachable`: whether the
    address answers at all."""

    address: str
    link: str
    qr: list[str]
    reachable: bool


def invitation(base: str, code: str, token: str | None) -> Invitation:
    """`base`: how the teacher's browser reached the server. Other machines do not reach `localhost`."""
    address, reachable = base.rstrip("/"), True
    parts = urlsplit(base)
    if parts.hostname in LOCAL:
        host, port = network_address(socket.AF_INET), parts.port or 80
        address, reachable = url(host, port) + parts.path.rstrip("/"), answers(host, port)
    link = f"{address}/?{urlencode(({'token': token} if token else {}) | {'room': code})}"
    return Invitation(f"{address}/join", link, modules(link), reachable)


def modules(text: str) -> list[str]:
    """A QR code as rows of 0 and 1, without its border."""
    import segno

    return ["".join(map(str, row)) for row in segno.make(text, micro=False).matrix]
