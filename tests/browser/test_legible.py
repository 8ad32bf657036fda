"""In no main state is a text cut, do texts lie on each other, or is what can be pressed or read too small.

One function looks at the page (layout_check.js), in each state at each size and in each language. Nothing of it depends
on the theme, but for a few texts. `make look` shows the same states.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.states import DEVICES, SIZES, STATES, opened

if TYPE_CHECKING:
    from playwright.sync_api import Page

HERE = Path(__file__).parent


def function_in(name: str) -> str:
    """A function of a file, without the comment before it."""
    return (HERE / name).read_text("utf-8").partition("*/")[2].strip().rstrip(";")


CHECK, CANVAS_TEXTS = function_in("layout_check.js"), function_in("canvas_texts.js")


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


def settled_size(page: Page, size: str) -> None:
    page.set_viewport_size(SIZES[size])
    frame = "await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));"
    page.evaluate(f"async () => {{ {frame * 4} }}")  # a picture that has another size moves what is below


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
        sizes = sizes[::-1]  # the next one opens in the size that the window has
    assert {name: what for name, what in found.items() if what} == {}


def test_dark_too(open_page: Callable[..., Page]) -> None:
    """Only what a text says of light and dark differs."""
    page = open_page(viewport=SIZES["1280"], color_scheme="dark", has_touch=False)
    page.add_init_script(f"({CANVAS_TEXTS})()")
    found: dict[str, list[str]] = {}
    for name in ("start", "head", "translation"):
        opened(page, name, "en")
        found[name] = faults(page, 24)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert {name: what for name, what in found.items() if what} == {}
