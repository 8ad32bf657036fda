"""Clients that take their time: with their head, their body, between requests, and with the answer."""

import json
import socket
import time

import pytest

from tests.faults.conftest import BODY, HEAD, IDLE
from tests.faults.test_heads import CHUNKED, START
from tests.faults.victim import GET, Victim, read_all, status_after, status_of

SLACK = 1.5
"""Seconds: the sweep, and a busy machine."""


def dribble(connection: socket.socket, piece: bytes, seconds: float = 10) -> bytes:
    """Send `piece` ten times a second, until the server answers. Returns its answer."""
    connection.settimeout(0.1)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            connection.sendall(piece)
            return connection.recv(10_000)
        except TimeoutError:
            pass
        except ConnectionError:
            return b""
    pytest.fail("the server waits for ever")


@pytest.mark.parametrize(
    ("start", "piece", "limit"),
    [
        pytest.param(START + b"X: ", b"x", HEAD, id="head"),
        pytest.param(b"", b"\r\n", HEAD, id="line ends"),
        pytest.param(CHUNKED, b"1\r\n \r\n", BODY, id="chunked body"),
        pytest.param(CHUNKED.replace(b"Transfer-Encoding: chunked", b"Content-Length: 1000"), b" ", BODY, id="body"),
    ],
)
def test_who_sends_slowly_is_cut(victim: Victim, start: bytes, piece: bytes, limit: float) -> None:
    """Forty at once; none of them keeps its connection."""
    with victim.attacked(megabytes=8):
        connections = [victim.connect() for _ in range(40)]
        began = time.monotonic()
        for connection in connections:
            connection.sendall(start)
        answer = dribble(connections[0], piece)
        for connection in connections:
            read_all(connection)
            connection.close()
    assert status_of(answer) == 408
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["limit"] == limit
    assert 0.4 * limit < time.monotonic() - began < limit + SLACK


@pytest.mark.parametrize("piece", [b"", b"\r\n"])
def test_an_idle_connection_is_closed(victim: Victim, piece: bytes) -> None:
    """Blank lines are not a request: they do not keep it open."""
    with victim.connect() as connection:
        assert status_after(connection, GET) == 200
        began = time.monotonic()
        answer = dribble(connection, piece) if piece else read_all(connection)
        assert answer == b""
        assert 0.4 * IDLE < time.monotonic() - began < IDLE + SLACK


def test_a_connection_in_use_stays_open(victim: Victim) -> None:
    with victim.connect() as connection:
        for _ in range(12):
            assert status_after(connection, GET) == 200
            time.sleep(IDLE / 8)
