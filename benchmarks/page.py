"""What a user waits for, in a real Chromium against a real server on the same machine."""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from benchmarks.measure import Row
from benchmarks.start import serving, wait_for_trace

WORDS = (
    "Once upon a time there was a little girl named Lily. She had a red ball and she went to the park with her mom. "
)
SHORT = "Tom lost his red car. Tom was sad. Mom found the"
TEXT = (WORDS * 3).split(" ")
ROUNDS = 15
CELLS, CARD = '[data-testid="matrix"] ~ .readout', ".card-title"
"""What changes when the cells of an open head are drawn, and when the arithmetic beside them is."""

# Each function measures, in the page, the time from an event to the frame that paints its result.
SCRIPTS = """
window.painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))));
window.changed = (node, options, when = () => true) => new Promise((done, fail) => {
  const observer = new MutationObserver(() => when() && (observer.disconnect(), done()));
  observer.observe(node, options);
  setTimeout(() => fail(new Error("nothing has changed in 20 s")), 20_000);
});
window.typed = async (text) => {
  const input = document.querySelector('[data-testid="sentence"]');
  const traced = changed(document.body, { attributes: true, attributeFilter: ["data-traced"] });
  const began = performance.now();
  input.value = text;
  input.dispatchEvent(new InputEvent("input", { bubbles: true }));
  await traced;
  return (await painted()) - began;
};
window.redrawn = async (click, of) => {
  const drawn = changed(document.querySelector(of), { attributes: true, childList: true, subtree: true });
  const began = performance.now();
  click.click();
  await drawn;
  return (await painted()) - began;
};
window.opened = async () => {
  const shown = () => document.querySelector('[data-station="attention"] .overlay text');
  const drawn = changed(document.body, { childList: true, subtree: true }, shown);
  const began = performance.now();
  document.querySelector('[data-testid="station"][data-view="attention"]').click();
  await drawn;
  return (await painted()) - began;
};
window.stepped = async () => {
  const tokens = () => document.querySelectorAll('[data-testid="token"]').length;
  const before = tokens();
  const written = changed(document.body, { childList: true, subtree: true }, () => tokens() > before);
  const began = performance.now();
  document.querySelector('[data-testid="gen-step"]').click();
  await written;
  return (await painted()) - began;
};
window.redraw = async () => {
  const { picturesIn } = await import("/static/chart/pictures.js");
  const { drawMatrix } = await import("/static/chart/matrix/matrix.js");
  const root = document.querySelector('[data-testid="matrix"]').parentElement;
  const [{ content }] = picturesIn(root);
  const fresh = { ...content, values: content.values.slice() };
  const began = performance.now();
  drawMatrix(root, fresh);
  return performance.now() - began;
};
window.hovered = async () => {
  const words = document.querySelector('[data-testid="matrix"] .hovertext');
  let began = 0;
  addEventListener("pointermove", () => (began = performance.now()), { once: true, capture: true });
  await changed(words, { attributes: true, childList: true, subtree: true, characterData: true });
  return (await painted()) - began;
};
window.edited = async (event) => {
  let began = 0;
  addEventListener(event, () => (began = performance.now()), { once: true, capture: true });
  await changed(document.body, { attributes: true, attributeFilter: ["data-traced"] });
  return (await painted()) - began;
};
window.frames = async (click) => {
  const moves = () => document.getAnimations().some((one) => one.effect.pseudoElement?.startsWith("::view-transition"));
  const times = [];
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const began = performance.now();
  click.click();
  while (!moves()) await frame();
  while (moves()) times.push(await frame());
  return [((times.length - 1) * 1000) / (times.at(-1) - times[0]), times[0] - began];
};
"""


def launched(playwright: Playwright) -> Browser:
    """The machine's Chromium; preferably one with windows, because people use those."""
    names = ("chromium", "google-chrome", "chromium-browser", "chromium-headless-shell")
    executable = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=executable, args=[*root, "--disable-gpu"])


@contextmanager
def open_page(url: str, reduced_motion: Literal["reduce", "no-preference"] = "reduce") -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = launched(playwright)
        context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion=reduced_motion)
        context.add_init_script(SCRIPTS)
        page = context.new_page()
        page.goto(f"{url}/?view=attention&text=Once+upon+a+time&layer=3&head=1")
        page.wait_for_selector('[data-testid="matrix"] .overlay text')
        yield page
        browser.close()


def median(call: Callable[[int], float]) -> float:
    """The median of what `call` returns over `ROUNDS` rounds, after two rounds that only warm up."""
    return statistics.median([call(i) for i in range(ROUNDS + 2)][2:])


def measure() -> Iterator[Row]:
    """Typing, opening a head, toggling the mask and hovering, at 64 tokens; a step from 13; the camera."""
    with serving() as url:
        wait_for_trace(url)
        with open_page(url) as page:
            page.context.set_default_timeout(60_000)
            page.get_by_test_id("all-heads").click()
            texts = [text_of(page, url, i) for i in range(ROUNDS + 2)]
            typing = median(lambda i: after_a_pause(page, "text => typed(text)", texts[i]))
            yield Row("typing → all heads drawn, 64 tokens", typing, "ms", 80)
            first = first_heads(page, url, texts[0])
            yield Row("open the first head of a page, numbers and all", first, "ms", 80)
            heads = '[data-testid="head"][data-layer="{}"][data-head="{}"]'
            opening = median(lambda i: redrawn(page, heads.format(i % 6, (3 * i + 2) % 8)))
            card = median(lambda i: redrawn(page, heads.format(i % 6, (3 * i + 1) % 8), CARD))
            yield Row("open a head", opening, "ms", 40, note=f"its weights; the arithmetic beside them {card:.0f}")
            drawing = median(lambda _: float(page.evaluate("redraw()")))
            yield Row("draw a head's matrix of 64 tokens, script alone", drawing, "ms", 16)
            toggling = median(lambda i: redrawn(page, '[data-testid="switch-causal"]'))
            yield Row("toggle the causal mask", toggling, "ms", 40)
            page.get_by_test_id("all-heads").click()  # they lie over the matrix
            yield Row("hover a cell", hovering(page), "ms", 14)
            yield Row("Step → the new token, from 13 tokens", steps(page, url), "ms", 60)
            gesture, here = edits(page, url)
            yield Row("hide a cell with the pencil → what the model answers, 14 tokens", gesture, "ms", 150)
            yield Row("undo it: the answer is here", here, "ms", 50)
        with open_page(url, reduced_motion="no-preference") as page:
            frames, wait = camera(page)
            note = f"it begins to move after {wait:.0f} ms"
            yield Row("frames a second while the camera moves", frames, "", 60, at_most=False, note=note)


def first_heads(page: Page, url: str, text: str) -> float:
    """Milliseconds from opening the weights, on a page that has drawn no matrix yet, until they are painted: the median
    of 7 pages."""
    taken = []
    for _ in range(7):
        fresh = page.context.new_page()
        fresh.goto(f"{url}/?{urlencode({'text': text, 'view': 'tokens', 'layer': 3, 'head': 1})}")
        fresh.wait_for_selector('body[data-state="ready"]')
        fresh.wait_for_timeout(500)
        taken.append(float(fresh.evaluate("opened()")))
        fresh.close()
    return statistics.median(taken)


def steps(page: Page, url: str) -> float:
    """Milliseconds from Step to the new token, in the whole model: the median of the steps from 13 to 18 tokens."""
    page.goto(f"{url}/?{urlencode({'view': 'model', 'text': SHORT})}")
    page.wait_for_selector('body[data-state="ready"]')
    taken = []
    for _ in range(7):
        page.wait_for_timeout(1500)
        taken.append(float(page.evaluate("stepped()")))
    return statistics.median(taken[1:])


def text_of(page: Page, url: str, variant: int) -> str:
    words = [["Tom", "Ben", "Mia", "Sue"][variant % 4], *TEXT]
    marks = "!" * (1 + variant // 4)
    for n_words in range(30, len(words)):
        text = " ".join(words[:n_words]) + marks
        if page.request.post(f"{url}/api/tokenize", data={"text": text}).json()["n_tokens"] >= 64:
            return text
    raise ValueError("the benchmark's text is too short")


def after_a_pause(page: Page, script: str, argument: str) -> float:
    """Type as a user does, long after the previous key, so that the page's own delay is not counted."""
    page.wait_for_timeout(400)
    return float(page.evaluate(script, argument))


def redrawn(page: Page, selector: str, of: str = CELLS) -> float:
    page.wait_for_timeout(200)
    return float(page.evaluate("([click, of]) => redrawn(document.querySelector(click), of)", [selector, of]))


def hovering(page: Page) -> float:
    """Milliseconds from the pointer's move to another cell until the words about it are painted."""
    cells = page.locator(".matrix-plot").first
    cells.evaluate("cells => cells.scrollIntoView({ block: 'center' })")
    box = cells.bounding_box()
    assert box is not None, "there is no matrix"

    def hovered(i: int) -> float:
        page.evaluate("() => { window.hovering = hovered(); }")
        page.mouse.move(box["x"] + box["width"] * (0.25 + 0.035 * i), box["y"] + box["height"] * 0.6)  # another cell
        return float(page.evaluate("window.hovering"))

    return median(hovered)


def edits(page: Page, url: str) -> tuple[float, float]:
    """Milliseconds from the end of a pencil's stroke over one cell until what the model answers is painted, and from
    the key that undoes it, whose answer the page has kept: medians, in a head of 14 tokens."""
    asked = {"view": "attention", "layer": 5, "head": 5, "attention.pencil": "on", "text": f"{SHORT} red"}
    page.goto(f"{url}/?{urlencode(asked)}")
    page.wait_for_selector('[data-testid="matrix"] .overlay text')
    page.wait_for_timeout(1500)
    box = page.locator(".matrix-plot").first.bounding_box()
    assert box is not None, "there is no matrix"

    def timed(event: str, act: Callable[[], None]) -> float:
        page.wait_for_timeout(300)
        page.evaluate("event => { window.editing = edited(event); }", event)
        act()
        return float(page.evaluate("window.editing"))

    hidden, undone = [], []
    for i in range(ROUNDS + 2):
        row, col = divmod(i, 10)  # another cell each time, in the last two rows
        x, y = box["x"] + box["width"] * (0.13 + 0.06 * col), box["y"] + box["height"] * (0.965 - 0.07 * row)
        hidden.append(timed("pointerup", lambda x=x, y=y: page.mouse.click(x, y)))  # type: ignore[misc]
        undone.append(timed("keydown", lambda: page.keyboard.press("Control+z")))
    return statistics.median(hidden[2:]), statistics.median(undone[2:])


def camera(page: Page) -> tuple[float, float]:
    """Frames a second from the whole model to a head and back, and the milliseconds from the click to the first of
    them: the medians of 6 ways."""
    taken = []
    for _ in range(3):
        page.keyboard.press("Escape")
        page.wait_for_timeout(1000)
        for way in ('[data-testid="station"][data-view="attention"]', '[data-testid="path"] button'):
            taken.append(page.evaluate("selector => frames(document.querySelector(selector))", way))
            page.wait_for_timeout(1000)
    frames, waits = zip(*taken, strict=True)
    return statistics.median(frames), statistics.median(waits)
