"""Answers to HTTP/1.0, which has no chunks."""

from tests.faults.test_connections import post
from tests.faults.victim import Victim, status_of

TIMES = 30


def test_http_1_0_gets_no_chunks(victim: Victim) -> None:
    request = post("/api/generate", text="a", max_new_tokens=3).replace(b"HTTP/1.1", b"HTTP/1.0")
    with victim.attacked(megabytes=16):
        answers = [victim.ask(request) for _ in range(TIMES)]
    for answer in answers:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert status_of(head) == 200
        assert b"transfer-encoding" not in head.lower()
        assert b"connection: close" in head.lower()
        assert body.startswith(b"event: start\n")
        assert body.rstrip().rpartition(b"event: ")[2].startswith(b"end\n")


def test_http_1_0_gets_lengths_where_they_are_known(victim: Victim) -> None:
    with victim.attacked(megabytes=4):
        answers = [victim.ask(b"GET /healthz HTTP/1.0\r\n\r\n") for _ in range(TIMES)]
    for answer in answers:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert status_of(head) == 200
        assert f"content-length: {len(body)}".encode() in head
