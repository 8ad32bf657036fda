"""Code is loaded when it is first needed: late code draws the newest state, and a failed load is shown and repeated."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import all_heads, open_more, to_station

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.cold

TEXT = "text=The cat sat on the mat."
CODE = "**/static/views/qkv.js"
DRAWING = r"views/(?:\w+/draw|decay|gate|qkv|rotation|tokens)\.js"

# How many labels of a matrix and lines of arithmetic each rehearsal drew (shell/rehearsal.js).
REHEARSALS = """window.rehearsals = [];
new MutationObserver((changes) => {
  for (const { addedNodes } of changes)
    for (const node of addedNodes)
      if (node.className === 'rehearsal')
        window.rehearsals.push(['.overlay text', '.card-line'].map((one) => node.querySelectorAll(one).length));
}).observe(document, { childList: true, subtree: true })"""


def open_page(page: "Page", query: str = TEXT) -> list[str]:
    """Open a page; returns the paths of the modules that it loads from now on."""
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url.split("/static/")[-1]))
    page.goto(f"/?{query}")
    ready(page)
    return loaded


def ready(page: "Page") -> None:
    page.wait_for_selector('body[data-state="ready"]')


def test_a_load_is_few_requests(page: "Page") -> None:
    """Modules are joined: what the start needs is one file, and so is each view that is loaded later.

    What views share comes once.
    """
    asked: list[str] = []
    scripts: list[str] = []
    page.on("response", lambda answer: scripts.append(answer.url) if answer.url.endswith(".js") else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/")
    page.wait_for_selector('body[data-state="empty"]')
    assert len(asked) <= 40
    asked.clear()
    page.goto(f"/?level=everything&{TEXT}")
    ready(page)
    page.wait_for_load_state("networkidle")
    assert len(asked) <= 70
    texts = [page.request.get(url).text() for url in set(scripts)]
    assert sum('("chart/matrix/matrix.js", (' in text for text in texts) == 1
    asked.clear()
    page.goto("/?debug")
    page.wait_for_selector('body[data-state="empty"]')
    assert any(url.endswith("/static/single/ui/dom.js") for url in asked), "each file by itself"


def test_a_station_loads_its_code_when_it_is_pointed_at(page: "Page") -> None:
    """Late code draws the newest state, and only where it is shown."""

    def drawings() -> set[str]:
        return {path for path in loaded if re.fullmatch(DRAWING, path)}

    ahead = {"views/tokens.js", "views/attention/draw.js"}
    with page.expect_response("**/static/views/attention/draw.js"):  # the first head that is opened needs it
        loaded = open_page(page, TEXT + "&layer=0&head=0&view=tokens")
    assert drawings() == ahead
    with page.expect_response("**/static/views/av/draw.js"):
        page.locator("[data-testid=station][data-view=av]").hover()
    to_station(page, "av")
    ready(page)
    expect(page.locator("[data-station=av] h1")).to_be_visible()
    assert drawings() == {*ahead, "views/av/draw.js"}

    held: list[Route] = []

    def hold(route: "Route") -> None:
        held.append(route)

    page.route(CODE, hold)
    to_station(page, "qkv")
    page.wait_for_selector("body[data-state=loading] [data-station=qkv]", state="attached")
    to_station(page, "tokens")
    ready(page)
    expect(page.locator("[data-station=tokens] h1")).to_be_visible()

    to_station(page, "qkv")
    all_heads(page)
    page.locator("canvas[data-layer='1'][data-head='2']").click()
    page.wait_for_selector("body[data-state=loading]")
    assert page.locator("[data-station=qkv] *").count() == 0
    held[0].continue_()
    ready(page)
    expect(page.locator("[data-station=qkv]").get_by_test_id("opened-title")).to_contain_text("2")
    assert "head=2" in page.url
    assert len(held) == 1, "one request, however often it was asked for"


def test_code_that_does_not_come_is_told_and_comes_later(page: "Page", page_errors: list[str]) -> None:
    """A menu and a station wait for a server that is away; an error in the code is shown in its place."""
    open_page(page)
    banner = page.get_by_test_id("banner")
    with away(page, "**/static/shell/export_items.js"):
        open_more(page)
        page.get_by_test_id("export").click()
        expect(banner).to_contain_text("does not answer")
    expect(page.get_by_test_id("export-png")).to_be_visible()
    expect(banner).to_be_hidden()
    page.keyboard.press("Escape")

    with away(page, CODE):
        to_station(page, "qkv")
        expect(banner).to_contain_text("does not answer")
    ready(page)
    expect(page.locator("[data-station=qkv] h1")).to_be_visible()
    expect(banner).to_be_hidden()

    broken = "**/static/views/av/draw.js"
    page.route(broken, lambda route: route.fulfill(status=404))
    to_station(page, "av")
    ready(page)
    problem = page.locator("main .panel-error")
    expect(problem).to_contain_text("could not be drawn")
    expect(banner).to_be_hidden()
    page.unroute(broken)
    all_heads(page)
    page.locator("canvas[data-layer='1'][data-head='2']").click()  # the next change tries again
    expect(page.locator("[data-station=av] h1")).to_be_visible()
    expect(problem).to_have_count(0)
    page_errors.clear()  # the browser's own words about the lost requests


@contextmanager
def away(page: "Page", code: str) -> Iterator[None]:
    """Neither this code nor the file that the page asks for to see whether the server is back."""
    lost = (code, "**/static/joined.js")
    for path in lost:
        page.route(path, lambda route: route.abort())
    yield
    for path in lost:
        page.unroute(path)


def test_an_opened_file_needs_no_server(page: "Page", tmp_path: Path) -> None:
    """Not for a station that is opened later, either."""
    asked = open_page(page)
    open_more(page)
    page.get_by_test_id("export").click()
    with page.expect_download() as saved:
        page.get_by_test_id("export-safetensors").click()
    saved.value.save_as(file := tmp_path / "cat.safetensors")
    with page.expect_response("**/static/views/computation/draw.js"), page.expect_response(CODE):
        page.get_by_test_id("file-input").set_input_files(file)
    expect(page.get_by_test_id("file-banner")).to_be_visible()
    modules = [path for path in asked if re.fullmatch(r"(stations|panels|learn|river|chart)/.*\.js", path)]
    page.evaluate("(paths) => Promise.all(paths.map((path) => import(`/static/${path}`))).then(() => null)", modules)
    page.context.set_offline(True)
    for view in ("qkv", "attention", "av", "computation", "tokens"):
        page.get_by_test_id("walk-through").click() if view == "computation" else to_station(page, view)
        ready(page)
        expect(page.locator(f"[data-station={view}] h1").first).to_be_visible()
    expect(page.get_by_test_id("banner")).to_be_hidden()


def test_opening_a_head_styles_what_is_new_and_not_the_page(page: "Page") -> None:
    """All of the page inherits a custom property that is set on it, so the browser would style all of it again.

    Before, its views were drawn once out of sight, from no numbers of the server; nothing of it stays.
    """
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.add_init_script(REHEARSALS)
    open_page(page, TEXT + "&layer=0&head=0&view=tokens")
    page.wait_for_function("window.rehearsals.length > 0")
    page.wait_for_load_state("networkidle")
    ((labels, lines),) = page.evaluate("window.rehearsals")
    assert labels >= 2 * page.get_by_test_id("token").count(), "its matrix has its size"
    assert lines >= 8, "the arithmetic beside it, too"
    assert page.locator(".rehearsal").count() == 0
    assert not [url for url in asked if url.endswith("/api/weights")]
    assert len([url for url in asked if url.endswith("/api/trace")]) == 1
    session = page.context.browser.new_browser_cdp_session()  # type: ignore[union-attr]
    events: list[dict] = []
    session.on("Tracing.dataCollected", lambda found: events.extend(found["value"]))
    ended: list[bool] = []
    session.on("Tracing.tracingComplete", lambda _: ended.append(True))
    session.send("Tracing.start", {"traceConfig": {"includedCategories": ["devtools.timeline"]}})
    to_station(page, "attention")
    page.wait_for_selector('[data-station="attention"] .overlay text')
    everything = page.locator("body *").count()
    session.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(20)
    styled = [one["args"].get("elementCount", 0) for one in events if one["name"] == "UpdateLayoutTree"]
    assert 0 < max(styled) < everything / 3, (everything, styled)
