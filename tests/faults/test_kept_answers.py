"""A class that opens one link: computed once, also when the first one leaves; and what is kept has a bound."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx

from tests.faults.test_connections import post
from tests.faults.victim import Victim

MEGABYTE = 2**20
N = 20
COMPUTED = 'chumoku_work_seconds_count{kind="trace"}'
KEPT = "chumoku_kept_answer_bytes"


def lookups(victim: Victim) -> dict[str, float]:
    return {found: victim.metric(f'chumoku_answer_lookups_total{{found="{found}"}}') for found in ("kept", "shared")}


def test_twenty_who_open_one_link_compute_it_once(victim: Victim) -> None:
    """All at once, then one after the other. The first to ask leaves before the answer is there."""
    request = {"text": "a class opens this " * 20, "want": ["layers.*.attn.pattern"], "dtype": "float16"}
    together, before, found = Barrier(N), victim.metric(COMPUTED), lookups(victim)

    def ask(_: int) -> bytes:
        together.wait(20)
        return httpx.post(f"{victim.url}/api/trace", json=request, timeout=60).content

    with victim.attacked(megabytes=64), ThreadPoolExecutor(N) as people:
        with victim.connect() as first:
            first.sendall(post("/api/trace", **request))
        answers = [*people.map(ask, range(N))]
        answers += [httpx.post(f"{victim.url}/api/trace", json=request, timeout=60).content for _ in range(5)]
    assert len(set(answers)) == 1
    length = int.from_bytes(answers[0][:8], "little")
    about = json.loads(json.loads(answers[0][8 : 8 + length])["__metadata__"]["chumoku"])
    assert about["text"] == request["text"]
    # At most twice: if the first one was gone before anybody else came.
    assert victim.metric(COMPUTED) - before in (1, 2)
    assert sum(lookups(victim).values()) - sum(found.values()) >= N + 5 - 1


def test_what_is_kept_has_a_bound(victim: Victim) -> None:
    """Sixty answers of 1.9 MB: 114 MB."""
    with victim.attacked(megabytes=64 + 48), httpx.Client(base_url=victim.url, timeout=60) as client:
        for n in range(60):
            want = {"text": f"{n:03}" + "a" * 280, "want": ["layers.*.attn.pattern"], "dtype": "float32"}
            assert len(client.post("/api/trace", json=want).content) > 1.8 * MEGABYTE
            assert victim.metric(KEPT) <= 64 * MEGABYTE
        assert victim.metric(KEPT) > 48 * MEGABYTE


def test_an_address_is_asked_once_more_for_nothing(victim: Victim) -> None:
    """What a proxy does when a minute is over."""
    address = f"{victim.url}/api/trace?text=a%20class&dtype=uint8"
    first, computed = httpx.get(address), victim.metric(COMPUTED)
    assert first.headers["cache-control"] == "public, max-age=60"
    began = time.perf_counter()
    for _ in range(20):
        again = httpx.get(address, headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert time.perf_counter() - began < 10
    assert victim.metric(COMPUTED) == computed
