"""Bodies that are short enough to be read, and full of work."""

import json
import threading
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.faults.victim import Victim

Json = dict[str, Any]
CLIENTS, EACH = 4, 3
ABLATE: Json = {"kind": "ablate", "where": {"layer": 0, "head": 0}}
PATCH: Json = {"kind": "patch", "where": {"layer": 0, "role": "z"}, "from": {"text": "a"}}
NESTED: Json = PATCH | {"from": {"text": "a", "interventions": [ABLATE] * 800}}
MANY_FIELDS: Json = {f"field{n}": 1 for n in range(60_000)}
SEVERAL_FIELDS: Json = ABLATE | {"where": {f"field{n}": 1 for n in range(40)}}


@pytest.mark.parametrize(
    ("body", "where"),
    [
        pytest.param({"text": "a", "interventions": [ABLATE] * 14_000}, "interventions", id="interventions"),
        pytest.param({"text": "a", "interventions": [PATCH] * 4096}, "interventions", id="patches"),
        pytest.param({"text": "a", "interventions": [NESTED] * 16}, "interventions", id="interventions in patches"),
        pytest.param({"text": "a"} | MANY_FIELDS, None, id="unknown fields"),
        pytest.param({"text": "a", "pad": MANY_FIELDS}, "pad", id="unknown fields further in"),
        pytest.param({"token_ids": [1] * 340_000}, "token_ids", id="token ids"),
        pytest.param({"text": "a" * 1_000_000}, "text", id="a long text"),
        pytest.param({"text": "a", "want": [[]] * 260_000}, "want[0]", id="an error in each item"),
        pytest.param(
            {"text": "a", "interventions": [SEVERAL_FIELDS] * 500}, "interventions[0].ablate.where.layer",
            id="errors in each item",
        ),
    ],
)  # fmt: skip
def test_a_body_full_of_work_is_refused_in_passing(victim: Victim, body: Json, where: str | None) -> None:
    """Four clients at once, each with three requests, one after the other."""
    content = json.dumps(body, separators=(",", ":")).encode()
    assert len(content) < 2**20
    told: list[tuple[int, Json]] = []
    with victim.attacked(megabytes=32):
        clients = [threading.Thread(target=insist, args=(victim, content, told)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    assert len(told) == EACH * CLIENTS
    assert {status for status, _ in told} == {422}
    assert all(answer["error"].get("where") == where for _, answer in told)


def insist(victim: Victim, content: bytes, told: list[tuple[int, Json]]) -> None:
    """On loaded cores a body may arrive later than this server waits (408): then it is sent once more."""
    connection, answered = HTTPConnection(*victim.address, timeout=20), 0
    for _ in range(10 * EACH):
        connection.request("POST", "/api/trace", content, {"Content-Type": "application/json"})
        with connection.getresponse() as answer:
            status, said = answer.status, json.loads(answer.read())
        if status != 408:
            told.append((status, said))
            answered += 1
        if answered == EACH:
            break
    connection.close()
