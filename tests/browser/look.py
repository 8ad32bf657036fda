"""A contact sheet of the main states, for whoever changes the page: `make look` writes look/index.html.

Real screenshots, at three sizes, in both themes and both languages. Arguments are the states to take:
`python -m tests.browser.look head start`.
"""

from __future__ import annotations

import os
import shutil
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.conftest import CHROMIUMS
from tests.browser.states import DEVICES, SIZES, STATES, opened
from tests.conftest import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = Path(__file__).parent.parent.parent / "look"
THEMES, LANGUAGES = ("light", "dark"), ("en", "ja")


def shoot(browser: Browser, address: str, states: list[str]) -> None:
    """Every state in every form, as PNGs of the first screen."""
    for (options, sizes, _), theme, lang in product(DEVICES.values(), THEMES, LANGUAGES):
        context = browser.new_context(base_url=address, color_scheme=theme, reduced_motion="reduce", **options)
        page = context.new_page()
        for state in states:
            opened(page, state, lang)
            for size in sizes:
                page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
                page.wait_for_timeout(400)
                page.screenshot(path=FOLDER / f"{state}-{size}-{theme}-{lang}.png")
            print(f"{state} {'/'.join(sizes)} {theme} {lang}", flush=True)
        context.close()


def sheet(states: list[str]) -> str:
    """The page that shows them: a row for each state and size."""
    rows = []
    for state, size in product(states, SIZES):
        shots = [f"{state}-{size}-{theme}-{lang}.png" for theme, lang in product(THEMES, LANGUAGES)]
        images = "".join(f'<a href="{one}"><img loading="lazy" src="{one}" alt="{one}"></a>' for one in shots)
        rows.append(f"<h2>{state} {size}</h2><div>{images}</div>")
    style = "body{font:14px system-ui;background:#ccc}div{display:flex;gap:8px}img{width:100%;max-width:440px}"
    return f'<!doctype html><meta charset="utf-8"><title>chumoku</title><style>{style}</style>{"".join(rows)}'


def main() -> None:
    from playwright.sync_api import sync_playwright

    from chumoku.app.main import create_app

    states = sys.argv[1:] or list(STATES)
    FOLDER.mkdir(exist_ok=True)
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    with served(create_app()) as address, sync_playwright() as playwright:
        args = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium, args=args)
        shoot(browser, address, states)
        browser.close()
    (FOLDER / "index.html").write_text(sheet(states), "utf-8")
    print(FOLDER / "index.html")


if __name__ == "__main__":
    main()
