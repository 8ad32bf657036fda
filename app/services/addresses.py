"""The addresses under which other machines of the network reach this one."""

from __future__ import annotations

import ipaddress
import platform
import socket
from pathlib import Path

ELSEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses reserved for documentation: the route to them shows which of our addresses the network sees. Nothing is
sent."""
SECONDS_TO_CONNECT = 1.0


def is_local(host: str) -> bool:
    """Whether this name or address is reached by its own machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def is_inside() -> bool:
    """Whether this process runs in a container or in WSL, whose address on the network is not the computer's."""
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"))
    return "microsoft" in platform.release().lower() or any(mark.exists() for mark in marks)


def network_address(family: int) -> str:
    """This machine's address on its network, or its name with .local if it has none."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((ELSEWHERE[socket.AddressFamily(family)], 9))
            return str(probe.getsockname()[0])
        except OSError:
            return f"{socket.gethostname().partition('.')[0]}.local"


def url(host: str, port: int, scheme: str = "http") -> str:
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def answers(host: str, port: int) -> bool:
    """Whether this machine can connect to the address: not if the server listens only to its own machine."""
    try:
        with socket.create_connection((host, port), SECONDS_TO_CONNECT):
            return True
    except OSError:
        return False
