"""The path of a typed sentence in static/README.md is the one that it takes."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.test_readme import stops

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.cold

STACK = """
Error.stackTraceLimit = 100;
const send = window.fetch;
window.fetch = (path, ...more) => {
  if (path === "/api/trace") window.stack ??= new Error().stack;
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
