"""Whether a server's memory stays constant while people type and step, for ten minutes or `MEMORY_SECONDS`.

Its caches are small here, so that they are full before the first third of the time is over.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from pathlib import Path

from benchmarks.load import DETAIL, HEADS, OVERVIEW, STEP, STORY, Json, play, prompt
from benchmarks.measure import Row
from benchmarks.start import server, wait_for_trace

SECONDS = float(os.environ.get("MEMORY_SECONDS", "600"))
MEGABYTE = 2**20
BAR = 16


def measure() -> list[Row]:
    taken: list[float] = []
    with server(prefix_cache=16 * MEGABYTE, answer_cache=16 * MEGABYTE) as (process, url):
        wait_for_trace(url)
        until = time.monotonic() + SECONDS
        for turn in itertools.count():
            assert not any(one["failed"] for one in play(url, orders(turn)))
            taken.append(memory(process.pid))
            if time.monotonic() > until and len(taken) >= 6:
                break
    third = len(taken) // 3
    middle, last = max(taken[third : 2 * third]), max(taken[2 * third :])
    note = f"{taken[0]:.0f} MB after the first of {len(taken)} rounds, at most {middle:.0f} in the second third, "
    note += f"{last:.0f} in the last"
    return [Row("memory's growth while people type and step", last - middle, "MB", BAR, note=note)]


def orders(turn: int) -> list[Json]:
    """A round of about five seconds: 12 people type two sentences, and 8 step, each with different texts."""
    texts, words = random.Random(turn), STORY.split()
    typing = {"kind": "type", "overview": OVERVIEW, "follow": [DETAIL, HEADS], "every": 2.0}
    stepping = {"kind": "step", "step": STEP, "follow": [DETAIL, HEADS], "every": 1.0, "times": 4}
    said = [[" ".join(texts.choices(words, k=20)) for _ in range(2)] for _ in range(12)]
    return [
        *(typing | {"texts": two, "after": n / 12} for n, two in enumerate(said)),
        *(stepping | {"ids": prompt(8 * turn + n), "after": n / 8} for n in range(8)),
    ]


def memory(pid: int) -> float:
    """The resident memory of a process, in MB."""
    return float(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024
