"""What a cold load of the page costs: requests, script time, the time of the first paint, and until it is drawn.

    python -m benchmarks.cold_load http://127.0.0.1:8001 http://127.0.0.1:8002

measures running servers (for example, of two commits) in turn. Each load has a new context with an empty cache. Script
time is the time in which a thread of the page loads, compiles or runs JavaScript, from Chromium's trace.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from benchmarks.page import launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROUNDS = 5
SENTENCE = "The cat sat on the mat."
PAGES = {
    "/": "/",
    "a sentence": f"/?text={SENTENCE}",
    "a sentence, with everything": f"/?view=attention&drawer=generation&text={SENTENCE}",
}
PAUSE_MS = 700
"""How long to wait after a load: prefetches and requests that wait for a pause are part of it."""

REACHED = """new Promise((done, fail) => {
  setTimeout(() => fail(new Error("not drawn after 30 s")), 30_000);
  const reached = () => ["empty", "ready"].includes(document.body?.dataset.state);
  const observer = new MutationObserver(() => reached() && (observer.disconnect(), done(performance.now())));
  observer.observe(document, { subtree: true, childList: true, attributeFilter: ["data-state"] });
  if (reached()) done(performance.now());
})"""

# The first paint shows the river of the first example at "/", otherwise the outlines of the page.
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"

CATEGORIES = ["devtools.timeline", "v8", "v8.execute", "disabled-by-default-v8.compile"]
SCRIPT = ("v8.", "V8.", "EvaluateScript", "FunctionCall", "RunMicrotasks", "TimerFire", "FireAnimationFrame")


def script_time(events: Iterable[dict[str, Any]]) -> float:
    """Milliseconds of CPU time during which a script event lasts, over all threads. An event inside another one does
    not count again."""
    threads = defaultdict(list)
    for one in timed(events):
        if one["name"].startswith(SCRIPT):
            threads[one["pid"], one["tid"]].append(one)
    total = 0.0
    for of in threads.values():
        end = 0.0
        for one in sorted(of, key=lambda one: (one["ts"], -one["dur"])):
            if one["ts"] >= end:
                total += one.get("tdur", one["dur"])
                end = one["ts"] + one["dur"]
    return total / 1000


def timed(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events that have a duration, whether the trace has one record for them or one for their begin and one for
    their end."""
    open_: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for one in sorted(events, key=lambda one: one.get("ts", 0)):
        begun = open_[one.get("pid", 0), one.get("tid", 0)]
        if one.get("ph") == "X":
            yield {"dur": 0, **one}
        elif one.get("ph") == "B":
            begun.append(one)
        elif one.get("ph") == "E" and begun:
            begin = begun.pop()
            cpu = {"tdur": one["tts"] - begin["tts"]} if "tts" in one and "tts" in begin else {}
            yield {**begin, "dur": one["ts"] - begin["ts"], **cpu}


def load(browser: Browser, url: str) -> tuple[int, float, float, float]:
    """Load a page: the number of requests, milliseconds of script, milliseconds until the first paint and until it is
    drawn."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, locale="en-US")
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    browser.start_tracing(page=page, categories=CATEGORIES)
    page.goto(url, wait_until="commit")
    # Playwright's own waiting would run a script, half as much as an empty page runs itself.
    session = context.new_cdp_session(page)
    wait = {"expression": REACHED, "awaitPromise": True, "returnByValue": True}
    drawn = session.send("Runtime.evaluate", wait)["result"]["value"]
    page.wait_for_timeout(PAUSE_MS)
    script = script_time(json.loads(browser.stop_tracing())["traceEvents"])
    painted = session.send("Runtime.evaluate", {"expression": PAINTED, "returnByValue": True})["result"]["value"]
    context.close()
    return len(requests), script, painted, drawn


def main(urls: list[str]) -> None:
    with sync_playwright() as playwright:
        browser = launched(playwright)
        for name, path in PAGES.items():
            loads = [[load(browser, url + path) for url in urls] for _ in range(ROUNDS + 1)][1:]
            for url, of in zip(urls, zip(*loads, strict=True), strict=True):
                requests, script, painted, drawn = (statistics.median(numbers) for numbers in zip(*of, strict=True))
                times = f"{script:6.0f} ms script  {painted:6.0f} ms painted  {drawn:6.0f} ms drawn"
                print(f"{name:30} {url:28} {requests:4.0f} requests  {times}", flush=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
