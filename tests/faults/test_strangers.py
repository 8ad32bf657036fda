"""Who may read what: names, the token, and the link for a class, on real servers."""

import json
from pathlib import Path

import httpx

from tests.faults.test_heads import START
from tests.faults.victim import Victim, read_all, serving, status_of

SECRETS = ("/", "/api/models", "/api/models/tiny", "/metrics", "/readyz")


def test_a_name_that_points_here_reads_nothing(victim: Victim) -> None:
    """DNS rebinding: the browser believes that this server is evil.example."""
    with victim.attacked(megabytes=4):
        for path in SECRETS:
            request = f"GET {path} HTTP/1.1\r\nHost: evil.example:8000\r\nConnection: close\r\n\r\n".encode()
            answer = victim.ask(request)
            assert status_of(answer) == 421
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "unknown_host"
        two = START.replace(b"localhost", b"localhost\r\nHost: evil.example") + b"Connection: close\r\n\r\n"
        assert status_of(victim.ask(two)) == 421


def test_a_class_opens_the_link_with_its_token(tmp_path: Path) -> None:
    with (
        (tmp_path / "log").open("w") as log,
        serving("--host", "0.0.0.0", "--token", log=log, log_level="debug") as open_,
    ):
        said = "".join(open_.said)
        assert "For a class: http://" in said
        assert "Everybody on the network" in said
        assert sum(line.startswith("█") for line in open_.said) > 10  # a QR code
        token = open_.link.partition("token=")[2]
        assert len(token) >= 16
        assert said.count(f"/?token={token}") == 2
        for path in SECRETS[1:3]:
            assert httpx.get(open_.url + path).status_code == 401
        with httpx.Client(headers={"accept": "text/html"}, follow_redirects=True) as browser:
            opened = browser.get(open_.link)
            assert opened.status_code == 200
            assert opened.url.query == b""
            assert browser.get(f"{open_.url}/api/models").status_code == 200
        with open_.connect() as connection:
            connection.sendall(f"GET /?token={token}x HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
            assert status_of(read_all(connection)) == 401
    written = (tmp_path / "log").read_text()
    assert '"route"' in written
    assert token not in written
