"""The time from `chumoku serve` to the first trace, with warm imports."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import httpx

from benchmarks.measure import Row


@contextmanager
def serving() -> Iterator[str]:
    """A separate server process; yields its address, ready or not."""
    with server() as (_, url):
        yield url


@contextmanager
def server(
    *options: str, log: int | IO[bytes] = subprocess.DEVNULL, **settings: object
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A separate server process, and its address; its stderr goes to `log`. Unless `settings` say so, it has no
    response cache, so that a repeated request is measured again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "chumoku", "serve", "--port", str(port), *options]
    given = {f"CHUMOKU_{name.upper()}": str(value) for name, value in settings.items()}
    environment = os.environ | {"CHUMOKU_ANSWER_CACHE": "0"} | given
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=environment)
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def wait_for_trace(url: str, patience: float = 120.0) -> None:
    """Request a trace until the server answers. Raises `TimeoutError` after `patience` seconds."""
    deadline = time.perf_counter() + patience
    body = {"text": "May the force be with you.", "want": ["layers.*.attn.pattern"], "dtype": "uint8"}
    while time.perf_counter() < deadline:
        try:
            if httpx.post(f"{url}/api/trace", json=body).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.02)
    raise TimeoutError(f"no trace from {url} within {patience} seconds")


def measure() -> list[Row]:
    """The seconds of the second of two starts; the first one warms the disk cache."""
    for _ in range(2):
        with serving() as url:
            began = time.perf_counter()
            wait_for_trace(url)
            seconds = time.perf_counter() - began
    return [Row("start, `chumoku serve` to first trace", seconds, "s", 6.0, note="imports included")]
