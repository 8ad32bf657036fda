"""Between the whole model and a place in it the page moves by a view transition, which loses no click."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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


def test_one_transition_in_a_document_of_two_pages(open_page: "Callable[..., Page]") -> None:
    page = opened(open_page, reduced_motion="no-preference")
    page.evaluate(MOUNT_ANOTHER, "A dog ran away.")
    page.wait_for_selector('div.page[data-state="ready"]')
    page.evaluate("() => another.set({ view: 'attention' })")
    page.wait_for_selector("div.page [data-station=attention]")
    assert page.evaluate("() => moves.length") == 0
    page.locator("body > main").get_by_test_id("station").and_(page.locator("[data-view=ffn]")).first.click()
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
