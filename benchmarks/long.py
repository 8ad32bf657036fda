"""Long texts in large models: what the pictures of all heads cost, and whether the page stays usable.

The model is a GPT-2 with random weights, built from its config, because only cost is measured. To run only this part:
`python -m benchmarks long`.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import torch
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.measure import Row
from benchmarks.page import launched
from benchmarks.start import server
from chumoku.app.api.requests import TraceRequest
from chumoku.app.services import tracing
from chumoku.model import pooling
from chumoku.model.describe import Description
from chumoku.model.traceable import TraceableModel
from chumoku.model.traceable.huggingface import HuggingFaceFolders
from tests.toys import huggingface as toys

ROUNDS = 7
PATIENCE = 1_800_000
"""The page's time limit in milliseconds: a forward pass of the larger model takes long on two cores."""
WORDS = "Once upon a time there was a little girl named Lily. She had a red ball and went to the park with her mom. "

HOVER = """
async () => {
  const { sceneOf } = await import("/static/river/board.js");
  const canvas = document.querySelector('[data-testid="river"]');
  const { lines } = sceneOf(canvas);
  const shown = lines.filter((line) => line.shown && !line.own).slice(0, 400);
  const taken = [];
  for (let i = 0; i < 15; i++) {
    const line = shown[Math.floor((i * shown.length) / 15)];
    const { left, top } = canvas.getBoundingClientRect();
    const where = { clientX: left + (line.x0 + line.x1) / 2, clientY: top + (line.y0 + line.y1) / 2 };
    const began = performance.now();
    canvas.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, pointerType: "mouse", ...where }));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    taken.push(performance.now() - began);
  }
  return taken;
}
"""


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        base = saved(Path(folder) / "base", layers=12, heads=12, width=768)
        rows = overview(base, 512)
        medium = saved(Path(folder) / "medium", layers=24, heads=16, width=1024)
        return rows + page(medium, 1024)


def saved(folder: Path, *, layers: int, heads: int, width: int) -> Path:
    """A folder as `save_pretrained` writes it. Its tokenizer has the 256 bytes; its vocabulary size is GPT-2's."""
    torch.manual_seed(0)
    model = toys.gpt2(vocab_size=50_257, n_positions=1024, n_embd=width, n_layer=layers, n_head=heads, n_inner=None)
    return toys.save(folder, model.eval(), toys.byte_level())


def overview(folder: Path, n_tokens: int) -> list[Row]:
    """The overview as the page requests it: its size, and its time beyond the forward pass, for pooling, encoding and
    predictions. The time is not the difference between two passes, which vary by more than that."""
    traceable: TraceableModel = HuggingFaceFolders().open(folder, torch.device("cpu"))
    request = TraceRequest.model_validate(asked(traceable.description, n_tokens))
    spent = {"pass": 0.0, "pooling": 0.0}
    with timed(traceable, "trace", spent, "pass"), timed(pooling, "largest", spent, "pooling"):
        taken: list[tuple[float, float, int]] = []
        for _ in range(ROUNDS):
            spent.update({"pass": 0.0, "pooling": 0.0})
            began = time.perf_counter()
            body = tracing.answer(traceable, request, 20_000).body
            forward = spent["pass"] - spent["pooling"]
            taken.append((time.perf_counter() - began - forward, forward, len(body)))
    beyond, forward = (statistics.median(one[i] for one in taken) for i in (0, 1))
    what = f"overview of 12 × 12 heads, {n_tokens} tokens"
    return [
        Row(f"{what}: bytes", taken[0][2] / 1e6, "MB", 4.0),
        Row(f"{what}: beyond the forward pass", 1e3 * beyond, "ms", 500, note=f"the pass: {1e3 * forward:.0f} ms"),
    ]


@contextmanager
def timed(owner: Any, name: str, spent: dict[str, float], what: str) -> Iterator[None]:
    """In this block, add the time of each call of `owner.name` to `spent[what]`."""
    function = getattr(owner, name)

    def call(*given: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*given)
        finally:
            spent[what] += time.perf_counter() - began

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, function)


def asked(description: Description, n_tokens: int) -> dict[str, Any]:
    (one,) = description.attentions
    want = [*one.roles["pattern"].taps, one.tap("mask", 0)]
    ids = [byte for byte, _ in zip(WORDS.encode() * 100, range(n_tokens), strict=False)]
    return {"token_ids": ids, "want": want, "dtype": "uint8", "pooled": True, "predict": {"n": 20}}


def page(folder: Path, n_tokens: int) -> list[Row]:
    """The time from opening the address to a page that is ready, including the river; then of hovering; and memory."""
    text = (WORDS * 20)[:n_tokens]
    with server(models=folder) as (process, url), browser() as chromium:
        wait(url, folder.name)
        context = chromium.new_context(viewport={"width": 1440, "height": 1000})
        context.set_default_timeout(PATIENCE)
        tab = context.new_page()
        fragment = urlencode({"text": text})
        pictures = 1e-3 * float(began(tab, f"{url}/?model={folder.name}#{fragment}"))
        tab.wait_for_selector('[data-panel="river"][aria-busy="false"] [data-testid="river"]')
        tab.wait_for_selector('body[data-state="ready"]')
        ready = 1e-3 * float(tab.evaluate("performance.now()"))
        hover = statistics.median(tab.evaluate(HOVER))
        served, shown, worked = peak(process.pid), peak(renderer(chromium)), cpu_seconds(process.pid)
    what, note = (
        f"24 × 16 heads, {n_tokens} tokens",
        f"heads after {pictures:.0f} s; {worked:.0f} s of the server's CPU",
    )
    return [
        Row(f"{what}: from the address to the river and everything else", ready, "s", note=note),
        Row(f"{what}: hover a line of the river", hover, "ms", 50),
        Row(f"{what}: peak memory of the server, 1.4 GB of weights", served, "MB"),
        Row(f"{what}: peak memory of the page", shown, "MB"),
    ]


def began(tab: Page, address: str) -> float:
    """Milliseconds from opening an address to having all heads drawn."""
    tab.goto(address)
    tab.wait_for_selector("body[data-traced]", state="attached")
    return float(tab.evaluate("performance.now()"))


def wait(url: str, model: str) -> None:
    """Wait until the model is loaded and has answered once."""
    asked = {"model": model, "text": "a", "want": []}
    transport = httpx.HTTPTransport(retries=10)
    with httpx.Client(transport=transport, timeout=PATIENCE / 1000) as client:
        while True:
            try:
                client.post(f"{url}/api/trace", json=asked).raise_for_status()
                return
            except httpx.TransportError:
                time.sleep(0.2)


@contextmanager
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = launched(playwright)
        yield chromium
        chromium.close()


def renderer(chromium: Browser) -> int:
    """The process that draws the page."""
    found = chromium.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return max((int(one["id"]) for one in found if one["type"] == "renderer"), key=peak)


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process in seconds, including its start and the loading of its model."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak(pid: int) -> float:
    """The peak resident memory of a process, in MB."""
    return float(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
