"""Bodies that are too large or never end, and requests that are not valid HTTP: on real connections."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from chumoku.app.settings import Settings
from tests.app.conftest import Serve
from tests.app.helpers import error_of

JSON = {"content-type": "application/json"}
SETTINGS = Settings(device="cpu", log_level="critical")


@pytest.fixture(scope="module")
def url(serve: Serve) -> Iterator[str]:
    with serve(SETTINGS) as url:
        yield url


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET\r\n\r\n",
        b"POST /api/trace HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
        b"POST /api/trace HTTP/1.1\r\nHost: a\r\nContent-Length: 9" + b"9" * 40 + b"\r\n\r\n",
        b"POST /api/trace HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{",
        b"POST /api/trace HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /nowhere HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 300_000,
        b"",
    ],
)
def test_what_is_no_http(url: str, garbage: bytes) -> None:
    with connect(url) as connection:
        connection.sendall(garbage)
    assert httpx.get(f"{url}/healthz").status_code == 200


def connect(url: str) -> socket.socket:
    return socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=60)


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("path", ["/api/trace", "/nowhere"])
def test_fifty_megabytes(url: str, path: str, declared: bool) -> None:
    """They are refused before they are read to the end; the client gets the answer although it is still sending."""
    piece, sent = b"a" * 65_536, 0

    def body() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(800):
            sent += len(piece)
            yield piece

    headers = JSON | ({"content-length": str(800 * len(piece))} if declared else {})
    response = httpx.post(url + path, content=body(), headers=headers)
    read = declared or path == "/api/trace"
    error = error_of(response, *((413, "body_too_large") if read else (404, "not_found")))
    assert response.headers["connection"] == "close"
    assert sent < 30_000_000  # only what the sockets' buffers took
    if read:
        assert error["limit"] == SETTINGS.body_limit
    assert httpx.get(f"{url}/healthz").status_code == 200


def test_a_body_that_never_ends_is_cut(url: str) -> None:
    """A client that keeps sending after its answer loses the connection."""
    head = b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    piece = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    with connect(url) as connection:
        connection.sendall(head)
        with pytest.raises(ConnectionError):
            connection.sendall(piece * 1000)


def test_a_client_that_waits_to_be_asked_sends_nothing(url: str) -> None:
    head = b"POST /api/trace HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\nExpect: 100-continue\r\n\r\n"
    with connect(url) as connection:
        connection.sendall(head)
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")
