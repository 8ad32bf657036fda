"""Requests whose heads, framing or number are the attack."""

import json
import socket
import time
from contextlib import suppress

import pytest

from chumoku.app.http.connections.protocol import FIELDS, HEAD_BYTES, PIPELINED
from chumoku.app.http.security import SECURITY
from tests.faults.victim import GET, Victim, read_all, status_of

START = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"POST /api/tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
REFUSED = 'chumoku_connections_dropped_total{limit="head"}'
SECONDS = 1.0
"""How long an attack goes on that the server cannot end by closing one connection."""


def flood(victim: Victim, start: bytes, piece: bytes) -> None:
    """Send `start` and then `piece` again and again, on a new connection when one is closed."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        with victim.connect() as connection, suppress(ConnectionError):
            connection.sendall(start)
            while time.monotonic() < until:
                connection.sendall(piece)


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        pytest.param(START + b"X: ", b"x" * 65_536, id="one endless field"),
        pytest.param(START, b"a:b\r\n" * 10_000, id="many small fields"),
        pytest.param(b"GET /", b"x" * 65_536, id="an endless address"),
        pytest.param(b"", b"\r\n" * 40_000, id="line ends before the head"),
        pytest.param(CHUNKED, b"1;" + b"x" * 70_000, id="an endless chunk extension"),
        pytest.param(CHUNKED, b"1\r\na\r\n" * 20_000, id="chunks of one byte"),
        pytest.param(CHUNKED + b"0\r\n", b"X: y\r\n" * 20_000, id="many trailers"),
        pytest.param(b"", GET * 1_000, id="pipelined requests"),
    ],
)
def test_floods_are_refused(victim: Victim, start: bytes, piece: bytes) -> None:
    refused = victim.metric(REFUSED)
    with victim.attacked(megabytes=24):
        flood(victim, start, piece)
    assert victim.metric(REFUSED) > refused
    answer = victim.ask(start + piece)
    if b" 200 " not in answer[:13]:  # pipelined: those before the refused one are answered
        assert status_of(answer) == 431
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "head_too_large"


@pytest.mark.parametrize(
    ("request_", "status"),
    [(b"no HTTP\r\n\r\n", 400), (START + b"X: y\r\n" * (FIELDS + 1) + b"\r\n", 431)],
)
def test_what_the_door_answers_has_the_headers_of_the_app(victim: Victim, request_: bytes, status: int) -> None:
    answer = victim.ask(request_)
    assert status_of(answer) == status
    lines = answer.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    headers = dict(line.split(": ", 1) for line in lines)
    assert {name.lower(): value for name, value in SECURITY.items()}.items() <= headers.items()


def padded(size: int) -> bytes:
    """A request of `size` bytes without a body, which asks to close."""
    head = START + b"Connection: close\r\nX: "
    return head + b"x" * (size - len(head) - 4) + b"\r\n\r\n"


def test_a_head_may_have_64_kib_and_not_a_byte_more(victim: Victim) -> None:
    assert status_of(victim.ask(padded(HEAD_BYTES))) == 200
    assert status_of(victim.ask(padded(HEAD_BYTES + 1))) == 431


def test_a_head_may_have_100_fields(victim: Victim) -> None:
    start = START + b"Connection: close\r\n"
    assert status_of(victim.ask(start + b"a: b\r\n" * (FIELDS - 2) + b"\r\n")) == 200
    assert status_of(victim.ask(start + b"a: b\r\n" * (FIELDS - 1) + b"\r\n")) == 431


def test_eight_requests_may_wait_behind_the_first(victim: Victim) -> None:
    whole = victim.ask(GET * PIPELINED + GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert whole.count(b"HTTP/1.1 200 ") == PIPELINED + 1
    too_many = victim.ask(GET * (PIPELINED + 2))
    assert too_many.count(b"HTTP/1.1 200 ") == PIPELINED + 1
    assert b"HTTP/1.1 431 " in too_many


def test_trailers_do_not_become_header_fields(victim: Victim) -> None:
    """A trailer that arrives before the app reads the fields is not among them."""
    body = b'{"text": "a"}'
    request = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + b"%x\r\n%b\r\n0\r\n" % (len(body), body)
    answer = victim.ask(request + b"Content-Type: application/json\r\n\r\n")
    assert status_of(answer) == 422  # as without a content type


def test_a_large_body_in_large_chunks_is_read(victim: Victim) -> None:
    text = b'{"text": "' + b"a" * 9_000 + b'"}'
    pieces = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (text[:4_000], text[4_000:]))
    fields = b"\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    assert status_of(victim.ask(CHUNKED.replace(b"\r\n\r\n", fields) + pieces + b"0\r\n\r\n")) == 200


def test_who_is_still_sending_can_read_the_refusal(victim: Victim) -> None:
    """The server reads on for a moment: a reset would destroy the answer on its way."""
    with victim.connect() as connection:
        connection.sendall(START + b"X: " + b"x" * 500_000)
        assert status_of(read_all(connection)) == 431


def test_a_refused_connection_that_stays_is_cut(victim: Victim) -> None:
    with victim.connect() as connection:
        connection.sendall(START + b"a: b\r\n" * 200)
        assert status_of(read_all(connection)) == 431
        until = time.monotonic() + 3
        with pytest.raises(ConnectionError):
            send_on(connection, until)


def send_on(connection: socket.socket, until: float) -> None:
    while time.monotonic() < until:
        connection.send(b"x")
        time.sleep(0.02)


def test_what_is_not_http_is_refused(victim: Victim) -> None:
    for garbage in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"\0" * 100_000):
        assert status_of(victim.ask(garbage)) == 400


def test_a_client_that_only_stops_sending_is_let_go(victim: Victim) -> None:
    with victim.connect() as connection:
        connection.sendall(START)
        connection.shutdown(socket.SHUT_WR)
        assert read_all(connection) == b""
