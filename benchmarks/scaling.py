"""What one person costs, how many people a core can serve, and how much a second process gains.

`docs/hosting.md` computes from these figures what a class, a school and a site need.
"""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Callable, Iterator
from itertools import count

import httpx

from benchmarks.load import DETAIL, HEADS, OVERVIEW, STEP, STORY, Json, cpu_of, play, prompt
from benchmarks.measure import Row
from benchmarks.start import server, wait_for_trace

CLIENTS, TURNS = 16, 12
SENTENCE_EVERY, STEP_EVERY = 20.0, 5.0
"""Seconds between two sentences, and between two steps, of a person who also reads the results."""


def measure() -> list[Row]:
    with server() as (process, url):
        wait_for_trace(url)
        sentence, step = costs(process, url)
        alone = [asked(url, kind) for kind in (overviews, steps)]
    with server("--workers", "2") as (_, url):
        wait_for_trace(url)
        asked(url, steps)  # so that both processes have loaded the model
        together = [asked(url, kind) for kind in (overviews, steps)]
    share = sentence / SENTENCE_EVERY + step / STEP_EVERY  # of a core, for one person
    note = f"{1 / share:.0f} people a core: a sentence each {SENTENCE_EVERY:g} s, a step each {STEP_EVERY:g} s"
    return [
        Row("a sentence of 20 words with a head open, CPU of the server", 1000 * sentence, "ms", note=note),
        Row("a step and what the panels ask for it, CPU of the server", 1000 * step, "ms"),
        *(
            Row(f"{what} a second, two processes ÷ one", two / one, "×", note=f"{two:.0f} against {one:.0f}")
            for what, one, two in zip(("overviews", "steps"), alone, together, strict=True)
        ),
    ]


def costs(process: subprocess.Popen[bytes], url: str) -> tuple[float, float]:
    """The server's CPU seconds for one sentence and for one step, with everything that an open page requests."""
    words, seeds = STORY.split(), count()

    def sentence(client: httpx.Client) -> None:
        n = next(seeds)
        text = " ".join(words[(n * i + n) % len(words)] for i in range(20))
        for path, body in (("/api/trace", OVERVIEW), (DETAIL["path"], DETAIL["body"]), (HEADS["path"], HEADS["body"])):
            client.post(path, json=body | {"text": text}).raise_for_status()

    def step(client: httpx.Client) -> None:
        ids = prompt(0)
        client.post("/api/generate", json=STEP | {"token_ids": ids, "seed": next(seeds)}).raise_for_status()
        for one in (DETAIL, HEADS):
            client.post(one["path"], json=one["body"] | {"token_ids": ids}).raise_for_status()

    def cost(once: Callable[[httpx.Client], None], n: int = 30) -> float:
        began = cpu_of(process.pid)
        for _ in range(n):
            once(client)
        return (cpu_of(process.pid) - began) / n

    with httpx.Client(base_url=url, timeout=60) as client:
        for once in (sentence, step):
            once(client)
        each = [statistics.median(cost(once) for _ in range(3)) for once in (sentence, step)]
    return each[0], each[1]


def asked(url: str, kind: Callable[[int], Iterator[Json]]) -> float:
    """Answers per second to `CLIENTS` that each send a request as soon as the previous one is answered."""
    path = "/api/trace" if kind is overviews else "/api/generate"
    orders = [{"kind": "ask", "after": 0.0, "path": path, "bodies": [*kind(n)]} for n in range(CLIENTS)]
    told = play(url, orders)
    assert not any(one["failed"] for one in told)
    return CLIENTS * TURNS / max(sum(one["seconds"]) for one in told)


def overviews(client: int) -> Iterator[Json]:
    words = STORY.split()
    for turn in range(TURNS):
        yield OVERVIEW | {"text": " ".join(words[(client * i + turn) % len(words)] for i in range(20))}


def steps(client: int) -> Iterator[Json]:
    for turn in range(TURNS):
        yield STEP | {"token_ids": prompt(client), "seed": turn}
