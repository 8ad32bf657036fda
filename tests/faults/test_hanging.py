"""A server that takes connections and answers nothing, and what the page says meanwhile."""

import signal
from typing import TYPE_CHECKING

from tests.browser.conftest import browser  # noqa: F401  a fixture
from tests.browser.shared_page import UNSEEN
from tests.faults.victim import Victim

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HURRY = """
  const wait = setTimeout, timeout = AbortSignal.timeout;
  window.setTimeout = (call, ms, ...more) => wait(call, ms >= 3000 ? ms / 10 : ms, ...more);
  AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms / 10);
"""
"""The page's patience lasts a tenth."""


def test_the_page_says_that_the_server_hangs_and_goes_on_when_it_answers(victim: Victim, browser: "Browser") -> None:  # noqa: F811
    from playwright.sync_api import expect

    with browser.new_page(base_url=victim.url, locale="en-US", reduced_motion="reduce") as page:
        page.add_init_script(HURRY)
        page.add_init_script(UNSEEN)
        page.goto("/?model=stories-gpt&view=tokens&level=everything&river.shown=off#text=Once")
        page.wait_for_selector("body[data-state=ready]")
        victim.process.send_signal(signal.SIGSTOP)
        try:
            page.get_by_test_id("sentence").fill("Once upon a time")
            expect(page.get_by_test_id("banner")).to_contain_text("The server does not answer")
        finally:
            victim.process.send_signal(signal.SIGCONT)
        expect(page.get_by_test_id("banner")).to_be_hidden()
        expect(page.get_by_test_id("sentence")).to_have_value("Once upon a time")
        page.wait_for_selector("body[data-state=ready]")
