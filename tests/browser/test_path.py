"""The path of a typed sentence in static/README.md is the one that it takes, and no change asks for anything twice."""

import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.browser.helpers import all_heads, settled, show_pads
from tests.browser.test_camera import OPEN_AND_CLICK
from tests.test_readme import stops

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

pytestmark = pytest.mark.cold

STACK = """
Error.stackTraceLimit = 100;
const send = window.fetch;
window.fetch = (path, ...more) => {
  if (String(path).endsWith("api/trace")) window.stack ??= new Error().stack;
  return send(path, ...more);
};
"""


def test_a_sentence_takes_the_path_that_is_written_down(page: "Page") -> None:
    """The first key is traced at once, so the call stack of its request begins with the input event."""
    page.add_init_script(STACK)
    page.goto("/?debug&text=")
    page.wait_for_selector('body[data-state="empty"]')
    page.get_by_test_id("sentence").press("H")
    stack = page.wait_for_function("() => window.stack").json_value()
    passed = list(dict.fromkeys(reversed(re.findall(r"/static/single/([\w/]+\.js)", stack))))
    written = stops("static")
    assert passed == [stop for stop in written if stop in passed]
    assert (passed[0], passed[-1]) == (written[0], written[-1])
    assert len(passed) >= 9


TEXT = "Tom lost his red car. Tom was sad. Mom found the red"

# In every document, before its scripts: whether nothing is left to do. Each step of an answer, and whatever the page
# puts off for less than a second, is a task of its thread: eight frames without one, and nothing is on its way.
QUIET = """(() => {
  const later = new Set();
  for (const [put, end] of [['setTimeout', 'clearTimeout'], ['requestIdleCallback', 'cancelIdleCallback']]) {
    const [own, ends] = [window[put], window[end]];
    window[put] = (act, how, ...more) => {
      const id = own((...all) => { later.delete(`${put} ${id}`); act(...all); }, how, ...more);
      if (!(how >= 1000)) later.add(`${put} ${id}`);
      return id;
    };
    window[end] = (id) => { later.delete(`${put} ${id}`); ends(id); };
  }
  window.isQuiet = async () => {
    for (let frame = 0; frame < 8; frame++) {
      await new Promise((next) => requestAnimationFrame(next));
      if (later.size > 0) return false;
    }
    return true;
  };
})()"""


class Asked:
    """The requests of each change, and whether all of them have been answered."""

    def __init__(self, page: "Page") -> None:
        self.page, self.seen, self.paused = page, Counter[str](), 0
        self.open: set[Request] = set()
        page.add_init_script(QUIET)
        page.on("request", self.sent)
        page.on("requestfinished", self.answered)
        page.on("requestfailed", self.answered)

    def sent(self, request: "Request") -> None:
        if request.url.endswith("/explain/ablations"):
            self.paused += 1  # once for each run that a reader pauses at
        elif "/api/" in request.url:
            self.seen[request.url.rpartition("/api/")[2]] += 1
            self.open.add(request)

    def answered(self, request: "Request") -> None:
        self.open.discard(request)

    def by(self, act: Callable[[], object]) -> dict[str, int]:
        """What a change asks for, until nothing more is asked for."""
        self.seen.clear()
        act()
        settled(self.page)
        while True:
            before, answered = self.seen.total(), not self.open  # what an answer leads to comes after it
            is_quiet = self.page.evaluate("() => window.isQuiet()")  # `wait_for_function` would not await it
            if is_quiet and answered and not self.open and self.seen.total() == before:
                return dict(self.seen)


# The second request for effects is for one number, the effect of the edit that the sentence offers: which edit that is
# follows from the first.
WHOLE = {"trace": 1, "explain/route": 1, "explain/lens": 1, "explain/effects": 2}


def test_a_change_asks_for_each_thing_once(page: "Page") -> None:
    asked = Asked(page)
    page.goto(f"/?view=model&text={TEXT}")
    asked.by(lambda: None)
    page.get_by_test_id("edit").click()
    assert asked.by(lambda: page.get_by_test_id("sentence").fill(TEXT.replace("his", "her"))) == WHOLE
    assert asked.by(page.get_by_test_id("switch-causal").click) == WHOLE
    assert asked.by(page.get_by_test_id("switch-causal").click) == {}, "it was here before"
    show_pads(page)
    assert asked.by(page.get_by_test_id("pads-more").click) == WHOLE
    # The row of another token predicts another one, here with and without the PAD, which has other effects. Here
    # nothing that is hidden lowers it.
    assert asked.by(page.get_by_test_id("token").nth(5).click) == {"trace": 2, "explain/effects": 1}
    assert asked.paused <= 5  # what the heads do is asked for at most once a change


def test_a_head_asks_for_one_trace_and_a_step_for_one_token(page: "Page") -> None:
    asked = Asked(page)
    page.goto(f"/?view=attention&river.shown=off&temperature=0&text={TEXT}")
    asked.by(lambda: None)
    all_heads(page)
    other = {
        "trace": 1,
        "weights": 1,
        "explain/writes": 1,
    }  # its numbers, its part of W_O, and the words that it writes
    assert asked.by(page.get_by_test_id("head").nth(11).click) == other
    assert asked.by(page.get_by_test_id("head").nth(11).click) == {}
    # Switched off, it is another run: one trace with the answer of the chosen row. The answer before it is here.
    assert asked.by(page.get_by_test_id("head-eye").click) == {"trace": 1, "explain/writes": 1}
    assert asked.by(page.get_by_test_id("edit-undo").click) == {}
    # The answer of a step has what the page draws of it; the open head's numbers are a trace.
    assert asked.by(page.get_by_test_id("gen-step").click) == {"generate": 1, "trace": 1, "explain/writes": 1}
    assert asked.by(page.get_by_test_id("gen-back").click) == {
        "trace": 1,
        "explain/writes": 1,
    }  # the prompt, now as token ids
    assert asked.by(page.get_by_test_id("gen-step").click) == {"generate": 1}


def test_the_numbers_of_a_head_are_fetched_while_it_is_pressed(page: "Page") -> None:
    asked = Asked(page)
    page.goto(f"/?view=attention&river.shown=off&temperature=0&text={TEXT}")
    asked.by(lambda: None)
    all_heads(page)
    page.get_by_test_id("head").nth(11).hover()
    assert asked.by(page.mouse.down) == {"trace": 1, "weights": 1}
    assert asked.by(page.mouse.up) == {"explain/writes": 1}
    page.goto(f"/?view=model&text={TEXT}")
    asked.by(lambda: None)
    x, y = page.get_by_test_id("river").evaluate(OPEN_AND_CLICK)
    page.mouse.move(x, y)
    assert asked.by(page.mouse.down) == {"trace": 1, "weights": 1}, "of a head in the whole model, too"
