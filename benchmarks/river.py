"""The river in a real Chromium: its first frame, and the frame rate while it plays. To run only this part: `python -m
benchmarks river`."""

from __future__ import annotations

import statistics
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page

from benchmarks.measure import Row
from benchmarks.page import open_page, text_of
from benchmarks.start import serving, wait_for_trace

ROUNDS = 9

FIRST_FRAME = """
async (text) => {
  const canvas = document.querySelector('[data-testid="river"]');
  const pen = canvas.getContext("2d");
  let answered = 0;
  const { fetch } = window;
  window.fetch = async (...asked) => {
    const answer = await fetch(...asked);
    if (!String(asked[0]).includes("/api/explain/route")) return answer;
    const json = answer.json.bind(answer);
    answer.json = () => json().finally(() => (answered = performance.now()));
    const bytes = answer.arrayBuffer.bind(answer);
    answer.arrayBuffer = () => bytes().finally(() => (answered = performance.now()));
    return answer;
  };
  const drawn = new Promise((done) => {
    pen.clearRect = (...area) => {
      CanvasRenderingContext2D.prototype.clearRect.apply(pen, area);
      if (answered) done();
    };
  });
  const input = document.querySelector('[data-testid="sentence"]');
  input.value = text;
  input.dispatchEvent(new InputEvent("input", { bubbles: true }));
  await drawn;
  const painted = await new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))));
  window.fetch = fetch;
  delete pen.clearRect;
  return painted - answered;
}
"""

FRAMES = """
async () => {
  const times = [];
  let cost = 0;
  const slider = document.querySelector('[data-testid="river-scrub"]');
  document.querySelector('[data-testid="river-watch"]').click();
  await new Promise((done) => {
    const step = (now) => {
      times.push(now);
      if (slider.value === slider.max && times.length > 30) done();
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  return times;
}
"""


def measure() -> list[Row]:
    """The first frame after the answer, and the frame rate while Watch plays, at 64 tokens × 6 layers."""
    with serving() as url:
        wait_for_trace(url)
        with open_page(url) as page:
            page.context.set_default_timeout(60_000)
            texts = [text_of(page, url, i) for i in range(ROUNDS + 1)]
            river = page.context.new_page()
            river.goto(f"{url}/?{urlencode({'view': 'model', 'text': texts[0]})}")
            settled(river)
            first = statistics.median([first_frame(river, text) for text in texts[1:]][1:])
            times: list[float] = river.evaluate(FRAMES)
    return [
        Row("the river's first frame after its answer, 64 tokens", first, "ms", 150),
        Row("frames a second while Watch plays, 64 tokens", rate(times), "/s", 60, at_most=False, note=note(times)),
    ]


def settled(page: Page) -> None:
    """Wait until everything is drawn and measured."""
    page.wait_for_selector('body[data-state="ready"]')
    page.wait_for_selector('[data-panel="river"][aria-busy="false"] [data-testid="river"]')
    page.wait_for_timeout(2500)


def first_frame(page: Page, text: str) -> float:
    taken: Any = page.evaluate(FIRST_FRAME, text)
    settled(page)
    return float(taken)


def rate(times: list[float]) -> int:
    """The median frame rate of a play, rounded: it cannot exceed the screen's 60 frames per second."""
    return round(1000 / statistics.median(b - a for a, b in pairwise(times)))


def note(times: list[float]) -> str:
    gaps = sorted(b - a for a, b in pairwise(times))
    return f"19 of 20 within {gaps[int(len(gaps) * 0.95)]:.0f} ms"
