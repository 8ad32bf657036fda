"""Helpers that several browser tests share."""

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from model.checkpoint import Checkpoint


@cache
def loaded(family: str) -> "Checkpoint":
    """The model of a family that is not one of the small ones trained alike, on the CPU. Tests do not change it."""
    from app.settings import Settings
    from model import checkpoint
    from model.subjects import every_folder

    folders = every_folder(*Settings().models_dir, checkpoint.ZOO)
    models = (checkpoint.load(folder, "cpu") for folder, _ in folders)
    return next(one for one in models if one.config.family == family and "trained_like" not in one.card)


def serious(page: "Page", *parts: str, rules: Literal["all", "colours", "others"] = "all") -> list[str]:
    """Serious findings of axe with their elements, in the page or some parts of it.

    A whole page takes 1.2 s of CPU time, 0.9 of it for the contrast of its colours; one panel 0.3 s.
    """
    from axe_playwright_python.base import AXE_SCRIPT

    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    violations = page.evaluate(
        """async ([parts, rules]) => {
          for (const part of parts)
            if (!document.querySelector(part)?.checkVisibility()) throw new Error(`${part} cannot be seen`);
          const others = { rules: { 'color-contrast': { enabled: false } } };
          const chosen = { colours: { runOnly: ['color-contrast'] }, others }[rules];
          const where = parts.length ? { include: parts.map((part) => [part]) } : document;
          return (await axe.run(where, { resultTypes: ['violations'], preload: false, ...chosen })).violations;
        }""",
        [parts, rules],
    )
    return [
        f"{found['id']}: {node['target']} {node['failureSummary']}"
        for found in violations
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


def serious_in_both_themes(page: "Page", *parts: str) -> list[str]:
    """By all rules in light, then by those about colours in dark. The page follows the system's theme."""
    found = serious(page, *parts)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")  # no colour is on its way to another
    page.wait_for_selector('html[data-theme="dark"] body:not([data-state="loading"])')
    found += serious(page, *parts, rules="colours")
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    page.wait_for_selector('html[data-theme="light"] body:not([data-state="loading"])')
    return found


def overflows(page: "Page", widths: tuple[int, ...]) -> list[int]:
    """The widths at which the page is wider than its window."""
    found = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)))")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(width)
    return found


def settled(page: "Page") -> None:
    """Wait until the page is ready and all that can be seen is drawn, without an error in its place."""
    page.wait_for_selector('body[data-state="ready"]')
    page.wait_for_function("""() => {
      const busy = [...document.querySelectorAll(':is(.panel, .matrix)[aria-busy="true"]')];
      return document.body.dataset.state === 'ready' && !busy.some((one) => one.checkVisibility());
    }""")
    assert page.locator(".panel-error:visible, .matrix-error:visible").count() == 0


def offered(page: "Page") -> set[str]:
    """The stations of the ribbon that can be seen."""
    return {tab.get_attribute("data-view") or "" for tab in page.get_by_test_id("station").all() if tab.is_visible()}


def flaws(page: "Page") -> list[str]:
    """What the page says that it lacks or cannot draw, and recomputed numbers that differ from the model's."""
    return page.locator(".panel-error:visible, .panel-lacks:visible, .check.bad:visible").all_inner_texts()


def drawn(page: "Page") -> None:
    """Wait until the page is ready, has a matrix, and every matrix on it is drawn."""
    page.wait_for_selector('body[data-state="ready"]')
    page.wait_for_function("""() => {
      const frames = [...document.querySelectorAll('[data-testid=matrix]')].filter((f) => f.clientWidth > 0);
      return frames.length > 0 && frames.every((f) => f.ariaBusy === 'false');
    }""")


def wait_for_run(page: "Page", condition: str) -> dict[str, Any]:
    """Wait until the run in the address satisfies a JavaScript condition on `run`; returns the run."""
    run = "JSON.parse(new URLSearchParams(location.hash.slice(1)).get('run') ?? '{}')"
    page.wait_for_function(f"() => {{ const run = {run}; return {condition}; }}")
    return page.evaluate(f"() => {run}")


def matrix_shown(frame: "Locator") -> dict[str, Any]:
    """The contents of a matrix: values (None where forbidden), colours, the part in view, numbers in its cells."""
    shown: dict[str, Any] = frame.evaluate("""async frame => {
      const { picturesIn } = await import('/static/chart/pictures.js');
      const { numbersOf } = await import('/static/chart/matrix/numbers.js');
      const [{ content, size }] = picturesIn(frame.parentElement);
      const [rows, cols] = content.shape;
      const value = (at) => (content.forbidden?.[at] ? null : content.values[at]);
      const { numbers } = numbersOf(content, size);
      const texts = (name) => [...frame.querySelectorAll(`.${name}-label`)].map((one) => one.textContent);
      return {
        z: Array.from({ length: rows }, (_, row) => Array.from({ length: cols }, (_, col) => value(row * cols + col))),
        range: [content.scale.min, content.scale.max], colours: content.scale.stops, view: size.view, cell: size.cell,
        numbers: numbers.length ? numbers.map(({ text }) => text) : null, sums: content.sums ? texts('sum') : null,
      };
    }""")
    return shown
