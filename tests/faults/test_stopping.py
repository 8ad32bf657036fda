"""A server whose log is not read, and one that is asked to stop."""

import signal
import socket
import subprocess
import time

import httpx
import pytest

from tests.app.families import save
from tests.faults.test_connections import post
from tests.faults.victim import Victim, read_all, serving, status_of
from tests.model.helpers import tiny_checkpoint

REQUESTS = 450
"""A pipe takes 64 KB; a line of the log has about 200 bytes."""


def test_a_log_that_is_not_read_stops_nothing_and_a_stop_is_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One server for both. Its stream is open when SIGTERM comes: it ends with an `error` event."""
    folder = tmp_path_factory.mktemp("models")
    save(folder, tiny_checkpoint(max_seq_len=1024))
    with serving(models_dir=folder, default_model="tiny", log=subprocess.PIPE, log_level="debug") as server:
        with httpx.Client(base_url=server.url) as client:
            for _ in range(REQUESTS):
                assert client.get("/healthz").status_code == 200
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(20)
            connection.connect(server.address)
            connection.sendall(post("/api/generate", text="a", max_new_tokens=256, n=200))
            assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            said = read_all(connection)
        assert b"event: step" in said
        assert b"event: end" not in said
        assert b'"code": "stopping"' in said.rpartition(b"event: error")[2]
        assert server.process.wait(timeout=10) == -signal.SIGTERM


def test_http_1_0_gets_no_chunks(victim: Victim) -> None:
    request = post("/api/generate", text="a", max_new_tokens=3).replace(b"HTTP/1.1", b"HTTP/1.0")
    head, _, body = victim.ask(request).partition(b"\r\n\r\n")
    assert status_of(head) == 200
    assert b"transfer-encoding" not in head.lower()
    assert b"connection: close" in head.lower()
    assert body.startswith(b"event: start\n")
    assert body.rstrip().rpartition(b"event: ")[2].startswith(b"end\n")


def test_http_1_0_gets_lengths_where_they_are_known(victim: Victim) -> None:
    head, _, body = victim.ask(b"GET /healthz HTTP/1.0\r\n\r\n").partition(b"\r\n\r\n")
    assert status_of(head) == 200
    assert f"content-length: {len(body)}".encode() in head
