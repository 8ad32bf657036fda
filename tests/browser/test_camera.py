"""Between the whole model and a place in it the page moves by a view transition, which loses no click."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.test_mount import MOUNT_ANOTHER

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT = "Tom saw a red car."

WATCH = """() => {
  window.moves = [];
  const start = (window.startOfOwn ??= document.startViewTransition.bind(document)); // tests share a document
  document.startViewTransition = (draw) => {
    const transition = start(draw);
    const names = () => [...document.querySelectorAll('*')]
      .map((one) => getComputedStyle(one).viewTransitionName).filter((name) => name !== 'none');
    const move = { before: names(), after: null, ready: null };
    moves.push(move);
    transition.updateCallbackDone.then(() => (move.after = names()));
    transition.ready.then(() => {
      move.ready = true;
      if (!window.hold) return; // a busy machine would be done before the click
      const ofMove = ({ effect }) => effect.pseudoElement?.startsWith('::view-transition');
      window.held = document.getAnimations().filter(ofMove);
      for (const one of held) one.pause();
    }, () => (move.ready = false));
    transition.finished.then(() => (move.finished = true));
    return transition;
  };
}"""

# Opens head 1 of layer 1 in the river, and clicks a token as soon as the page moves.
OPEN_AND_CLICK = """async (canvas) => {
  const { sceneOf } = await import('/static/river/board.js');
  const square = sceneOf(canvas).squares.find(({ layer, head }) => layer === 1 && head === 1);
  const { x, y } = canvas.getBoundingClientRect();
  return [x + square.x + square.width / 2, y + square.y + square.height / 2];
}"""


def opened(open_page: "Callable[..., Page]", **media: Any) -> "Page":
    page = open_page(viewport={"width": 1440, "height": 900}, **media)
    page.goto(f"/?view=model&text={TEXT}")
    page.wait_for_selector('body[data-state="ready"]')
    page.evaluate(WATCH)
    return page


def test_a_click_while_the_camera_moves_is_not_lost(open_page: "Callable[..., Page]") -> None:
    page = opened(open_page, reduced_motion="no-preference")
    x, y = page.get_by_test_id("river").evaluate(OPEN_AND_CLICK)
    token = page.get_by_test_id("token").nth(2)
    box = token.bounding_box()
    assert box
    page.evaluate("() => { window.hold = true; }")
    page.mouse.click(x, y)
    page.wait_for_function("() => window.held?.length && moves[0].after")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert not page.evaluate("() => moves[0].finished"), "the click came while it moved"
    expect(token).to_contain_class("q")
    page.evaluate("() => { window.hold = false; held.forEach((one) => one.finish()); }")
    page.wait_for_function("() => moves[0].finished")
    assert "view=attention" in page.url
    page.keyboard.press("Escape")
    page.wait_for_function("() => moves[1]?.finished")
    for move in page.evaluate("() => moves"):
        assert move["ready"]
        assert len(set(move["before"])) == len(move["before"]) >= 1
        assert len(set(move["after"])) == len(move["after"]) >= 1
    assert page.evaluate("() => moves[0].before.length") == 2
    assert page.locator(".in-camera").count() == 0


# Each animation of an element stays at its beginning, and is remembered.
STILL = """() => {
  window.slid = [];
  const animate = (window.animateOfOwn ??= Element.prototype.animate);
  Element.prototype.animate = function (...how) {
    const animation = animate.apply(this, how);
    animation.pause();
    slid.push(animation);
    return animation;
  };
}"""

ROWS = """async (canvas) => {
  const [{ top, bottom }] = (await import('/static/river/board.js')).sceneOf(canvas).bands;
  const { y, height } = canvas.getBoundingClientRect();
  const scale = height / canvas.offsetHeight;
  return [y + top * scale, y + bottom * scale, document.querySelector('.say').getBoundingClientRect().y];
}"""


def test_from_the_start_page_the_rows_begin_where_they_were(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 1440, "height": 900}, reduced_motion="no-preference")
    page.goto("/?start")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.locator(".first")).to_have_count(0)
    page.evaluate(STILL)
    river = page.get_by_test_id("river")
    was = river.evaluate(ROWS)
    page.get_by_test_id("start-step").click()
    page.wait_for_function("() => slid.some(({ effect }) => /scaleY/.test(effect.getKeyframes()[0].transform))")
    top, _, said = river.evaluate(ROWS)
    assert (top, said) == pytest.approx((was[0], was[2]), abs=1)
    page.evaluate("() => slid.forEach((one) => one.playState === 'paused' && one.finish())")
    expect(page.get_by_test_id("gen-step")).to_be_visible()
    top, bottom, said = river.evaluate(ROWS)
    assert top > was[0]
    assert bottom - top < was[1] - was[0]
    assert said > was[2]
    page.evaluate("() => { Element.prototype.animate = animateOfOwn; }")


def test_back_from_a_sheet_the_start_page_fills_its_window(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 1280, "height": 720}, reduced_motion="no-preference")
    page.goto("/?view=model&drawer=generation&text=Tom lost his red car. Tom was sad. Mom found the red")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.get_by_test_id("close-drawer")).to_be_visible()
    page.evaluate(STILL)  # until it is drawn anew the picture is held where it was
    page.locator(".brand").click()
    page.wait_for_function("() => slid.some(({ effect }) => /scaleY/.test(effect.getKeyframes()[0].transform))")
    ends = page.get_by_test_id("start").evaluate("(cards) => cards.getBoundingClientRect().bottom")
    assert ends == pytest.approx(720, abs=2)
    expect(page.locator(".start-key")).to_be_visible()
    page.evaluate("() => { Element.prototype.animate = animateOfOwn; slid.forEach((one) => one.finish()); }")


def test_one_transition_in_a_document_of_two_pages(open_page: "Callable[..., Page]") -> None:
    page = opened(open_page, reduced_motion="no-preference")
    page.evaluate(MOUNT_ANOTHER, "A dog ran away.")
    page.wait_for_selector('div.page[data-state="ready"]')
    page.evaluate("() => another.set({ view: 'attention' })")
    page.wait_for_selector("div.page [data-station=attention]")
    assert page.evaluate("() => moves.length") == 0
    page.locator("body > main").get_by_test_id("station-list").first.select_option("ffn")
    page.wait_for_function("() => moves[0]?.finished")
    assert page.evaluate("() => moves.length") == 1
    assert page.evaluate("() => moves[0].ready")


def test_steps_and_still_pages_do_not_move(open_page: "Callable[..., Page]") -> None:
    page = opened(open_page)
    x, y = page.get_by_test_id("river").evaluate(OPEN_AND_CLICK)
    page.mouse.click(x, y)
    page.wait_for_selector("[data-station=attention]")
    page.emulate_media(reduced_motion="no-preference")
    page.get_by_test_id("gen-step").click()
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("station").and_(page.locator("[data-view=qkv]")).first.click()
    page.wait_for_selector("[data-station=qkv]")
    assert page.evaluate("() => moves.length") == 0
