"""Replicas on Ray Serve: how much a second one gains, and whether a rolling restart loses requests."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx

from benchmarks.load import OVERVIEW, STORY
from benchmarks.measure import Row
from benchmarks.scaling import asked, overviews, steps
from benchmarks.start import server, wait_for_trace

CLIENTS = 4
PATIENCE = 300.0
"""The time limit for a start in seconds, on a machine that also does other work."""


def measure() -> list[Row]:
    with server("--ray", "--replicas", "1") as (_, url):
        alone = speeds(url)
    with tempfile.NamedTemporaryFile() as log, server("--ray", "--replicas", "2", log=log.file) as (process, url):
        together = speeds(url)
        restart = rolling(process, url, Path(log.name))
    named = zip(("overviews", "steps"), alone, together, strict=True)
    return [
        *(
            Row(
                f"{what} a second on Ray Serve, two replicas ÷ one", two / one, "×", note=f"{two:.0f} against {one:.0f}"
            )
            for what, one, two in named
        ),
        restart,
    ]


def speeds(url: str) -> list[float]:
    """Overviews and steps per second, once every replica has loaded the model."""
    wait_for_trace(url, PATIENCE)
    asked(url, steps)
    return [asked(url, kind) for kind in (overviews, steps)]


def rolling(process: subprocess.Popen[bytes], url: str, log: Path) -> Row:
    """The share of traces that were answered while all replicas were replaced."""
    over = Event()

    def person() -> list[int]:
        """The status of each request, sent on a new connection and never repeated; 0 if there was no answer."""
        came = []
        while not over.is_set():
            try:
                answer = httpx.post(f"{url}/api/trace", json=OVERVIEW | {"text": STORY}, timeout=60)
                came.append(answer.status_code)
            except httpx.TransportError:
                came.append(0)
            over.wait(0.1)
        return came

    with ThreadPoolExecutor(CLIENTS) as people:
        told = [people.submit(person) for _ in range(CLIENTS)]
        began = time.monotonic()
        process.send_signal(signal.SIGHUP)
        while b"have been replaced" not in log.read_bytes() and time.monotonic() < began + PATIENCE:
            time.sleep(0.2)
        seconds = time.monotonic() - began
        over.set()
    came = [status for one in told for status in one.result()]
    note = f"{came.count(200)} of {len(came)} traces answered in {seconds:.0f} s"
    return Row(
        "rolling restart of two replicas, answered", came.count(200) / len(came), "", 1.0, at_most=False, note=note
    )
