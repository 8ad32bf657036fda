"""Large answers without a reader, and answers that would be too large."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import httpx

from tests.faults.conftest import ANSWER_LIMIT, ANSWER_ROOM, STALLED
from tests.faults.test_connections import post
from tests.faults.test_deadlines import SLACK
from tests.faults.victim import Victim

MEGABYTE = 2**20
TAKEN = "chumoku_answer_bytes"
LARGE = {"text": "a" * 380, "want": ["layers.*.attn.pattern"], "dtype": "float32"}
"""2 layers × 3 heads × 380² × 4 bytes: 3.3 MB."""


CLIENTS = 28


def test_large_answers_that_nobody_reads_have_a_bound_in_all(victim: Victim) -> None:
    """Clients for whom 92 MB would be written. A small answer need not wait for those who do not read."""
    with ExitStack() as stack, victim.attacked(megabytes=ANSWER_ROOM / MEGABYTE + 64):
        for n in range(CLIENTS):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(victim.address)
            text = f"{n:02}{LARGE['text']}"  # the same one would be sent to all, and count once
            connection.sendall(post("/api/trace", **LARGE | {"text": text}))
            assert victim.metric(TAKEN) <= ANSWER_ROOM
        until_answers(victim, lambda n_bytes: n_bytes > ANSWER_ROOM / 2)
        small = httpx.post(f"{victim.url}/api/trace", json={"text": "a"}, timeout=STALLED)
        assert small.status_code == 200
    until_answers(victim, lambda n_bytes: n_bytes == 0)
    whole = httpx.post(f"{victim.url}/api/trace", json=LARGE, timeout=60)
    assert len(whole.content) > 3 * MEGABYTE


def until_answers(victim: Victim, enough: Callable[[float], bool]) -> None:
    until = time.monotonic() + 12 * STALLED + SLACK
    while not enough(victim.metric(TAKEN)):
        assert time.monotonic() < until


def test_an_answer_over_the_limit_is_refused_before_any_work(victim: Victim) -> None:
    request = LARGE | {"text": "a" * 1000, "want": ["*"]}
    with victim.attacked(megabytes=16):
        threads = [threading.Thread(target=too_large, args=(victim, request)) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert victim.metric(TAKEN) == 0


def too_large(victim: Victim, request: dict[str, object]) -> None:
    answer = httpx.post(f"{victim.url}/api/trace", json=request)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert (error["code"], error["limit"]) == ("too_large", ANSWER_LIMIT)
    assert error["got"] > 2 * 3 * 1000 * 1000 * 4
    assert "leave that out of `want`" in error["hint"]
