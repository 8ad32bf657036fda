"""A day of a server for a class: its link, a log that is not read, all connections at work, and the stop."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.app.families import save
from tests.faults.test_connections import post
from tests.faults.test_strangers import SECRETS
from tests.faults.victim import GET, Victim, read_all, serving, status_of
from tests.model.helpers import tiny_checkpoint

REQUESTS = 450
"""A pipe takes 64 KB; a line of the log has about 200 bytes."""
CONNECTIONS = 4


@pytest.fixture(scope="module")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    """Its stderr is a pipe that is not read. The last test stops it."""
    folder = tmp_path_factory.mktemp("models")
    save(folder, tiny_checkpoint(max_seq_len=1024))
    settings = {"models_dir": folder, "default_model": "tiny", "log_level": "debug", "connections": CONNECTIONS}
    with serving("--host", "0.0.0.0", "--token", log=subprocess.PIPE, **settings) as server:
        yield server


def token_of(classroom: Victim) -> str:
    return classroom.link.partition("token=")[2]


def stream(classroom: Victim) -> socket.socket:
    """A generation that has begun, of which nothing is read."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(20)
    connection.connect(classroom.address)
    request = post("/api/generate", text="a", max_new_tokens=256, n=200)
    bearer = f"\r\nAuthorization: Bearer {token_of(classroom)}\r\n\r\n".encode()
    connection.sendall(request.replace(b"\r\n\r\n", bearer, 1))
    assert status_of(connection.recv(100)) == 200
    return connection


def test_a_class_opens_the_link_with_its_token(classroom: Victim) -> None:
    said, token = "".join(classroom.said), token_of(classroom)
    assert "For a class: http://" in said
    assert "Anyone on the network" in said
    assert sum(line.startswith("█") for line in classroom.said) > 10  # a QR code
    assert len(token) >= 16
    assert said.count(f"/?token={token}") == 2
    for path in SECRETS[1:3]:
        assert httpx.get(classroom.url + path).status_code == 401
    with httpx.Client(headers={"accept": "text/html"}, follow_redirects=True) as browser:
        opened = browser.get(classroom.link)
        assert opened.status_code == 200
        assert opened.url.query == b""
        assert browser.get(f"{classroom.url}/api/models").status_code == 200
    assert status_of(classroom.ask(f"GET /?token={token}x HTTP/1.1\r\nConnection: close\r\n\r\n".encode())) == 401


def test_a_log_that_is_not_read_stops_nothing(classroom: Victim) -> None:
    with httpx.Client(base_url=classroom.url) as client, classroom.attacked(megabytes=8):
        for _ in range(REQUESTS):
            assert client.get("/healthz").status_code == 200


def test_a_connection_is_refused_while_all_are_at_work(classroom: Victim) -> None:
    with ExitStack() as stack:
        for _ in range(CONNECTIONS):
            stack.enter_context(stream(classroom))
        refusal = classroom.ask(GET)
        assert status_of(refusal) == 503
        assert b"\r\nretry-after: 1\r\n" in refusal
        assert f'"limit": {CONNECTIONS}'.encode() in refusal
    until = time.monotonic() + 10
    while status_of(classroom.ask(GET.replace(b"localhost", b"localhost\r\nConnection: close"))) != 200:
        assert time.monotonic() < until


def test_a_stop_is_told_and_the_log_knows_no_token(classroom: Victim) -> None:
    """A stream that is open when SIGTERM comes ends with an `error` event."""
    with stream(classroom) as connection:
        classroom.process.send_signal(signal.SIGTERM)
        said = read_all(connection)
    assert b"event: end" not in said
    assert b'"code":"stopping"' in said.rpartition(b"event: error")[2]
    assert classroom.process.wait(timeout=10) == -signal.SIGTERM
    assert classroom.process.stderr is not None
    log = classroom.process.stderr.read()
    assert '"route"' in log
    assert token_of(classroom) not in log
