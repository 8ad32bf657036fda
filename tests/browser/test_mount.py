"""A page is mounted below any element, even twice in one document; importing its modules has no effect."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.helpers import drawn

if TYPE_CHECKING:
    from playwright.sync_api import Page

STATIC = Path(__file__).parent.parent.parent / "static"
SCRIPTS = {"main.js", "theme.js", "export/offline_page.js"}  # modules that are meant to act when they are imported

MOUNT_ANOTHER = """async (text) => {
  const { mount } = await import('/static/page.js');
  const { createStore, DEFAULTS } = await import('/static/state/store.js');
  const api = await import('/static/data/api.js');
  const { createModels } = await import('/static/data/models.js');
  const models = createModels(await api.models(), api);
  const root = document.createElement('div');
  root.className = 'page';
  document.body.append(root);
  window.another = createStore({ ...DEFAULTS, model: models.first, text });
  await mount(root, window.another, { models, examples: { examples: [] } }).drawn;
}"""
TRACED = """() => [document.body, document.querySelector('div.page')].map((root) => {
  const { state, traced } = root.dataset;
  const sentence = root.querySelector(':scope > section [data-testid=sentence]');
  return [state, traced && JSON.parse(traced).text, sentence.value];
})"""
TWICE = """() => {
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  return ids.filter((id, at) => ids.indexOf(id) !== at);
}"""
LOST = """() => ['aria-controls', 'aria-labelledby', 'aria-describedby', 'for'].flatMap((name) =>
  [...document.querySelectorAll(`[${name}]`)].flatMap((one) =>
    one.getAttribute(name).split(' ').filter((id) => {
      const own = (node) => node.closest('div.page');
      const at = document.getElementById(id);
      return !at || own(at) !== own(one);
    })))"""
# The glossary's card comes after the picture, when the browser is idle: the page's last listener, and its only one that
# captures keys.
COMPLETE = "() => watched.listeners.some(([, type, , options]) => type === 'keydown' && options?.capture)"
# Everything that a module could do to a document while it is imported.
WATCH = """() => {
  window.did = [];
  const watch = (owner, name) => {
    const own = owner[name];
    owner[name] = function (...more) { window.did.push(name); return own.apply(this, more); };
  };
  for (const name of ['fetch', 'matchMedia', 'setTimeout', 'setInterval', 'requestAnimationFrame']) watch(window, name);
  for (const name of ['getItem', 'setItem']) watch(Storage.prototype, name);
  for (const name of ['createElement', 'createElementNS', 'querySelector', 'querySelectorAll', 'getElementById'])
    watch(Document.prototype, name);
  for (const name of ['pushState', 'replaceState']) watch(History.prototype, name);
  watch(EventTarget.prototype, 'addEventListener');
}"""


@pytest.mark.cold
def test_two_pages_in_one_document_leave_each_other_alone(page: "Page") -> None:
    page.goto("/?text=The cat sat.")
    page.wait_for_selector('body[data-state="ready"]')
    address = page.url
    page.evaluate(MOUNT_ANOTHER, "A dog ran away.")
    page.wait_for_selector('div.page[data-state="ready"]')
    assert page.evaluate(TRACED) == [["ready", *["The cat sat."] * 2], ["ready", *["A dog ran away."] * 2]]

    page.locator("div.page").get_by_test_id("sentence").fill("A dog slept.")
    page.wait_for_function(
        "() => JSON.parse(document.querySelector('div.page').dataset.traced).text === 'A dog slept.'"
    )
    page.locator("div.page").get_by_test_id("switch-causal").click()
    page.wait_for_function("() => window.another.get().causal === false")
    # An edit may leave the tabs no room: then they are a list.
    tab, places = (page.locator("div.page").get_by_test_id(name) for name in ("station", "station-list"))
    tab = tab.and_(page.locator("[data-view=qkv]"))
    if tab.is_visible():
        tab.click()
    else:
        places.select_option("qkv")
    page.wait_for_selector('div.page[data-state="ready"] [data-station=qkv]')
    assert page.evaluate(TRACED) == [["ready", *["The cat sat."] * 2], ["ready", *["A dog slept."] * 2]]
    assert page.url == address, "the first page owns the address"
    assert page.locator("body > main [data-station=qkv]").count() == 0
    assert page.locator("body > main").get_by_test_id("switch-causal").get_attribute("aria-checked") == "true"

    page.locator("body > section").get_by_test_id("sentence").fill("The cat left.")
    page.wait_for_function("() => JSON.parse(document.body.dataset.traced).text === 'The cat left.'")
    page.wait_for_selector('body[data-state="ready"]')
    assert page.evaluate(TRACED) == [["ready", *["The cat left."] * 2], ["ready", *["A dog slept."] * 2]]
    assert page.evaluate(TWICE) == []
    assert page.evaluate(LOST) == []


def test_a_page_opened_anew_is_alone(page: "Page") -> None:
    """What all tests rely on that share a page: of the one before, no element, listener or timer is left."""
    listeners = []
    for text in ("The cat sat.", "A dog ran."):
        page.goto(f"/?text={text}")  # an open head: a document rehearses one only once (shell/rehearsal.js)
        drawn(page)
        assert page.evaluate("() => JSON.parse(document.body.dataset.traced).text") == text
        assert page.get_by_test_id("sentence").input_value() == text
        assert page.evaluate(TWICE) == []
        page.wait_for_function(COMPLETE)
        listeners.append(page.evaluate("() => window.watched.listeners.length"))
        page.get_by_test_id("sentence").press_sequentially("Not read yet.")  # its last letters are still to be traced
        page.evaluate("() => localStorage.setItem('chumoku.kept', 'yes')")
    assert listeners[0] == listeners[1] > 10
    assert page.evaluate("() => localStorage.getItem('chumoku.kept')") == "yes", "only another test is another reader"


@pytest.mark.cold
def test_reading_a_module_does_nothing(page: "Page") -> None:
    modules = sorted(str(path.relative_to(STATIC)) for path in STATIC.rglob("*.js"))
    type(page).goto(page, "/healthz")  # a document without any element of the page
    page.evaluate(WATCH)
    before = page.content()
    page.evaluate(
        "async (modules) => { for (const module of modules) await import(`/static/${module}`); }",
        sorted(set(modules) - SCRIPTS),
    )
    assert page.evaluate("window.did") == []
    assert page.content() == before
