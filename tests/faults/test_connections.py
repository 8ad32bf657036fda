"""Many connections at once, and clients that do not read."""

import json
import socket
import time
from contextlib import ExitStack

from tests.faults.conftest import FILES, STALLED
from tests.faults.test_deadlines import SLACK
from tests.faults.victim import GET, Victim, status_after

STREAMS = 12
BATCH = 24


def post(path: str, **body: object) -> bytes:
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    )
    return head.encode() + b"\r\n\r\n" + content


def test_idle_connections_make_room_for_new_ones(victim: Victim) -> None:
    """Three times as many as there are files; of every few, the newest is served."""
    with ExitStack() as stack, victim.attacked(megabytes=16):
        for _ in range(3 * FILES // BATCH):
            for _ in range(BATCH):
                newest = stack.enter_context(victim.connect())
            assert status_after(newest, GET) == 200
    assert victim.metric('chumoku_connections_dropped_total{limit="crowded"}') > FILES


def test_streams_that_nobody_reads_free_their_places(victim: Victim) -> None:
    with ExitStack() as stack, victim.attacked(megabytes=24):
        for _ in range(STREAMS):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(victim.address)
            connection.sendall(post("/api/generate", text="a", max_new_tokens=256, n=200, rows=False))
        began = time.monotonic()
        while victim.metric("chumoku_streams_open") < STREAMS:
            assert time.monotonic() - began < 5
        while victim.metric("chumoku_streams_open"):
            assert time.monotonic() - began < STALLED + 3 * SLACK
            time.sleep(0.1)
    assert victim.metric('chumoku_connections_dropped_total{limit="stalled"}') >= STREAMS


def test_who_reads_slowly_is_not_cut(victim: Victim) -> None:
    """Two KB every fifth of a second, for twice as long as one may read nothing."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(5)
        connection.connect(victim.address)
        connection.sendall(post("/api/trace", text="a" * 200, dtype="float32"))
        until = time.monotonic() + 2 * STALLED
        while time.monotonic() < until:
            assert connection.recv(2048)
            time.sleep(0.2)
