"""No panel overlaps another at any scroll position."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.browser.helpers import drawn, link, loaded

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS = (390, 1280, 1440, 1920)

# The largest area in px² that a panel shares with another, with its top and with its end in view.
OVERLAPS = """async (panel) => {
  const others = [...document.querySelectorAll('.panel')].filter((one) => one !== panel && one.checkVisibility());
  const box = (element) => element.getBoundingClientRect();
  const shared = ([a, b]) =>
    Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) *
    Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
  // What a scrolling column cuts off covers nothing.
  const seen = (element) => {
    const [own, column] = [box(element), element.closest('.right')];
    const { top, bottom } = column ? box(column) : own;
    return { left: own.left, right: own.right, top: Math.max(own.top, top), bottom: Math.min(own.bottom, bottom) };
  };
  const found = [];
  // A drawer stands at the foot of the window; at the end of the page nothing is under it.
  const drawer = panel.closest('.drawers');
  for (const block of drawer ? ['end'] : ['start', 'center', 'end']) {
    if (drawer) scrollTo(0, document.documentElement.scrollHeight);
    else panel.scrollIntoView({ block });
    await new Promise(requestAnimationFrame);
    found.push(...others.map((other) => shared([box(panel), seen(other)])));
  }
  return found;
}"""


def overlaps(page: "Page", panel: str) -> dict[int, float]:
    """The largest area that a panel shares with another, at each width of the window."""
    found = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        drawn(page)
        found[width] = max(page.locator(f'[data-panel="{panel}"]').evaluate(OVERLAPS))
    return found


@pytest.mark.warm
def test_nothing_covers_what_changed(page: "Page") -> None:
    page.goto(link({"text": "Once upon a time there was a cat", "compare": "on", "pad": 1}))
    drawn(page)
    assert overlaps(page, "compare") == dict.fromkeys(WIDTHS, 0)


@pytest.mark.warm
def test_nothing_covers_the_batch(page: "Page") -> None:
    page.goto(
        link(
            {
                "model": loaded("encoder-only").name,
                "text": "A wonderful film.",
                "batch__text": "Dull.",
                "drawer": "batch",
            }
        )
    )
    page.locator('[data-panel="batch"] .members').wait_for()
    assert overlaps(page, "batch") == dict.fromkeys(WIDTHS, 0)


def test_on_a_phone_a_tapped_head_scrolls_to_its_picture(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(link({"text": "Once upon a time there was a cat"}))
    drawn(page)
    page.get_by_test_id("all-heads").tap()
    page.locator("[data-testid=head][data-layer='1'][data-head='2']").tap()
    page.wait_for_function("""() => {
      const { top } = document.querySelector('[data-panel=opened]').getBoundingClientRect();
      return top >= -1 && top < innerHeight / 2;
    }""")
    page.wait_for_url("**layer=1**")
