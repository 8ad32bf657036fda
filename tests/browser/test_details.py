"""Regressions: text that was cut off, misaligned or moving, and one selection explained in two ways."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import drawn, link

if TYPE_CHECKING:
    from playwright.sync_api import Page

LONG = "Once upon a time there was a little cat who lived in a big house with a dog and a bird. " * 6

pytestmark = pytest.mark.warm


def test_the_chosen_token_of_a_long_strip_is_whole(page: "Page") -> None:
    page.goto(link({"text": LONG}))
    drawn(page)
    page.wait_for_function("""() => {
      const strip = document.querySelector('.strip .tokens');
      const { top, bottom, left, right } = strip.getBoundingClientRect();
      const boxes = [...strip.querySelectorAll('button')].map((button) => button.getBoundingClientRect());
      const chosen = strip.querySelector('.tok.q').getBoundingClientRect();
      return strip.scrollLeft > 0 && boxes.every((box) => box.top >= top && box.bottom <= bottom)
        && chosen.left >= left && chosen.right <= right;
    }""")


def test_one_token_and_a_straight_head(page: "Page") -> None:
    page.goto(link({"text": "Hello", "view": "tokens"}))
    page.wait_for_selector('body[data-state="ready"]')
    assert page.get_by_test_id("counts").inner_text().startswith("1 token·")
    heads = page.get_by_test_id("token-counts").locator("thead th")
    places = heads.evaluate_all(
        "all => all.map((head) => [head.getBoundingClientRect().top, head.getBoundingClientRect().bottom])"
    )
    assert len(places) == 3
    assert places == [places[0]] * 3


def test_play_and_pause_are_as_wide(page: "Page") -> None:
    page.goto(link({"text": "Hello", "view": "computation", "computation__step": "attn.q"}))
    page.wait_for_selector('body[data-state="ready"]')
    width = "button => button.getBoundingClientRect().width"
    play = page.get_by_test_id("walk-play")
    play.wait_for()
    before = play.evaluate(width)
    play.click()
    expect(play).to_have_attribute("aria-label", "Pause")
    assert play.evaluate(width) == before
    play.click()

    before = page.get_by_test_id("gen-play").evaluate(width)
    page.get_by_test_id("gen-play").click()
    assert page.get_by_test_id("gen-pause").evaluate(width) == before


def test_the_walk_and_the_inspector_explain_one_unit(page: "Page") -> None:
    page.goto(link({"text": "The cat sat.", "view": "computation", "computation__step": "ffn.relu", "cell": "1.160"}))
    page.wait_for_selector('body[data-state="ready"]')
    inspector = page.locator('[data-panel="inspector"] h2', has_text="unit")
    inspector.wait_for()
    (unit,) = re.findall(r"unit (\d+)", inspector.inner_text())
    assert f"unit {unit}" in page.get_by_test_id("computation-sum").inner_text()
