"""How pupils come in: the link of a room, its QR code, and whether other machines can open it at all."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode, urlsplit

from chumoku.app.services.addresses import answers, is_inside, is_local, network_address, url

Problem = Literal["only_this_machine", "inside", "no_network"]
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Invitation:
    """`address`: what a person types, who is then asked for the code. `link`: with the code and, where the server has
    one, its token. `qr`: the modules of the link's QR code, one text of 0 and 1 for each row. `problem`: why no other
    machine opens the address."""

    address: str
    link: str
    qr: list[str]
    problem: Problem | None


def checked_page(page: str) -> str:
    """The address of a page, if it is one. Raises `ValueError`."""
    parts = urlsplit(page)
    known = parts.scheme in PORTS and parts.hostname and parts.port != 0  # a port that is no number raises
    if not known or parts.username is not None or parts.query or parts.fragment:
        raise ValueError("not the address of a page")
    return page


def invitation(page: str, code: str, token: str | None, listens: str) -> Invitation:
    """`page`: the address that the teacher's browser has for the app. Other machines do not reach `localhost`: they get
    this machine's address on the network. `listens`: the host on which the server listens."""
    parts, base, problem = urlsplit(page), page.rstrip("/"), None
    if is_local(parts.hostname or ""):
        host, port = network_address(socket.AF_INET), parts.port or PORTS[parts.scheme]
        base = url(host, port, parts.scheme) + parts.path.rstrip("/")
        problem = problem_of(host, port, listens)
    link = f"{base}/?{urlencode(({'token': token} if token else {}) | {'room': code})}"
    return Invitation(f"{base}/join", link, modules(link), problem)


def problem_of(host: str, port: int, listens: str) -> Problem | None:
    """Tried from this machine: a firewall, or a Wi-Fi that keeps devices apart, is not seen from here."""
    if is_inside() and not is_local(listens):
        return "inside"
    if answers(host, port):
        return None
    return "only_this_machine" if is_local(listens) else "no_network"


def modules(text: str) -> list[str]:
    """A QR code as rows of 0 and 1, without its border."""
    import segno

    return ["".join(map(str, row)) for row in segno.make(text, micro=False).matrix]
