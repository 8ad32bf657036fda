"""In no main state is a text cut, do texts lie on each other, or is what can be pressed or read too small.

One function looks at the page (layout_check.js), in each state at each size and in each language. Nothing of it depends
on the theme: a test holds that dark moves nothing. `make look` shows the same states.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.helpers import turn
from tests.browser.states import DEVICES, SIZES, STATES, opened

if TYPE_CHECKING:
    from playwright.sync_api import Page

HERE = Path(__file__).parent


def function_in(name: str) -> str:
    """A function of a file, without the comment before it."""
    return (HERE / name).read_text("utf-8").partition("*/")[2].strip().rstrip(";")


CHECK, CANVAS_TEXTS = function_in("layout_check.js"), function_in("canvas_texts.js")

# Where everything lies, up to a pixel.
PLACES = """() => [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility()).map((one) => {
  const { x, y, width, height } = one.getBoundingClientRect();
  return [one.tagName, ...[x, y, width, height].map(Math.round)].join(' ');
})"""


def faults(page: Page, least: int) -> list[str]:
    """What layout_check.js finds. The page is opaque meanwhile: what is transparent counts as unseen."""
    found: list[str] = page.evaluate(
        f"""(least) => {{
          const unseen = window.unseen ?? {{}};
          unseen.disabled = true;
          try {{ return ({CHECK})({{ least, wrote: window.wrote }}); }} finally {{ unseen.disabled = false; }}
        }}""",
        least,
    )
    return found


def places(page: Page) -> list[str]:
    """Where everything lies when nothing more comes."""
    before: list[str] = []
    while before != (now := page.evaluate(PLACES)):
        before = now
        page.wait_for_timeout(400)
    return before


def settled_size(page: Page, size: str) -> None:
    page.set_viewport_size(SIZES[size])
    page.evaluate("new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)))")


@pytest.mark.parametrize("lang", ["en", "ja"])
@pytest.mark.parametrize("device", DEVICES)
def test_everything_can_be_read_and_pressed(open_page: Callable[..., Page], device: str, lang: str) -> None:
    options, sizes, least = DEVICES[device]
    page = open_page(viewport=SIZES[sizes[0]], **options)
    page.add_init_script(f"({CANVAS_TEXTS})()")
    found: dict[str, list[str]] = {}
    for name in STATES:
        opened(page, name, lang)
        for size in sizes:
            settled_size(page, size)
            found[f"{name} at {size}"] = faults(page, least)
    assert {name: what for name, what in found.items() if what} == {}


def test_dark_moves_nothing(page: Page) -> None:
    for name in ("understand", "ffn", "prediction"):
        opened(page, name, "en")
        light = places(page)
        turn(page, "dark")
        assert places(page) == light, name
        turn(page, "light")
