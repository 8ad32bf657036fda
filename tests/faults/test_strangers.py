"""A stranger's page that points a name of its own at this server."""

import json
from itertools import product

from tests.faults.test_heads import START
from tests.faults.victim import Victim, status_of

HOSTS = ("evil.example:8000", "localhost:8000/static/?", "[::1].evil")
SECRETS = ("/", "/api/models", "/api/models/tiny", "/metrics", "/readyz")


def test_a_name_that_points_here_reads_nothing(victim: Victim) -> None:
    """DNS rebinding: the browser believes that this server is evil.example."""
    with victim.attacked(megabytes=4):
        for path, host in product(SECRETS, HOSTS):
            answer = victim.ask(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            assert status_of(answer) == 421
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "unknown_host"
        two = START.replace(b"localhost", b"localhost\r\nHost: evil.example") + b"Connection: close\r\n\r\n"
        assert status_of(victim.ask(two)) == 421
