"""How long a small request waits while an endpoint works: the lag of the server's event loop, one endpoint at a time.

The lag is the time of a request to /healthz on an open connection. Because other programs run on this machine too, the
time in which a thread only waited for a core does not count, here or in the server (where it may have held the GIL).
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

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
    "/api/models/digits-vit/pictures", "/readyz", "/static/main.js", "/static/css/page.css",
    "/static/vendor/plotly.min.js",
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
ABLATE: Json = {"kind": "ablate", "where": {"layer": 0, "head": 0}}
PATCH: Json = {"kind": "patch", "where": {"layer": 0, "role": "z"}, "from": {"text": "a"}}
LONG: dict[str, tuple[str, Json]] = {
    "many token ids": ("/api/trace", {"token_ids": [7] * 65_000}),
    "too many token ids": ("/api/trace", {"token_ids": [1] * 340_000}),
    "many interventions": ("/api/trace", {"text": "a", "interventions": [ABLATE] * 512}),
    "too many interventions": ("/api/trace", {"text": "a", "interventions": [ABLATE] * 14_000}),
    "too many patches": ("/api/trace", {"text": "a", "interventions": [PATCH] * 4096}),
    "unknown fields": ("/api/trace", {"text": "a"} | {f"field{n}": 1 for n in range(60_000)}),
    "a long text": ("/api/tokenize", {"text": STORY * 120}),
}
"""Very long requests. Most are refused."""
VIT = "vit"
PHOTO = (4000, 3000)


@dataclass(frozen=True)
class Ask:
    """A request: a GET, or a POST with a body."""

    path: str
    body: bytes | None = None
    media: str = "application/json"

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        models = {"models": write_vit(Path(folder) / VIT), "default_model": "stories-gpt"} if has_transformers() else {}
        with server(**models) as (process, url):
            wait_for_trace(url)
            return [row(what, lags(process.pid, url, asked)) for what, asked in endpoints()]


def endpoints() -> Iterator[tuple[str, Iterator[Ask]]]:
    """Each endpoint's name, and the requests that are sent to it one after the other."""
    yield "nothing", iter(())
    for path in PAGES:
        yield f"GET {path}", itertools.repeat(Ask(path))
    query = ({"text": one["text"], "want": json.dumps(one["want"])} for one in bodies("/api/trace"))
    yield "GET /api/trace", (Ask(f"/api/trace?{urlencode(one)}") for one in query)
    for path in EXAMPLES:
        yield f"POST {path}", (Ask(path, json.dumps(body).encode()) for body in bodies(path))
    if has_transformers():
        photo = Ask(f"/api/models/{VIT}/pixels", photograph(), "image/jpeg")
        yield "POST /api/models/{name}/pixels", itertools.repeat(photo)
    for what, (path, body) in LONG.items():
        yield f"POST {path}, {what}", itertools.repeat(Ask(path, json.dumps(body, separators=(",", ":")).encode()))


def bodies(path: str) -> Iterator[Json]:
    """Request bodies, each with a different text of about a hundred tokens."""
    example, words = EXAMPLES[path] | MORE.get(path, {}), STORY.split()
    for n in itertools.count():
        text = " ".join(words[(n + i * (n % 7 + 1)) % len(words)] for i in range(20 if "translate" in path else 90))
        named = {"model": MODELS[path]} if path in MODELS else {}
        yield example | ({"text": text} if "text" in example else {}) | named


def has_transformers() -> bool:
    return find_spec("transformers") is not None


def write_vit(folder: Path) -> Path:
    """Save a small ViT of transformers, with random weights, which reads photos. Returns the folder."""
    from transformers import ViTConfig, ViTForImageClassification
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    ViTForImageClassification(ViTConfig(**sizes)).save_pretrained(folder)
    ViTImageProcessorPil().save_pretrained(folder)
    return folder


def photograph() -> bytes:
    """A JPEG of 12 million pixels."""
    from PIL import Image

    file = BytesIO()
    Image.effect_noise((PHOTO[0] // 8, PHOTO[1] // 8), 60).resize(PHOTO).convert("RGB").save(file, "JPEG")
    return file.getvalue()


def row(what: str, seconds: list[float]) -> Row:
    found = sorted(seconds)
    note = f"median {1000 * found[len(found) // 2]:.1f}, longest {1000 * found[-1]:.0f} ms of {len(found)}"
    return Row(f"event loop's lag, p99: {what}", 1000 * found[99 * (len(found) - 1) // 100], "ms", BAR, note=note)


def lags(pid: int, url: str, asked: Iterator[Ask]) -> list[float]:
    """The seconds of each probe while requests are sent one after the other."""
    done = threading.Event()
    asking = threading.Thread(target=ask, args=(url, asked, done))
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
    """Seconds in which a thread was ready to run but had no core."""
    with suppress(FileNotFoundError):  # it has just ended
        return int(Path(f"/proc/{task}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def ask(url: str, asked: Iterator[Ask], done: threading.Event) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:
        for one in asked:
            if done.is_set():
                break
            headers = {"content-type": one.media}
            with client.stream(one.method, one.path, content=one.body, headers=headers) as answer:
                for _ in answer.iter_raw():
                    if done.is_set():
                        break
