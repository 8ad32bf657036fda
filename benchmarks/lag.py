"""How long a small request waits while an endpoint works: the lag of the server's event loop, one endpoint at a time.

The lag is the time of a request to /healthz on an open connection. Time in which a thread only waited for a core does
not count, here or in the server (where it may have held Python's lock): other programs run on this machine too.
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from benchmarks.load import STORY
from benchmarks.measure import Row
from benchmarks.start import server, wait_for_trace
from chumoku.app.services.api_page import EXAMPLES

Json = dict[str, Any]
SECONDS, PAUSE, BAR = 2.0, 0.004, 20.0
PROBE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
PAGES = (
    "/", "/docs", "/openapi.json", "/api/models", "/api/models/stories-gpt", "/api/source/attend", "/metrics",
    "/readyz", "/static/main.js", "/static/css/page.css", "/static/vendor/plotly.min.js",
)  # fmt: skip
MODELS = {"/api/translate": "translate-enja"}
MORE: dict[str, Json] = {
    "/api/trace": {"want": ["layers.*.attn.pattern"], "predict": {"positions": list(range(0, 100, 4)), "n": 40}},
    "/api/generate": {"max_new_tokens": 40, "rows": True, "n": 40},
    "/api/explain/effects": {"n": 32},
    "/api/explain/lens": {"k": 20},
    "/api/explain/positions": {"length": 512},
    "/api/weights": {"want": ["layers.*"]},
}
LONG = {"/api/trace": {"token_ids": [7] * 65_000}, "/api/tokenize": {"text": STORY * 120}}
"""Requests as long as they may be; the first is refused."""


def measure() -> list[Row]:
    with server() as (process, url):
        wait_for_trace(url)
        rows = [row("nothing", lags(process.pid, url, None, iter(())))]
        for path in PAGES:
            rows.append(row(f"GET {path}", lags(process.pid, url, path, itertools.repeat(None))))
        for path in EXAMPLES:
            rows.append(row(f"POST {path}", lags(process.pid, url, path, bodies(path))))
        for path, body in LONG.items():
            rows.append(row(f"POST {path}, longest", lags(process.pid, url, path, itertools.repeat(body))))
        return rows


def bodies(path: str) -> Iterator[Json]:
    """Requests, each with a text of its own, of about a hundred tokens."""
    example, words = EXAMPLES[path] | MORE.get(path, {}), STORY.split()
    for n in itertools.count():
        text = " ".join(words[(n + i * (n % 7 + 1)) % len(words)] for i in range(20 if "translate" in path else 90))
        named = {"model": MODELS[path]} if path in MODELS else {}
        yield example | ({"text": text} if "text" in example else {}) | named


def row(what: str, seconds: list[float]) -> Row:
    found = sorted(seconds)
    note = f"median {1000 * found[len(found) // 2]:.1f}, longest {1000 * found[-1]:.0f} ms of {len(found)}"
    return Row(f"event loop's lag, p99: {what}", 1000 * found[99 * (len(found) - 1) // 100], "ms", BAR, note=note)


def lags(pid: int, url: str, path: str | None, asked: Iterator[Json | None]) -> list[float]:
    """The seconds of each probe while the endpoint is asked again and again."""
    done = threading.Event()
    asking = threading.Thread(target=ask, args=(url, path, asked, done))
    with socket.create_connection(("127.0.0.1", httpx.URL(url).port or 80)) as connection:
        asking.start()
        found, until = [], time.perf_counter() + SECONDS
        while time.perf_counter() < until:
            found.append(probe(connection, pid))
            time.sleep(PAUSE)
    done.set()
    asking.join()
    return found


def probe(connection: socket.socket, pid: int) -> float:
    here, there, began = waited("thread-self"), threads(pid), time.perf_counter()
    connection.sendall(PROBE)
    while not connection.recv(4096).endswith(b"}"):
        pass
    took = time.perf_counter() - began
    late = max(after - there.get(task, after) for task, after in threads(pid).items())
    return max(0.0, took - (waited("thread-self") - here) - late)


def threads(pid: int) -> dict[str, float]:
    return {task: waited(f"{pid}/task/{task}") for task in os.listdir(f"/proc/{pid}/task")}


def waited(task: str) -> float:
    """Seconds that a thread was ready to run and had no core."""
    with suppress(FileNotFoundError):  # it has just ended
        return int(Path(f"/proc/{task}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def ask(url: str, path: str | None, asked: Iterator[Json | None], done: threading.Event) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:
        while path is not None and not done.is_set():
            body = next(asked)
            content = None if body is None else json.dumps(body)
            headers = {"content-type": "application/json"}
            with client.stream("GET" if body is None else "POST", path, content=content, headers=headers) as answer:
                for _ in answer.iter_raw():
                    if done.is_set():
                        break
