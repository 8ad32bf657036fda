"""The river of the first example is on the page before any script, and the script's own takes its place unseen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

TEXT = "A dog ran away."

# Where each label of the first paint begins and ends, on its baseline.
PAINTED = """() => [...document.querySelectorAll('.first text')].filter((one) => one.checkVisibility()).map((one) => {
  const at = (point) => point.matrixTransform(one.getScreenCTM());
  const [from, to] = [at(one.getStartPositionOfChar(0)), at(one.getEndPositionOfChar(one.getNumberOfChars() - 1))];
  return { text: one.textContent, left: from.x, right: to.x, y: from.y };
})"""

# Where the script writes its labels (river/draw/text.js and scene.js).
DRAWN = """async (canvas) => {
  const { sceneOf } = await import('/static/river/board.js');
  const { x, y } = canvas.getBoundingClientRect();
  const { bands: [{ rows, columns, top }], lens, answers, only } = sceneOf(canvas);
  const seen = columns.filter(({ x0, x1 }) => x1 > x0);
  return {
    rows: rows.map((row) => ({ right: x + columns[0].x0 - 14, y: y + row.y + 5 })),
    titles: seen.map(({ x0 }) => ({ left: x + x0 + 8, y: y + top - 12 })),
    guesses: only ? [{ left: x + 2, y: y + lens }] : seen.map(({ x1 }) => ({ right: x + x1 - 6, y: y + lens })),
    answers: [...Array(6).keys()].map((i) => ({ left: x + answers.x, y: y + answers.y + i * answers.step + 14 })),
  };
}"""


@contextmanager
def waiting_page(page: "Page", url: str, answer: str = "models") -> "Iterator[None]":
    """The page at an address, while its script waits for an answer; drawn and measured afterwards."""
    held: list[Route] = []
    page.route(f"**/api/{answer}", lambda route: held.append(route))  # noqa: PLW0108 (Playwright marks it)
    page.goto(url)
    if answer == "models":
        page.wait_for_function("() => document.querySelector('.outlines')")
    while not held:
        page.wait_for_timeout(20)
    yield
    for route in held:
        route.continue_()
    page.unroute(f"**/api/{answer}")
    page.wait_for_selector('body[data-state="ready"]')


def assert_unmoved(painted: list[dict[str, Any]], drawn: list[dict[str, float]], what: str) -> None:
    for label in drawn:
        assert any(all(abs(one[side] - at) <= 1 for side, at in label.items()) for one in painted), (
            what,
            label,
            painted,
        )


@pytest.mark.parametrize(
    ("width", "height", "lang"),
    [(1440, 900, "en"), (1280, 720, "ja"), (1024, 768, "en"), (390, 844, "en"), (390, 844, "ja")],
)
def test_the_script_moves_no_label(open_page: "Callable[..., Page]", width: int, height: int, lang: str) -> None:
    page = open_page(viewport={"width": width, "height": height})
    with waiting_page(page, f"/?start&lang={lang}"):
        painted = page.evaluate(PAINTED)
    expect(page.locator(".first")).to_have_count(0)
    drawn = page.get_by_test_id("river").evaluate(DRAWN)
    assert len(drawn["rows"]) == 14
    for what, labels in drawn.items():
        assert_unmoved(painted, labels, what)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_nothing_jumps_when_the_first_trace_comes(open_page: "Callable[..., Page]", width: int, height: int) -> None:
    places = """() => ['.tok:nth-last-of-type(1)', '.sentences b.q', '.sentences b.said', '.start', '.river canvas']
      .map((name) => [...document.querySelectorAll(name)].find((one) => one.checkVisibility()))
      .map((one) => one && one.getBoundingClientRect()).map((box) => box && [box.left, box.top])"""
    page = open_page(viewport={"width": width, "height": height})
    with waiting_page(page, "/?start", "trace"):
        *before, canvas = page.evaluate(places)
        assert canvas is None, "the trace is awaited"
        assert None not in before
    expect(page.locator(".first")).to_have_count(0)
    *after, _ = page.evaluate(places)
    for was, now in zip(before, after, strict=True):
        assert now == pytest.approx(was, abs=5), "the tokens of a phone are scrolled by the script"


@pytest.mark.parametrize("url", ["/?theme=dark#text=" + TEXT, "/?text=" + TEXT])
def test_a_link_to_something_else_never_shows_it(open_page: "Callable[..., Page]", url: str) -> None:
    page = open_page()
    with waiting_page(page, url):
        assert page.locator(".first").count() == 0 or page.locator(".first").is_hidden()
    assert page.locator(".first").count() == 0


def test_it_plays_once_for_those_who_want_motion(open_page: "Callable[..., Page]") -> None:
    moving = "() => document.querySelector('.first').getAnimations({ subtree: true }).length"
    lasts = """() => Math.max(...document.querySelector('.first').getAnimations({ subtree: true })
      .map(({ effect }) => effect.getComputedTiming().endTime))"""
    page = open_page(reduced_motion="no-preference")
    with waiting_page(page, "/?start"):
        assert page.evaluate(moving) > 0
        assert page.evaluate(lasts) == 1500
        assert page.locator(".first text").count() > 0
    expect(page.locator(".first")).to_have_count(0)
    page.emulate_media(reduced_motion="reduce")
    with waiting_page(page, "/?start"):
        assert page.evaluate(moving) == 0


def test_whoever_acts_has_the_real_river(open_page: "Callable[..., Page]") -> None:
    page = open_page(reduced_motion="no-preference")
    page.route("**/api/explain/effects", lambda route: None)  # never measured
    page.goto("/?start")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.locator(".first")).to_have_count(1)
    page.get_by_test_id("river").hover()
    expect(page.locator(".first")).to_have_count(0)


def leave(page: "Page") -> None:
    page.evaluate("() => dispatchEvent(new PageTransitionEvent('pagehide'))")


def test_a_returning_visitor_finds_what_they_had(open_page: "Callable[..., Page]") -> None:
    page = open_page()
    page.goto("/?view=residual#text=" + TEXT)
    page.wait_for_selector('body[data-state="ready"]')
    leave(page)
    with waiting_page(page, "/?start"):
        assert page.locator(".first").is_hidden()
    expect(page.get_by_test_id("sentence")).to_have_value(TEXT)
    assert "view=residual" in page.url
    assert page.locator('[data-station="residual"]').is_visible()
    expect(page.get_by_test_id("continued")).to_contain_text("Continued where you left off")
    page.get_by_test_id("token").first.click()
    expect(page.get_by_test_id("continued")).to_have_count(0)
    leave(page)
    page.goto("/?start")
    page.get_by_test_id("to-start").click()
    expect(page.get_by_test_id("start")).to_be_visible()


def test_on_a_phone_the_way_to_the_start_page_is_over_an_open_sheet(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.goto("/?drawer=cache#text=" + TEXT)
    page.wait_for_selector('body[data-state="ready"]')
    leave(page)
    page.goto("/?start")
    expect(page.locator(".panel.kv")).to_be_visible()
    page.get_by_test_id("to-start").tap()
    expect(page.get_by_test_id("continued")).to_have_count(0)
    expect(page.get_by_test_id("start")).to_be_visible()


def test_the_name_of_the_app_leads_to_the_start_page(open_page: "Callable[..., Page]") -> None:
    page = open_page()
    page.goto("/?view=residual#text=" + TEXT)
    page.wait_for_selector('body[data-state="ready"]')
    page.locator(".brand").click()
    expect(page.get_by_test_id("start")).to_be_visible()
    expect(page.get_by_test_id("sentence")).to_have_value(TEXT)
    page.go_back()
    expect(page.get_by_test_id("start")).to_be_hidden()
    assert "view=residual" in page.url
    page.locator(".brand").click()
    expect(page.get_by_test_id("start")).to_be_visible()
    leave(page)
    page.goto("/?start")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.get_by_test_id("start")).to_be_visible()


def test_a_visitor_who_types_replaces_the_sentence(open_page: "Callable[..., Page]") -> None:
    page = open_page()
    page.goto("/?start")
    page.wait_for_selector('body[data-state="ready"]')
    page.keyboard.type("The dog")
    expect(page.get_by_test_id("sentence")).to_have_value("The dog")
    expect(page.get_by_test_id("start")).to_be_hidden()
    page.keyboard.press("Escape")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.type("s")
    expect(page.get_by_test_id("sentence")).to_have_value("The dogs")


def test_a_sentence_typed_on_the_start_page_gets_the_picture_of_a_reload(open_page: "Callable[..., Page]") -> None:
    """Its field, which is higher than the tokens that take its place, goes after the picture was drawn."""
    page = open_page(viewport={"width": 1280, "height": 720})
    page.goto("/?start&river.shown=on")
    page.wait_for_selector('body[data-state="ready"]')
    canvas = page.locator("[data-drawing]").first
    text = "Once there was a little girl named Lily. She had a red ball and a blue car, and one day she lost the red"
    page.keyboard.type(text)
    page.wait_for_function("(text) => document.querySelector('.page').dataset.traced?.includes('lost')", arg=text)
    page.wait_for_selector('body[data-state="ready"]')
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    typed = canvas.bounding_box()
    page.reload()
    page.wait_for_selector('body[data-state="ready"]')
    assert typed == canvas.bounding_box()
