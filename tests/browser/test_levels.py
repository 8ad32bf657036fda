"""Look, Understand, Everything: what each level shows, in all families, both languages, light and dark."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from tests.browser.helpers import drawn, loaded, serious

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXTS = {
    "decoder-only": "Tom lost his red ball. Tom was sad. Mom found the red",
    "encoder-only": "The story is thin, but the actors are wonderful.",
    "encoder-decoder": "I ate a banana in the morning.",
}
LAPTOP = {"width": 1280, "height": 720}
PHONE = {"width": 390, "height": 844}

# What is in the window without scrolling. A group of which one is a tab stop (tokens, levels, stations) counts once.
CONTROLS = """() => {
  const seen = (element) => {
    const { top, bottom, width } = element.getBoundingClientRect();
    return element.checkVisibility() && width > 1 && bottom > 0 && top < innerHeight;
  };
  const stops = document.querySelectorAll('a[href], button, input, textarea, select, summary, [tabindex]');
  return [...stops].filter((one) => one.tabIndex >= 0 && !one.disabled && seen(one))
    .filter((one) => !one.matches('canvas[role=application]'))
    .map((one) => one.dataset.testid ?? one.getAttribute('aria-label') ?? one.textContent);
}"""

# The page's own words: not the sentence, nor its tokens.
WORDS = """() => {
  const words = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!parent.checkVisibility() || parent.closest('.tok, textarea, script, .sr-only')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const { top, bottom, width } = range.getBoundingClientRect();
    if (width > 1 && bottom > 0 && top < innerHeight) words.push(...node.textContent.trim().split(/\\s+/).filter(Boolean));
  }
  return words;
}"""

SMALLEST_TYPE = """() => Math.min(...[...document.querySelectorAll('body *')]
  .filter((one) => one.checkVisibility() && !one.closest('.sr-only, svg')
    && [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
  .map((one) => parseFloat(getComputedStyle(one).fontSize)))"""


def opened(page: "Page", level: str, family: str = "decoder-only", **more: Any) -> None:
    """The page of a family's sentence at a level, drawn, with its effects measured."""
    page.goto("/?" + urlencode({"model": loaded(family).name, "text": TEXTS[family], "level": level} | more))
    page.wait_for_selector('body[data-state="ready"]')


@pytest.mark.parametrize("family", TEXTS)
def test_look_has_few_words_and_controls_above_the_fold(open_page: "Callable[..., Page]", family: str) -> None:
    page = open_page(viewport=LAPTOP)
    opened(page, "look", family)
    controls = page.evaluate(CONTROLS)
    assert len(controls) <= 12, controls
    words = page.evaluate(WORDS)
    assert len(words) <= 60, words
    assert page.evaluate(SMALLEST_TYPE) >= 13


@pytest.mark.parametrize("family", TEXTS)
def test_look_is_short_on_a_phone_and_begins_with_the_river(open_page: "Callable[..., Page]", family: str) -> None:
    page = open_page(viewport=PHONE)
    opened(page, "look", family)
    assert page.evaluate("() => document.documentElement.scrollHeight") <= 2000
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    box = page.get_by_test_id("river").bounding_box()
    assert box is not None
    assert box["y"] < 844 - 200  # at least its first rows
