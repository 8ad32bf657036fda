"""The addresses under which other machines of the network reach this one."""

from __future__ import annotations

import socket

ELSEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses reserved for documentation: the route to them shows which of our addresses the network sees. Nothing is
sent."""
SECONDS_TO_CONNECT = 1.0


def network_address(family: int) -> str:
    """This machine's address on its network, or its name with .local if it has none."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((ELSEWHERE[socket.AddressFamily(family)], 9))
            return str(probe.getsockname()[0])
        except OSError:
            return f"{socket.gethostname().partition('.')[0]}.local"


def url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def answers(host: str, port: int) -> bool:
    """Whether this machine can connect to the address: not if the server listens only to its own machine."""
    try:
        with socket.create_connection((host, port), SECONDS_TO_CONNECT):
            return True
    except OSError:
        return False
