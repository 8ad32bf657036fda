"""How long explanations take in a real Chromium at 64 tokens: the inspector, and the walk through a block."""

from __future__ import annotations

import statistics

from playwright.sync_api import Page

from benchmarks.measure import Row
from benchmarks.page import median, open_page, text_of
from benchmarks.start import serving, wait_for_trace

# Each function measures, in the page, the time from an event to the frame that paints its result.
SCRIPTS = """() => {
  window.answered = async (selector, act) => {
    const said = changed(document.querySelector(selector), { childList: true, subtree: true, characterData: true });
    const began = performance.now();
    act();
    await said;
    return (await painted()) - began;
  };
  window.weight = '[data-explanation="weight"] [data-step="weight"] .inspector-line';
  window.stepped = async (id) => {
    const step = document.querySelector(`[data-testid="walk-step"][data-step="${id}"]`);
    const began = performance.now();
    step.click();
    while (step.ariaCurrent !== "step" || document.querySelector("#opened").ariaBusy !== "false") {
      await new Promise((next) => setTimeout(next, 0));
    }
    return (await painted()) - began;
  };
  window.walked = async () => {
    const began = performance.now();
    document.querySelector('[data-testid=walk-through]').click();
    while (!document.querySelector("[data-station=computation] .mat")?.checkVisibility()
      || document.querySelector("#opened").ariaBusy !== "false") await new Promise((next) => setTimeout(next, 0));
    return (await painted()) - began;
  };
  window.pressed = (selector, key) =>
    document.querySelector(selector).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}"""


def measure() -> list[Row]:
    with serving() as url:
        wait_for_trace(url)
        with open_page(url) as page:
            page.context.set_default_timeout(60_000)
            page.goto(f"{url}/?layer=3&head=1&computation.step=attn.q&text={text_of(page, url, 0)}")
            page.wait_for_selector('[data-explanation="weight"] .terms')
            page.evaluate(SCRIPTS)
            clicking = median(lambda i: chosen(page, i))
            fetching = median(lambda i: opened(page, i))
            walking = median(lambda i: walked(page, i))
            steps = [step(page, name) for name in names_of_steps(page)]
    return [
        Row("inspector: another cell of the open head, 64 tokens", clicking, "ms", 50),
        Row("inspector: another head, its q, k, v fetched", fetching, "ms", 150),
        Row("walk: opened, 64 tokens", walking, "ms", 300),
        Row("walk: a step, median of all", statistics.median(steps), "ms", 50, note=f"slowest {max(steps):.0f} ms"),
    ]


def chosen(page: Page, i: int) -> float:
    """Choose another cell with the arrow keys, which has the effect of a click without moving the pointer."""
    page.wait_for_timeout(200)
    key = "ArrowUp" if i % 2 else "ArrowLeft"
    return float(page.evaluate("key => answered(weight, () => pressed('[data-testid=matrix]', key))", key))


def opened(page: Page, i: int) -> float:
    """Open a head of another layer for the first time, so that its detail and its layer's W_O have to be fetched."""
    page.wait_for_timeout(200)
    selector = f'[data-testid="head"][data-layer="{i % 6}"][data-head="{(3 * i + 2) % 8}"]'
    return float(page.evaluate("head => answered(weight, () => document.querySelector(head).click())", selector))


def walked(page: Page, i: int) -> float:
    """Open the walk of a different head each time, so that its tensors have to be fetched."""
    page.locator("#tab-attention").click()
    page.evaluate(
        "head => document.querySelector(head).click()", f'[data-testid="head"][data-layer="{i % 6}"][data-head="0"]'
    )
    page.wait_for_timeout(500)
    return float(page.evaluate("walked()"))


def names_of_steps(page: Page) -> list[str]:
    names: list[str] = page.get_by_test_id("walk-step").evaluate_all("all => all.map(one => one.dataset.step)")
    step(page, names[0])
    return names[1:]


def step(page: Page, name: str) -> float:
    """Go to a step, after a pause as long as a reader needs for the step before."""
    page.wait_for_timeout(400)
    return float(page.evaluate("name => stepped(name)", name))
