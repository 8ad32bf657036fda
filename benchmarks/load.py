"""A class at work: clients in separate processes, over real HTTP, created before the clock starts.

They run on the server's machine and use some of its cores, as does everything else that runs there.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from benchmarks.load_answers import compared
from benchmarks.measure import Row
from benchmarks.start import server, wait_for_trace
from chumoku.model.checkpoint import ZOO, read_config
from chumoku.model.describe import describe

Json = dict[str, Any]
PROCESSES = 4
SEEN = ("refused", "failed")
WARM = 12
"""The number of traces after which every worker has loaded the model."""
STORY = (
    "once upon a time there was little girl named Lily she had red ball and went to the park with her mom dog cat "
    "tree big small happy sad bird saw ran said he wanted play house day"
)
MASKS = {"causal": None, "padding": True}
MODEL = {"model": "stories-gpt", "masks": MASKS}
SETTINGS = {"temperature": 0.8, "top_k": 20, "top_p": 0.95}
TAPS = {role: named.taps for role, named in describe(read_config(ZOO / "stories-gpt")).attentions[0].roles.items()}
ROLES = [TAPS[role][2] for role in ("q", "k", "v", "scores", "mask", "pattern")]
PATTERNS = [*TAPS["pattern"], TAPS["mask"][0]]

# What the page sends for an open head and the roles of all heads. tests/browser/test_load_bench.py compares it.
PREDICT = {"positions": None, "n": 20, **SETTINGS}
OVERVIEW = {**MODEL, "want": PATTERNS, "dtype": "uint8", "pooled": True, "predict": PREDICT}
DETAIL = {"after": 0, "path": "/api/trace", "body": {**MODEL, "want": ROLES, "heads": [7], "dtype": "float32"}}
WRITES = {
    "after": 0,
    "path": "/api/explain/writes",
    "body": {**MODEL, "attention": "self", "layer": 2, "head": 7, "answer": None},
}
HEADS = {"after": 0.15, "path": "/api/explain/heads", "body": MODEL}
OPEN_HEAD: list[Json] = [DETAIL, WRITES, HEADS]
STEP = {**MODEL, **SETTINGS, "seed": 7, "max_new_tokens": 1, "n": 20, "rows": True}


@dataclass
class Busy:
    """A server under load. `by`: which server answers, for the names of rows; `told`: its clients' results."""

    url: str
    by: str
    told: list[Json] = field(default_factory=list)

    def play(self, orders: list[Json]) -> list[Json]:
        told = play(self.url, orders)
        self.told += told
        return told

    @property
    def refusals(self) -> list[Row]:
        """How many requests were refused, which a person sees, and how many failed."""
        return [Row(f"{self.by}: {what} requests", sum(one[what] for one in self.told), "", 0) for what in SEEN]

    @property
    def kept(self) -> list[Json]:
        return [step for one in self.told for step in one["kept"]]


def measure() -> list[Row]:
    with server() as (process, url):
        wait_for_trace(url)
        busy = Busy(url, "one process")
        rows = [*cost(process.pid, url), *stepping(busy), *typing(busy), *streaming(busy), *busy.refusals]
    with server(prefix_cache=0) as (_, url):
        wait_for_trace(url)
        rows.append(compared(url, STEP, busy.kept))
    with server("--workers", "2") as (_, url):
        for _ in range(WARM):
            wait_for_trace(url)
        busy = Busy(url, "two processes")
        return [*rows, *stepping(busy), *typing(busy), *busy.refusals]


def cost(pid: int, url: str) -> list[Row]:
    """The server's CPU time for a step after 13 tokens."""
    with httpx.Client(base_url=url) as client:
        unread = itertools.count(1)  # a prompt that was read before is in the cache

        def steps(fresh: bool) -> float:
            began, n = cpu_of(pid), 60
            for seed in range(n):
                ids = prompt(next(unread) if fresh else 0)
                client.post("/api/generate", json=STEP | {"token_ids": ids, "seed": seed}).raise_for_status()
            return 1000 * (cpu_of(pid) - began) / n

        steps(False)
        miss, hit = (statistics.median(steps(fresh) for _ in range(3)) for fresh in (True, False))
    return [Row("a step of 13 tokens, CPU of the server", hit, "ms", 9, note=f"{miss:.1f} ms when nothing is kept")]


def stepping(busy: Busy) -> list[Row]:
    """32 people who each take a step per second: at random times, then all within 50 ms, each with a head open, whose
    details they request next, or with nothing open. The time is from the request, on a new connection, to the event
    that ends the answer. Every fourth client keeps its answers."""
    order = {"kind": "step", "step": STEP, "every": 1.0, "times": 12}
    rows = []
    for name, spread, bar, follow in (
        ("at random times", 1.0, 100, OPEN_HEAD),
        ("all within 50 ms", 0.05, 60, OPEN_HEAD),
        ("all within 50 ms, no head open", 0.05, 60, []),
    ):
        unread = 100 * len(rows)  # or an earlier row's texts would be in the cache
        people = [{"ids": prompt(unread + n), "after": spread * n / 32, "keep": n % 4 == 0} for n in range(32)]
        told = busy.play([order | one | {"follow": follow} for one in people])
        rows.append(row(f"{busy.by}: 32 people stepping once a second, {name}: p95", told, bar, skip=1))
    return rows


def typing(busy: Busy) -> list[Row]:
    """100 people who each type a new sentence of 20 words every 4 s."""
    order = {"kind": "type", "overview": OVERVIEW, "follow": OPEN_HEAD, "every": 4.0}
    texts = random.Random(3)
    orders = [
        order | {"texts": [" ".join(texts.choices(STORY.split(), k=20)) for _ in range(4)], "after": n / 25}
        for n in range(100)
    ]
    what = f"{busy.by}: 100 people typing a sentence each 4 s, until it can be drawn: p95"
    return [row(what, busy.play(orders), 300)]


def streaming(busy: Busy) -> list[Row]:
    """300 open streams of 40 tokens, compared with a single one."""
    order = {"kind": "stream", "stream": STEP | {"max_new_tokens": 40}, "after": 0.0}

    def speed(n: int) -> tuple[float, float, int]:
        told = busy.play([order | {"ids": prompt(1000 + n + i)} for i in range(n)])
        seconds = max(second for one in told for second in one["seconds"])
        ended = sum(not one["failed"] for one in told)
        return sum(one["tokens"] for one in told) / seconds, seconds, ended

    alone = statistics.median(speed(1)[0] for _ in range(3))
    together, seconds, ended = speed(300)
    note = f"{together:.0f} against {alone:.0f} tokens/s"
    return [
        Row("300 open streams ÷ one (tokens a second in all)", together / alone, "×", 0.8, at_most=False, note=note),
        Row("300 open streams: how many ended", ended, "", 300, at_most=False, note=f"in {seconds:.0f} s"),
    ]


def play(url: str, orders: list[Json]) -> list[Json]:
    """The results of all clients, which are created first and start at the same moment."""
    port = int(url.rpartition(":")[2])
    command = [sys.executable, "-m", "benchmarks.load_clients"]
    n = min(PROCESSES, len(orders))
    made = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(n)]
    for i, process in enumerate(made):
        assert process.stdin is not None
        process.stdin.write(json.dumps([order | {"port": port} for order in orders[i::n]]) + "\n")
        process.stdin.flush()
    for process in made:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    start = time.time() + 0.3
    answers = []
    for process in made:
        assert process.stdin is not None
        process.stdin.write(f"{start}\n")
        process.stdin.flush()
    for process in made:
        answers += json.loads(process.communicate()[0])
    return answers


def row(what: str, told: list[Json], bar: float, skip: int = 0) -> Row:
    """The 95th percentile in milliseconds, without the first `skip` answers of each client."""
    seconds = sorted(second for one in told for second in one["seconds"][skip:])
    note = f"median {1000 * statistics.median(seconds):.0f} ms"
    return Row(what, 1000 * seconds[int(0.95 * len(seconds))], "ms", bar, note=note)


def prompt(n: int) -> list[int]:
    """13 ids, different for each n."""
    return random.Random(n).choices(range(300, 3900), k=13)


def cpu_of(pid: int) -> float:
    """The CPU time of a process in seconds."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
