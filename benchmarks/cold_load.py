"""What a cold load of the page costs: requests, script time, and how long until it is drawn.

    python -m benchmarks.cold_load http://127.0.0.1:8001 http://127.0.0.1:8002

measures servers that already run, for example of two commits, in turn: each load has a new context with an empty
cache. Script time is the time in which a thread of the page loads, compiles or runs JavaScript, from Chromium's trace.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from benchmarks.page import launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROUNDS = 5
SENTENCE = "The cat sat on the mat."
PAGES = {
    "/": ("/", '[data-state="empty"]'),
    "a sentence": (f"/?level=understand&text={SENTENCE}", '[data-state="ready"]'),
    "a sentence, with everything": (f"/?level=everything&text={SENTENCE}", '[data-state="ready"]'),
}
PAUSE_MS = 700
"""Prefetches and what waits for a pause are part of a load."""


CATEGORIES = ["devtools.timeline", "v8", "disabled-by-default-v8.compile"]
SCRIPT = ("v8.", "V8.", "EvaluateScript", "FunctionCall", "RunMicrotasks", "TimerFire", "FireAnimationFrame")


def script_time(events: Iterable[dict[str, Any]]) -> float:
    """Milliseconds in which any of these events lasts, summed over threads: events within others count once."""
    spans = defaultdict(list)
    for one in events:
        if one.get("ph") == "X" and one["name"].startswith(SCRIPT):
            spans[one["pid"], one["tid"]].append((one["ts"], one["ts"] + one.get("tdur", one.get("dur", 0))))
    total = 0.0
    for of in spans.values():
        end = 0.0
        for start, until in sorted(of):
            total += max(0.0, until - max(start, end))
            end = max(end, until)
    return total / 1000


def load(browser: Browser, url: str, state: str) -> tuple[int, float, float]:
    """Requests, milliseconds of script, milliseconds until it is drawn."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, locale="en-US")
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    browser.start_tracing(page=page, categories=CATEGORIES)
    page.goto(url, wait_until="commit")
    page.wait_for_selector(f"body{state}", timeout=60_000)
    drawn = page.evaluate("performance.now()")
    page.wait_for_timeout(PAUSE_MS)
    script = script_time(json.loads(browser.stop_tracing())["traceEvents"])
    context.close()
    return len(requests), script, drawn


def main(urls: list[str]) -> None:
    with sync_playwright() as playwright:
        browser = launched(playwright)
        for name, (path, state) in PAGES.items():
            loads = [[load(browser, url + path, state) for url in urls] for _ in range(ROUNDS + 1)][1:]
            for url, of in zip(urls, zip(*loads, strict=True), strict=True):
                requests, script, drawn = (statistics.median(numbers) for numbers in zip(*of, strict=True))
                print(f"{name:30} {url:28} {requests:4.0f} requests  {script:6.0f} ms script  {drawn:6.0f} ms drawn")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
