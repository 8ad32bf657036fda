"""The start page and the places of the page: what is on one screen, in all families, both languages, light and dark."""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from chumoku.model.attribution.effects import Effects
from chumoku.model.attribution.knockouts import FfnPart, HeadPart, parts_of
from chumoku.model.attribution.logit_attribution import contributions
from chumoku.model.attribution.path_patching import PathPatching, Receiver, path_taps, writers_to
from chumoku.model.attribution.rollout import Edge
from chumoku.model.attribution.vocabulary import head_vocabulary
from chumoku.model.trace import trace
from tests.browser.helpers import (
    drawn,
    loaded,
    open_more,
    open_sampling,
    open_tools,
    requests_of_next,
    serious,
    settled,
    to_station,
    to_step,
    turn,
)
from tests.browser.shared_page import visit

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

TEXTS = {
    "decoder-only": "Tom lost his red car. Tom was sad. Mom found the red",
    "encoder-only": "The story is thin, but the actors are wonderful.",
    "encoder-decoder": "She sold her car yesterday.",
}
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
SVG = "{http://www.w3.org/2000/svg}"
SCREEN = {"width": 1440, "height": 900}
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

# The page's own words: not the sentence nor its tokens, wherever they are named, and not numbers.
WORDS = """() => {
  const words = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    const apart = '.tok, textarea, script, .sr-only, .says b, .says span, .river .foot + div';
    if (!parent.checkVisibility() || parent.closest(apart)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const { top, bottom, width } = range.getBoundingClientRect();
    const own = node.textContent.match(/[\\p{L}][\\p{L}’'-]*/gu) ?? [];
    if (width > 1 && bottom > 0 && top < innerHeight) words.push(...own);
  }
  return words;
}"""

TOP = "(one) => one.getBoundingClientRect().top"

# How far each title of a card is from its picture.
TITLES = """() => [...document.querySelectorAll('.start-card')].map((card) =>
  card.querySelector('.title').getBoundingClientRect().x - card.querySelector('svg').getBoundingClientRect().right)"""

SKIPPED_TO = """() => {
  const to = document.getElementById(document.querySelector('.skip').hash.slice(1));
  return [to.id, to.checkVisibility()];
}"""

HEADS = """async (canvas) => {
  const { squares, bands: [{ wrote }] } = (await import('/static/river/board.js')).sceneOf(canvas);
  const { top } = canvas.getBoundingClientRect();
  return {
    heads: Math.min(...squares.map(({ height }) => height)),
    bottom: top + Math.max(...squares.map(({ y, height }) => y + height)),
    watch: document.querySelector('[data-testid=river-watch]').getBoundingClientRect().bottom,
    wrote: wrote > 0,
  };
}"""

SMALLEST_TYPE = """() => Math.min(...[...document.querySelectorAll('body *')]
  .filter((one) => one.checkVisibility() && !one.closest('.sr-only, svg')
    && [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
  .map((one) => parseFloat(getComputedStyle(one).fontSize)))"""


@pytest.fixture
def open_page(request: pytest.FixtureRequest, open_page: "Callable[..., Page]") -> "Callable[..., Page]":
    """The tests of places follow each other on one page, except those that are `fresh`."""
    return partial(open_page, follower=None if request.node.get_closest_marker("fresh") else request.module)


def opened(page: "Page", view: str, family: str = "decoder-only", **more: Any) -> None:
    """The page of a family's sentence at a place, drawn."""
    page.goto("/?" + urlencode({"model": loaded(family).name, "text": TEXTS[family], "view": view} | more))
    page.wait_for_selector('body[data-state="ready"]')


@pytest.mark.fresh
@pytest.mark.parametrize("lang", ["en", pytest.param("ja", marks=pytest.mark.japanese)])
def test_the_start_page_has_few_words_and_controls(open_page: "Callable[..., Page]", lang: str) -> None:
    """The first example is open; three pictures, the other examples and the lesson are on the same screen."""
    page = open_page(viewport=LAPTOP, reduced_motion="no-preference")
    page.goto(f"/?start&lang={lang}")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.get_by_test_id("river-says")).to_contain_text(re.compile("Hide |隠す"))  # it is measured
    for part in (page.get_by_test_id("river-key"), page.locator(".start-click")):
        expect(page.locator(".start-key").locator(part)).to_be_visible()
    expect(page.locator(".start-card")).to_have_count(3)
    expect(page.locator(".first")).to_have_count(0)  # its words are those of the river below it
    controls = page.evaluate(CONTROLS)
    assert len(controls) <= 22, controls
    words = page.evaluate(WORDS)
    assert len(words) <= 45, " ".join(words)
    expect(page.locator(".start-what > .what:visible")).to_be_in_viewport(ratio=1)  # what the page is
    titles = page.evaluate(TITLES)
    assert titles == [pytest.approx(20, abs=1)] * 3
    river, cards = (page.locator(one).first.bounding_box() for one in (".river canvas", ".start-card"))
    assert river is not None
    assert cards is not None
    assert river["height"] >= 400, "it is the largest thing here"
    assert cards["height"] <= 115
    assert page.evaluate("() => document.documentElement.scrollHeight") <= LAPTOP["height"]
    assert page.evaluate("() => document.documentElement.scrollWidth") <= LAPTOP["width"]
    assert serious(page) == []
    for width in (820, PHONE["width"]):
        page.set_viewport_size({"width": width, "height": 1180})
        expect(page.get_by_test_id("start-step")).to_be_in_viewport(ratio=1)


FRAME = """async (canvas) => {
  const { answers, bands: [{ columns, titles }] } = (await import('/static/river/board.js')).sceneOf(canvas);
  const boxOf = (name) => document.querySelector(name).getBoundingClientRect();
  const text = ['header', '.brand', '.sentence .tok'].map(boxOf).flatMap(({ x, y, height }) => [x, y, height]);
  return [...text, ...['.say .says', '.river canvas'].map((name) => boxOf(name).x), answers.x, columns[0].x0, titles];
}"""


@pytest.mark.fresh
def test_what_the_start_page_shows_keeps_its_place(open_page: "Callable[..., Page]") -> None:
    """Header and text, and across the river and the prediction, when a layer opens. The river may lie lower."""
    page = open_page(viewport=LAPTOP)
    page.goto("/?start")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.locator(".first")).to_have_count(0)
    river = page.get_by_test_id("river")
    start = river.evaluate(FRAME)
    river.click(position={"x": 400, "y": 14})  # the name of a layer
    expect(page.get_by_test_id("start")).to_be_hidden()
    expect(page.get_by_test_id("crumb-layer")).to_be_visible()
    expect(page.get_by_test_id("river-legend").get_by_test_id("river-key")).to_be_visible()
    assert river.evaluate(FRAME) == pytest.approx(start, abs=2)


@pytest.mark.fresh
def test_the_start_page_leads_on_and_back_returns(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=LAPTOP)
    page.goto("/?start")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.get_by_test_id("gen-step")).to_be_hidden()
    expect(page.get_by_test_id("start-back")).to_be_hidden()
    step = page.get_by_test_id("start-step").bounding_box()
    assert step is not None
    page.get_by_test_id("start-step").click()
    expect(page.get_by_test_id("gen-step")).to_be_visible()
    expect(page.get_by_test_id("gen-step")).to_be_focused()  # Enter writes on
    assert page.get_by_test_id("gen-step").bounding_box() == pytest.approx(step, abs=0.5)  # under the same pointer
    page.mouse.click(step["x"] + step["width"] / 2, step["y"] + step["height"] / 2)
    expect(page.get_by_test_id("start")).to_be_hidden()
    expect(page.get_by_test_id("token")).to_have_count(16)  # both presses wrote
    page.locator(".brand").click()
    expect(page.get_by_test_id("start")).to_be_visible()
    expect(page.get_by_test_id("token")).to_have_count(16)  # what is written stays
    for left in (15, 14):  # and can be taken back here, too
        page.get_by_test_id("start-back").click()
        expect(page.get_by_test_id("token")).to_have_count(left)
        page.locator(".brand").click()
        expect(page.get_by_test_id("start")).to_be_visible()
    expect(page.get_by_test_id("start-back")).to_be_hidden()
    page.goto("/?start")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("start-translation").click()
    page.wait_for_url("**translate-enja**")
    assert "view=attention" not in page.url
    expect(page.get_by_test_id("river-says")).to_contain_text(re.compile("The model wrote 車 .*Hide car from 車 in"))
    expect(page.locator(".strip .tok.k")).to_contain_text("car")  # the source word that the sentence names
    lies = page.get_by_test_id("river").evaluate(TOP)
    page.get_by_test_id("edit").click()
    expect(page.get_by_test_id("target")).to_be_in_viewport(ratio=1)
    assert page.get_by_test_id("river").evaluate(TOP) == pytest.approx(lies, abs=4)  # the fields take the lines' places
    page.get_by_test_id("done").click()
    page.go_back()
    page.get_by_test_id("start-more").click()
    expect(page.get_by_test_id("example").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("example").first).to_be_hidden()


@pytest.mark.parametrize("family", TEXTS)
def test_the_whole_model_is_on_one_screen(open_page: "Callable[..., Page]", family: str) -> None:
    page = open_page(viewport={"width": 1440, "height": 900}, reduced_motion="no-preference")
    opened(page, "model", family)
    drawn = page.get_by_test_id("river").evaluate(HEADS)
    assert drawn["heads"] >= 25
    assert drawn["bottom"] <= 900
    assert drawn["wrote"] == (family == "encoder-decoder")
    # On a phone it begins on the first screen.
    page.set_viewport_size(PHONE)
    page.evaluate("new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)))")
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    box = page.get_by_test_id("river").bounding_box()
    assert box is not None
    assert box["y"] < 844 - 200  # at least its first rows


IN_SIGHT = """() => {
  const box = (name) => document.querySelector(name).getBoundingClientRect();
  const [sheet, river] = [box('.drawers'), box('[data-testid=river]')];
  const chosen = document.querySelector('.opened:not([hidden]) rect.chosen')?.getBoundingClientRect();
  return { path: box('.path').bottom, river: [river.top, river.bottom], sheet: sheet.top, end: sheet.bottom,
    chosen: chosen && [chosen.top, chosen.bottom], scrolled: scrollY };
}"""


SCROLLED_AND_RESIZED = """async () => {
  const head = document.querySelector('.opened .matrix-head').getBoundingClientRect();
  const covered = document.querySelector('.path').getBoundingClientRect().bottom;
  scrollBy({ top: head.top - covered + 35, behavior: 'instant' }); // by hand, amid a row
  const before = scrollY;
  document.querySelector('[data-panel=opened]').style.paddingBottom = '3px';
  for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  return scrollY - before;
}"""


@pytest.mark.parametrize("viewport", [(1440, 900), (1280, 720)])
def test_a_sheet_leaves_in_sight_what_it_speaks_of(open_page: "Callable[..., Page]", viewport: tuple[int, int]) -> None:
    """The whole model above it, in less height; of an open head the strip and the chosen row. Esc gives it back."""
    page = open_page(viewport={"width": viewport[0], "height": viewport[1]})
    opened(page, "model")
    before = page.evaluate(IN_SIGHT)
    for button in ("dock-cache", "dock-generation"):
        page.get_by_test_id(button).click()
        expect(page.get_by_test_id(button)).to_have_attribute("aria-pressed", "true")
        in_sight(page, f"path <= river[0] && river[1] <= sheet && end === {viewport[1]}")
        page.wait_for_function("document.querySelector('[data-testid=river]').clientHeight >= 150")
    page.keyboard.press("Escape")
    in_sight(page, f"river[1] === {before['river'][1]}")
    opened(page, "attention", layer=5, head=5, **{"river.shown": "on"})
    drawn(page)
    page.get_by_test_id("dock-cache").click()
    in_sight(page, "path <= river[0] && river[1] <= chosen?.[0] && chosen[1] <= sheet")
    assert page.evaluate(SCROLLED_AND_RESIZED) == 0, "where the reader scrolled to stays"
    page.keyboard.press("Escape")
    in_sight(page, "scrolled === 0")


def in_sight(page: "Page", condition: str) -> None:
    """Waits until what is seen is so: a sheet and what it speaks of are drawn one after the other."""
    names = "path, river, sheet, end, chosen, scrolled"
    page.wait_for_function(f"() => {{ const {{ {names} }} = ({IN_SIGHT})(); return {condition}; }}")


@pytest.mark.parametrize(("viewport", "least"), [((1440, 900), 29), ((1280, 720), 21)])
def test_the_rows_of_a_matrix_of_fourteen_tokens(
    open_page: "Callable[..., Page]", viewport: tuple[int, int], least: int
) -> None:
    width, height = viewport
    page = open_page(viewport={"width": width, "height": height})
    opened(page, "attention", layer=5, head=5)
    drawn(page)
    page.evaluate(PAINTED)
    assert page.get_by_test_id("token").count() == 14
    assert page.evaluate(CELL) >= least
    sheet = page.locator('[data-panel="opened"] .sheet').first.bounding_box()
    assert sheet is not None
    assert sheet["y"] + sheet["height"] <= height


def test_escape_leads_up(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=LAPTOP)
    opened(page, "attention", layer=5, head=5, drawer="generation", **{"river.shown": "on"})
    assert [one.inner_text() for one in page.locator(".crumbs > :not(.sep)").all()] == ["Model", "Layer 5", "Head 5·5"]
    page.locator("body").press("Escape")
    expect(page.locator("[data-panel=generation]")).to_be_hidden()
    page.locator("body").press("Escape")
    expect(page.get_by_test_id("crumb-layer")).to_have_attribute("aria-current", "location")
    page.locator("body").press("Escape")
    expect(page.get_by_test_id("crumb-model")).to_have_attribute("aria-current", "location")
    page.go_back()
    expect(page.get_by_test_id("crumb-layer")).to_be_visible()


def test_what_a_row_attends_to_is_set_against_what_its_answer_needs(open_page: "Callable[..., Page]") -> None:
    """Each key of the open row, hidden in the open head, then in all heads of its layer; a click chooses it."""
    page = open_page(viewport=LAPTOP)
    place = {"layer": 3, "head": 2, "query": 3, "key": 1}
    opened(page, "attention", drawer="rank", **{"rank.shows": "keys"}, **place)
    model = loaded("decoder-only")
    ids = model.tokenizer.encode(TEXTS["decoder-only"])
    run = trace(model, ids, ["logits", "layers.3.attn.pattern"])
    query = 3
    effects = Effects(model, ids, int(run.tensors["logits"][query].argmax()), row=query)
    rows = page.get_by_test_id("rank-key")
    for head, name in ((2, "head"), (None, "layer")):
        page.get_by_test_id(f"rank-scope-{name}").click()
        expect(page.locator(f"[data-testid=rank-key][data-scope={name}]")).to_have_count(query + 1)
        measured = effects.measure([Edge("self", 3, query, key, head) for key in range(query + 1)])
        told = {int(row.get_attribute("data-key") or 0): row.get_attribute("data-delta") for row in rows.all()}
        assert {key: float(delta or 0) for key, delta in told.items()} == pytest.approx(
            {key: one.delta for key, one in enumerate(measured)}, abs=1e-4
        )
    weights = run.tensors["layers.3.attn.pattern"][:, query].mean(0)
    most = int(weights.argmax())
    expect(rows.first).to_have_attribute("data-key", str(most))
    expect(page.get_by_test_id("rank-said")).to_contain_text(f"gets {round(float(weights[most]) * 100)}")
    assert serious(page, "[data-panel=rank]") == []
    page.locator("[data-testid=rank-point][data-key='0']").dispatch_event("click")
    expect(page).to_have_url(re.compile("key=0"))
    expect(page.locator("[data-testid=rank-point][data-key='0']")).to_have_class(re.compile("on"))


@pytest.mark.parametrize("family", list(TEXTS))
def test_what_each_part_writes_for_the_answer_is_a_sum(open_page: "Callable[..., Page]", family: str) -> None:
    """Against the mean logit, and against the next best answer."""
    page = open_page(viewport=LAPTOP)
    opened(page, "model", family, drawer="rank", **{"rank.shows": "direct"})
    said = page.get_by_test_id("direct-said")
    expect(said).to_contain_text("against the mean logit: +")
    expect(said).to_contain_text("✓")
    page.get_by_test_id("direct-against-second").click()
    expect(said).not_to_contain_text("the mean logit")
    expect(said).to_contain_text("✓")
    if family != "decoder-only":
        return
    model = loaded(family)
    ids = model.tokenizer.encode(TEXTS[family])
    best, other = trace(model, ids, ["logits"]).tensors["logits"][-1].topk(2).indices.tolist()
    found = contributions(model, ids, best, against=other)
    expect(said).to_contain_text(f"{found.logit:+.2f} = heads")
    rest = page.locator("[data-testid=direct-rest][data-part=embedding]")
    term = next(term.value for term in found.terms if term.part == "embedding")
    assert float(rest.get_attribute("data-value") or 0) == pytest.approx(term, abs=1e-4)


def test_a_head_is_shown_over_the_vocabulary(open_page: "Callable[..., Page]") -> None:
    """Of the open token: what the model's own weights give for it, without the sentence."""
    page = open_page(viewport=LAPTOP)
    opened(page, "attention", drawer="rank", **{"rank.shows": "vocabulary", "layer": 5, "head": 5, "query": 3})
    model = loaded("decoder-only")
    token = model.tokenizer.encode(TEXTS["decoder-only"])[3]
    found = head_vocabulary(model, token, attention="self", layer=5, head=5)
    expect(page.get_by_test_id("vocabulary-said")).to_contain_text("head 5·5 · copying score")
    for name, ids, values in (("matches", found.matches, found.scores), ("writes", found.writes, found.raised)):
        rows = page.get_by_test_id(f"vocabulary-{name}")
        expect(rows).to_have_count(len(ids))
        assert [int(row.get_attribute("data-id") or 0) for row in rows.all()] == ids
        shown = [float(row.get_attribute("data-value") or 0) for row in rows.all()]
        assert shown == pytest.approx(values.tolist(), abs=1e-4)


def test_another_sentence_is_patched_into_this_one(open_page: "Callable[..., Page]", page_errors: list[str]) -> None:
    """The offered sentence: the stream of the word that differs carries the answer. Another length is refused."""
    page = open_page(viewport=LAPTOP)
    opened(page, "model", drawer="rank", **{"rank.shows": "patch"})
    expect(page.get_by_test_id("patch-repeat")).to_have_text("Put blue in the place of red₁")
    said = page.get_by_test_id("patch-said")
    expect(said).to_contain_text("logit car − logit ball: +")
    expect(page.get_by_test_id("rank-progress")).to_be_hidden()
    stream = page.locator(".rank-map", has=page.locator("[data-matrix=patch-main-stream]"))
    expect(stream.get_by_test_id("readout")).to_contain_text(re.compile(r"Layer \d, car←ball: \+1\.0\d\d of the way"))
    page.get_by_test_id("fold-by-hand").locator("summary").click()
    theirs, ours = (page.locator(f"[data-{of}='4']") for of in ("theirs", "ours"))
    expect(theirs).to_have_text("ball")
    theirs.press("Enter")
    page.locator("[data-ours='7']").press("Enter")  # no line joins them
    expect(page.get_by_test_id("hand-said")).to_contain_text("ball does not correspond to was")
    theirs.press("Enter")
    ours.press("Enter")
    expect(page.locator(".say")).to_contain_text("car falls from")
    expect(ours).to_have_attribute("aria-pressed", "true")
    theirs.hover()
    page.mouse.down()
    ours.hover()
    page.mouse.up()
    expect(ours).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".say")).not_to_contain_text("falls from")
    page.get_by_test_id("path-answer").click()
    row = page.get_by_test_id("path-row").first
    expect(row).to_be_visible()
    expect(page.get_by_test_id("rank-progress")).to_be_hidden()
    name = row.locator("span").first.inner_text()
    page.get_by_test_id("path-ask-v").first.click()
    expect(page.get_by_test_id("paths-most")).to_contain_text(f"v of {name}")
    assert serious(page, "[data-panel=rank]") == []
    page.get_by_test_id("patch-text").fill("Tom lost his red ball.")
    page.get_by_test_id("patch-text").press("Enter")
    expect(said).to_have_text("The second sentence has 6 tokens, this one 14. Use one of as many tokens.")
    expect(page).not_to_have_url(re.compile(r"\?[^#]*ball"))
    page_errors.clear()  # the browser reports the 4xx


def test_escape_on_the_river_closes_what_lies_over_the_page_first(page: "Page") -> None:
    opened(page, "attention", layer=5, head=5, drawer="rank", **{"river.shown": "on"})
    rank = page.locator("[data-panel=rank]")
    expect(rank).to_be_visible()
    page.get_by_test_id("river").press("Escape")
    expect(rank).to_be_hidden()
    expect(page.locator(".crumbs")).to_contain_text("Head 5·5")
    page.get_by_test_id("river").press("Escape")
    expect(page.locator(".crumbs")).not_to_contain_text("Head 5·5")


@pytest.mark.fresh  # another test's page may have measured this already
def test_a_ranking_stays_until_the_next_one_is_measured_and_its_tabs_stay_put(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=LAPTOP)
    opened(page, "model", drawer="rank")
    expect(page.get_by_test_id("rank-row")).to_have_count(5)
    said, waits = page.locator(".rank-needs h2"), page.locator(".rank-columns.waits")
    before = said.inner_text()
    held: list[Any] = []
    page.route("**/explain/ablations", lambda route: route.continue_() if held else held.append(route))
    page.get_by_test_id("rank-row-off").first.click()
    expect(waits).to_be_visible()
    expect(page.get_by_test_id("rank-progress")).to_have_text("Measuring …")
    assert said.inner_text() == before
    expect(page.get_by_test_id("rank-row").first).to_contain_text("off")
    for _ in range(200):
        if not held:
            page.wait_for_timeout(20)
    held[0].continue_()
    expect(waits).to_have_count(0)
    expect(said).not_to_have_text(before)
    page.get_by_test_id("compare-before").click()  # in which no head is off
    expect(said).to_have_text(before)
    expect(page.get_by_test_id("rank-row").first).to_contain_text("→")
    tops = set()
    for tab in ("heads", "keys", "direct", "patch", "vocabulary"):
        page.get_by_test_id(f"rank-shows-{tab}").click()
        tops.add((page.get_by_test_id("rank-shows-heads").bounding_box() or {})["y"])
        if tab == "keys":
            expect(page.get_by_test_id("rank-scope-head")).to_have_text(re.compile(r"^head \d·\d$"))
    assert len(tops) == 1
    page.get_by_test_id("rank-higher").click()
    assert (page.get_by_test_id("rank-shows-heads").bounding_box() or {})["y"] < tops.pop() - 80


@pytest.mark.fresh  # another test's page may have measured this already
def test_patching_opens_with_the_sentence_that_is_offered(open_page: "Callable[..., Page]") -> None:
    """Measured once, and not before it is shown. A reader empties the field; a link brings another sentence."""
    page = open_page(viewport=LAPTOP)
    asked: list[Any] = []
    page.on("request", lambda one: asked.append(one.post_data_json) if one.url.endswith("/explain/patches") else None)
    opened(page, "model", drawer="rank")
    expect(page.get_by_test_id("rank-row")).to_have_count(5)
    assert asked == []
    page.get_by_test_id("rank-shows-patch").click()
    field, maps = page.get_by_test_id("patch-text"), page.locator(".rank-map:visible")
    expect(field).to_have_value(TEXTS["decoder-only"].replace("car", "ball"))
    expect(maps).to_have_count(3)
    expect(page.get_by_test_id("rank-progress")).to_be_hidden()
    expect(page.get_by_test_id("patch-offer")).to_be_hidden()
    assert len(asked) == 1
    field.fill("")
    field.press("Enter")
    expect(page.get_by_test_id("patch-said")).to_contain_text("Type a second sentence")
    expect(maps).to_have_count(0)
    expect(field).to_have_value("")
    other = TEXTS["decoder-only"].replace("car", "doll")
    opened(page, "model", drawer="rank", **{"rank.shows": "patch", "rank.source": other})
    expect(field).to_have_value(other)
    expect(maps).to_have_count(3)
    assert [one["from"]["text"] for one in asked[1:]] == [other]


def test_a_researcher_walks_from_the_question_to_a_saved_figure(
    open_page: "Callable[..., Page]", tmp_path: "Path"
) -> None:
    """Which head writes the repeated noun, whether that is causal, and what feeds the head: in the page alone. The
    numbers are those of the model's own path patching, and the figure can stand without the page."""
    text, other = TEXTS["decoder-only"], TEXTS["decoder-only"].replace("car", "ball")
    page = open_page(viewport=SCREEN)
    opened(page, "model")
    page.get_by_test_id("river-which").click()
    rows = page.get_by_test_id("rank-row")
    expect(rows).to_have_count(5)
    expect(page.get_by_test_id("rank-progress")).to_be_hidden()
    layer, head = (int(rows.first.get_attribute(f"data-{name}") or 0) for name in ("layer", "head"))
    _, said = figure_of(page, page.locator("[data-matrix=rank-delta]"), tmp_path)
    assert "in percentage points" in said, said  # as its cells and its colours are
    rows.first.click()
    expect(page.locator(".crumbs")).to_contain_text(f"Head {layer}·{head}")
    expect(page.locator("[data-panel=rank]")).to_be_hidden()  # it would lie over the head
    say = page.locator(".say").first
    say.get_by_role("button", name="Hide car in this head").click()
    expect(say).to_contain_text("car falls from")
    open_rank(page)
    expect(page.get_by_test_id("rank-edited")).to_have_text("Measured for car, with your edits.")
    page.get_by_test_id("edit-undo").click()
    expect(page.get_by_test_id("rank-edited")).to_be_hidden()
    page.get_by_test_id("close-drawer").click()
    page.get_by_test_id("feeds-v").click()
    expect(page.get_by_test_id("patch-text")).to_have_value(other)
    paths = page.get_by_test_id("path-row")
    expect(paths.first).to_be_visible()
    expect(page.get_by_test_id("rank-progress")).to_be_hidden()
    model = loaded("decoder-only")
    car, ball = (model.tokenizer.encode(f"a {word}")[-1] for word in ("car", "ball"))
    source = trace(model, model.tokenizer.encode(other), [*path_taps(model.description), "logits"])
    to = Receiver("self", layer, head, "v")
    patching = PathPatching(model, model.tokenizer.encode(text), source, car, ball, to=to)
    effects = patching.patch(writers_to(model.description, to))
    most = max(effects, key=lambda one: abs(one.moved))
    assert isinstance(most.part, FfnPart)
    expect(paths.first).to_contain_text(f"the FFN of layer {most.part.layer}")
    expect(paths.first).to_contain_text(f"{most.moved:+.3f}")
    assert (paths.first.locator(".track").bounding_box() or {"width": 0})["width"] >= 60, "its bar is drawn"
    drawn_words, said = figure_of(page, page.locator("[data-panel=rank] .rank-head:visible"), tmp_path)
    for words in (text, "stories-gpt", f"v of head {layer}·{head}", f"{most.moved:+.3f}"):
        assert words in drawn_words, drawn_words
    sides = patching.sides
    for words in (other, f"{sides.base:+.2f} here", "0: as here, 1: as there", "rank.path=v", "text=Tom+lost"):
        assert words in said, said
    drawn_words, _ = figure_of(page, page.locator("[data-matrix=paths-self]"), tmp_path)
    assert "no direct path leads from here" in drawn_words, "what the hatching of the last layer is"


def figure_of(page: "Page", place: "Locator", folder: "Path") -> tuple[str, str]:
    """The words of a picture that its own button saves, and its description."""
    with page.expect_download() as download:
        place.get_by_test_id("save-svg").click()
    download.value.save_as(folder / "figure.svg")
    figure = ElementTree.parse(folder / "figure.svg").getroot()
    words = " ".join(node.text or "" for node in figure.iter(f"{SVG}text"))
    return words, figure.findtext(f"{SVG}desc") or ""


def open_rank(page: "Page") -> None:
    open_tools(page)
    page.get_by_test_id("tool-rank").click()
    expect(page.get_by_test_id("rank-row").first).to_be_visible()


@pytest.mark.fresh  # another test's page may have measured this already
def test_the_head_that_the_answer_needs_most_is_found(open_page: "Callable[..., Page]") -> None:
    """By its name in the menu: what each head does is measured once for a run, by the drawer or a pause."""
    page = open_page(viewport=LAPTOP)
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if one.url.endswith("/explain/ablations") else None)
    opened(page, "model")
    open_tools(page)
    page.get_by_test_id("tool-rank").click()
    rows = page.get_by_test_id("rank-row")
    expect(rows).to_have_count(5)
    model = loaded("decoder-only")
    ids = model.tokenizer.encode(TEXTS["decoder-only"])
    answer = int(trace(model, ids, ["logits"]).tensors["logits"][-1].argmax())
    effects = Effects(model, ids, answer).measure(
        [part for part in parts_of(model.description) if isinstance(part, HeadPart)]
    )
    most = min(effects, key=lambda one: one.delta)
    name = f"{most.part.layer}·{most.part.head}"
    expect(rows.first).to_contain_text(re.compile(f"Without head {name}, car falls from"))
    assert float(rows.first.get_attribute("data-delta") or 0) == pytest.approx(most.delta, abs=1e-4)
    rows.first.click()
    expect(page.locator(".crumbs")).to_contain_text(f"Head {name}")
    rank = page.locator("[data-panel=rank]")
    expect(rank).to_be_hidden()  # it would lie over the head
    open_rank(page)
    rank.locator("[data-matrix=rank-delta]").press("Home")
    expect(page.get_by_test_id("rank-open")).to_have_text(f"Open head {most.part.layer}·0")
    rank.locator("[data-matrix=rank-delta]").press("Enter")
    expect(page.locator(".crumbs")).to_contain_text("Head 5·0")
    open_rank(page)
    rows.first.click()
    open_rank(page)
    expect(page.get_by_test_id("rank-progress")).to_be_hidden()
    assert len(asked) == 1
    with page.expect_response("**/explain/ablations"):  # without the head that is off
        page.get_by_test_id("rank-row-off").first.click()
    # It stays under the pointer, also when the others are measured without it.
    expect(page.get_by_test_id("rank-row-off").first).to_have_attribute("aria-label", f"Switch on head {name}")
    expect(rows).to_have_count(5)  # as many as before: nothing below moves
    expect(rows.first).to_contain_text(f"{name}: off")
    expect(page.get_by_test_id("rank-progress")).to_be_hidden()
    # The open head is off already: another is chosen, of which there is something to say.
    expect(page.get_by_test_id("rank-open")).not_to_have_text(f"Open head {name}")
    assert len(asked) == 2
    assert "ablate" in unquote(page.url)
    several_are_off(page, name)


ROWS = "(rows) => rows.map(({ dataset }) => `${dataset.layer}·${dataset.head}`)"


def several_are_off(page: "Page", name: str) -> None:
    """Each keeps its row amid the others, ranked anew. A click on the map chooses a cell, with what can be done."""
    rows, switches = page.get_by_test_id("rank-row"), page.get_by_test_id("rank-row-off")
    names = rows.evaluate_all(ROWS)
    with page.expect_response("**/explain/ablations"):
        switches.nth(1).click()
    expect(page.get_by_test_id("rank-progress")).to_be_hidden()
    expect(switches).to_have_text(["Switch on"] * 2 + ["Switch off"] * 3)
    assert rows.evaluate_all(ROWS)[:2] == names[:2]
    heading = page.locator(".rank-needs > h2")
    expect(heading).to_contain_text("Without head")
    assert re.findall(r"head (\d+·\d+)", heading.inner_text())[0] == rows.evaluate_all(ROWS)[2], "first of those on"
    falls = [float(fall) for fall in rows.evaluate_all("(rows) => rows.slice(2).map(({ dataset }) => dataset.delta)")]
    assert falls == sorted(falls)
    with page.expect_response("**/explain/ablations"):
        switches.filter(has_text="Switch on").and_(page.get_by_label(f"head {name}")).click()
    expect(rows.filter(has_text=f"Without head {name}")).to_have_count(1)  # measured without the one that is still off
    assert rows.evaluate_all(ROWS)[1] == names[1]
    corner = page.locator("[data-panel=rank] canvas").locator("visible=true").first.bounding_box()
    assert corner
    page.mouse.click(corner["x"] + 4, corner["y"] + 4)
    expect(page.get_by_test_id("rank-off")).to_have_text("Switch off head 0·0")
    expect(page.locator("[data-panel=rank]")).to_be_visible()


@pytest.mark.fresh
def test_every_head_carries_its_effect_once_a_reader_pauses(open_page: "Callable[..., Page]") -> None:
    """A bar under each picture, as long as what the answer loses without the head; measured once for each sentence."""
    page = open_page(viewport=LAPTOP)
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if one.url.endswith("/explain/ablations") else None)
    opened(page, "attention", layer=5, head=5)
    page.locator(".cell.measured").first.wait_for(state="attached")
    model = loaded("decoder-only")
    ids = model.tokenizer.encode(TEXTS["decoder-only"])
    answer = int(trace(model, ids, ["logits"]).tensors["logits"][-1].argmax())
    heads = [part for part in parts_of(model.description) if isinstance(part, HeadPart)]
    deltas = [one.delta for one in Effects(model, ids, answer).measure(heads)]
    most = max(map(abs, deltas))
    shares = page.locator(".heads-row .cell").evaluate_all(
        "cells => cells.map((one) => [Number(one.style.getPropertyValue('--share')), one.classList.contains('gains')])"
    )
    assert [share for share, _ in shares] == pytest.approx([abs(one) / most for one in deltas], abs=1e-3)
    sure = [(gains, one > 0) for (_, gains), one in zip(shares, deltas, strict=True) if abs(one) > 1e-4]
    assert len({true for _, true in sure}) == 2  # some heads lower the answer, others raise it
    assert all(shown == true for shown, true in sure)
    expect(page.locator(".heads-row .cell canvas").nth(45)).to_have_attribute("title", re.compile(r"off: ln p −0\.05"))
    page.locator(".heads-row [role=row].open canvas").first.click()
    expect(page.get_by_test_id("opened-title")).to_have_text("Head 5·0")
    page.wait_for_selector('body[data-state="ready"]')
    assert len(asked) == 1


def test_hidden_connections_are_said_where_the_river_is_away(page: "Page") -> None:
    cut = {"kind": "mask", "where": {"attention": "self", "layer": 5, "role": "mask", "query": 13, "key": 4}}
    opened(page, "attention", run=json.dumps({"interventions": [cut | {"allow": False}]}), **{"river.shown": "off"})
    notes = page.get_by_test_id("notes")
    expect(notes).to_contain_text("1 connection hidden.")
    page.get_by_test_id("note-restore").click()
    expect(notes).to_be_hidden()
    assert "interventions" not in unquote(page.url)
    # Beside the masks is what puts them back.
    opened(page, "model", run=json.dumps({"masks": {"causal": False}}))
    page.get_by_test_id("edit-undo").click()
    expect(page.get_by_test_id("edit-undo")).to_be_disabled()
    assert "causal" not in unquote(page.url)


TWELVE = "Tom lost his red car. Tom was sad. Mom found"


CELL = """async () => {
  const { picturesIn } = await import('/static/chart/pictures.js');
  return picturesIn(document.querySelector('[data-panel=opened]'))[0].size.cell.h;
}"""


@pytest.mark.parametrize("lang", ["en", pytest.param("ja", marks=pytest.mark.japanese)])
def test_a_matrix_of_twelve_tokens_is_whole_on_a_laptop(open_page: "Callable[..., Page]", lang: str) -> None:
    page = open_page(viewport=LAPTOP)
    opened(page, "attention", text=TWELVE, lang=lang, **{"attention.as": "lines"})
    whole_in_the_window(page, "lines", "lines-readout")
    opened(page, "attention", text=TWELVE, lang=lang)
    drawn(page)
    assert page.get_by_test_id("token").count() == 12
    whole_in_the_window(page, "matrix")
    assert page.evaluate(CELL) >= 13  # it can be hit
    open_more(page)
    page.get_by_test_id("type").click()
    page.keyboard.press("Escape")
    whole_in_the_window(page, "matrix")
    assert page.locator("[data-panel=opened] .row-label").count() == 12
    assert page.evaluate("document.documentElement.scrollWidth") <= LAPTOP["width"]


def whole_in_the_window(page: "Page", *names: str) -> None:
    for name in names:
        box = page.locator(f'[data-panel="opened"] [data-testid="{name}"]').first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= LAPTOP["height"], name


PICTURES = {
    "prediction": ["[data-testid=logit-sum]", "[data-testid=logit-heads]", "[data-testid=next-tokens]"],
    "ffn": ["[data-testid=ffn-picture]", "[data-panel=ffn_units]"],
    "embedding": [
        "[data-matrix=embedding] .sheet",
        "[data-matrix=positional] .sheet",
        "[data-testid=sum-of-cell]",
        "[data-part=neighbours]",
    ],
    "qkv": [
        "[data-matrix=q] .sheet",
        "[data-matrix=k] .sheet",
        "[data-matrix=v] .sheet",
        "[data-station=qkv] .reading",
    ],
    "av": ["[data-matrix=z] .sheet", "[data-matrix=av-v] .sheet", "[data-part=shares]", "[data-testid=av-sum]"],
    "residual": [
        "[data-matrix=residual] .sheet",
        "[data-station=residual] .formula",
        "[data-station=residual] .reading",
    ],
}


@pytest.mark.fresh
@pytest.mark.parametrize("view", PICTURES)
def test_a_place_shows_its_picture_without_scrolling(open_page: "Callable[..., Page]", view: str) -> None:
    """With 14 tokens: whole on a screen, and on a laptop it begins in the upper half."""
    page = open_page(viewport=SCREEN)
    opened(page, view)
    parts = [page.locator(one).first for one in PICTURES[view]]
    for part in parts:
        expect(part).to_be_visible()
    settled(page)
    assert max(end_of(part) for part in parts) <= SCREEN["height"]
    page.set_viewport_size(LAPTOP)
    page.evaluate(PAINTED)
    first = parts[0].bounding_box()
    assert first is not None
    assert first["y"] <= LAPTOP["height"] * 0.58
    assert end_of(parts[0]) <= LAPTOP["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= LAPTOP["width"]


BELOW_THE_RIVER = {
    "prediction": ["[data-testid=logit-sum]", "[data-testid=logit-heads]", "[data-testid=next-tokens]"],
    "ffn": ["[data-testid=ffn-picture]", "[data-testid=ffn-map-cell]", "[data-panel=ffn_units]"],
    "embedding": [
        *(f"[data-matrix={name}] .sheet" for name in ("embedding", "positional", "embedding-x")),
        *("[data-testid=sum-of-cell]", "[data-part=neighbours]"),
    ],
}


@pytest.mark.fresh
@pytest.mark.parametrize("view", BELOW_THE_RIVER)
def test_on_a_laptop_a_place_is_whole_below_the_river(open_page: "Callable[..., Page]", view: str) -> None:
    """With 14 tokens, and in one line what belongs together: the steps and the switch, E + P = X."""
    page = open_page(viewport=LAPTOP)
    opened(page, view, **{"river.shown": "on"})
    for part in BELOW_THE_RIVER[view]:
        expect(page.locator(part).first).to_be_in_viewport(ratio=1)
    if view == "prediction":
        assert page.evaluate("document.documentElement.scrollHeight") <= LAPTOP["height"], "and nothing is below"
        card = page.get_by_test_id("next-tokens")
        assert card.locator(".track").first.evaluate("track => track.clientWidth") >= 120
    if view == "ffn":
        expect(page.get_by_test_id("ffn-eye")).to_have_text(re.compile(r"Switch off: car \d+\s?%"))
        assert middle_of(page.get_by_test_id("ffn-eye")) == pytest.approx(middle_of(page.locator(".ffn-steps")), abs=2)
        assert page.locator(".ffn-steps").evaluate("box => box.scrollWidth <= box.clientWidth"), (
            "all steps are in sight"
        )
        expect(page.locator("[data-matrix=ffn-post]")).to_be_hidden()
    if view == "embedding":
        station = page.locator("[data-station=embedding]")
        expect(station.get_by_test_id("legend")).to_have_text("≤ −0.17≥ 0.17")  # one, of the scale that all share
        expect(station.get_by_test_id("embedding-range")).to_have_text(["−0.17 … 0.16", "−0.65 … 0.73", "−0.70 … 0.79"])
        tops = "all => all.map((one) => Math.round(one.getBoundingClientRect().top))"
        assert len(set(page.locator(".embedding-pair .sheet:visible").evaluate_all(tops))) == 1


@pytest.mark.parametrize("width", [1270, 1280, 1425, 1440, 1460, 1470])  # 1425: of 1440, beside a scroll bar
def test_the_pencil_stands_beside_the_steps_at_any_width(open_page: "Callable[..., Page]", width: int) -> None:
    page = open_page(viewport={"width": width, "height": 900})
    opened(page, "attention", layer=5, head=5, **{"river.shown": "on"})
    steps = middle_of(page.get_by_test_id("step-av"))
    assert middle_of(page.get_by_test_id("pencil")) == pytest.approx(steps, abs=2)


@pytest.mark.fresh
def test_on_a_large_screen_nothing_of_a_place_is_below_the_fold(open_page: "Callable[..., Page]") -> None:
    """Its formula and how to read it, too. Of an FFN, what else there is about its units opens."""
    page = open_page(viewport=SCREEN)
    for view in ("model", "tokens", "embedding", "qkv", "av", "ffn", "residual", "prediction"):
        opened(page, view, **{"river.shown": "on", "layer": 5})
        assert page.evaluate("document.documentElement.scrollHeight") <= SCREEN["height"], view
        if view == "ffn":
            more = page.locator("[data-station=ffn] [data-part=more]")
            expect(more.get_by_text("Strongest units of")).to_be_hidden()
            page.get_by_test_id("ffn-map").click()  # a unit is chosen, and the rest is about it
            expect(more.get_by_text("Strongest units of")).to_be_visible()


@pytest.mark.fresh
@pytest.mark.parametrize(("view", "part"), [("model", "river"), ("prediction", "logit-heads")])
def test_a_translation_fits_one_screen(open_page: "Callable[..., Page]", view: str, part: str) -> None:
    """Below two lines of text the prediction has fewer heads and tokens."""
    page = open_page(viewport=LAPTOP)
    opened(page, view, "encoder-decoder", **{"river.shown": "on"})
    for size in (LAPTOP, {"width": 1440, "height": 900}):
        page.set_viewport_size(size)
        expect(page.get_by_test_id(part)).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollHeight") <= size["height"]


def middle_of(part: "Locator") -> float:
    box = part.bounding_box()
    assert box is not None
    return box["y"] + box["height"] / 2


@pytest.mark.fresh
def test_on_a_laptop_the_maps_of_patching_are_whole_in_their_sheet(open_page: "Callable[..., Page]") -> None:
    """With their labels, in which a punctuation mark is in its box, and what is said about the chosen cell."""
    page = open_page(viewport=LAPTOP)
    source = TEXTS["decoder-only"].replace("car", "ball")
    place = {"rank.shows": "patch", "rank.source": source, "river.shown": "on"}
    opened(page, "model", drawer="rank", **place)
    maps = page.locator(".rank-map:visible")
    expect(maps).to_have_count(3)
    expect(page.get_by_test_id("rank-progress")).to_be_hidden()
    for one in maps.all():
        expect(one.locator(".sheet")).to_be_in_viewport(ratio=1)
        expect(one.get_by_test_id("readout")).to_be_in_viewport(ratio=1)
        expect(one.locator("rect.col-cap")).to_have_count(2)
    expect(page.get_by_test_id("patch-text")).to_be_in_viewport(ratio=1)


@pytest.mark.fresh
def test_the_menu_of_tools_is_whole_under_three_headings(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=LAPTOP)
    opened(page, "model")
    page.get_by_test_id("tools").click()
    for name, first in (("Find the cause", "rank"), ("Change the model", "game"), ("Compare and teach", "examples")):
        group = page.get_by_role("group", name=name, exact=True)
        tools = group.locator(".tool-items > button")
        expect(tools.first).to_have_attribute("data-testid", f"tool-{first}")
        expect(tools.locator("small")).to_have_count(tools.count())
        expect(group).to_be_in_viewport(ratio=1)
    expect(page.get_by_test_id("tool-rank-direct")).to_contain_text("What each part adds to the answer")
    page.get_by_test_id("tools").press("ArrowDown")
    expect(page.get_by_test_id("tool-rank")).to_be_focused()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    expect(page.get_by_test_id("tool-game")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("tools")).to_be_focused()


def end_of(part: "Locator") -> float:
    box = part.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def test_the_rows_of_a_logit_add_up_and_lead_to_their_places(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=SCREEN)
    opened(page, "prediction")
    card = page.get_by_test_id("logit-sum")
    rows = card.get_by_test_id("sum-row")
    expect(rows.first).to_be_visible()
    values = rows.evaluate_all("rows => rows.map((row) => Number(row.dataset.value))")
    assert len(values) == 14  # the start, attention and FFN of six layers, the biases
    assert sum(values) == pytest.approx(float(card.get_by_test_id("logit").inner_text()), abs=5e-3)
    assert card.get_by_test_id("check").get_attribute("data-agrees") == "true"
    strongest = page.get_by_test_id("strong-head").first
    layer, head = (strongest.get_attribute(f"data-{name}") for name in ("layer", "head"))
    rows.filter(has_text="layer 3 FFN").click()
    page.wait_for_url(re.compile(r"layer=3.*view=ffn|view=ffn.*layer=3"))
    opened(page, "prediction")
    strongest.click()
    page.wait_for_url(re.compile("view=attention"))
    page.wait_for_url(re.compile(f"layer={layer}(&|$)"))
    page.wait_for_url(re.compile(f"head={head}(&|$)"))


def test_a_favoured_piece_says_which_word_it_goes_on_with(open_page: "Callable[..., Page]") -> None:
    """Of an FFN unit and of a head's output: with the mark that candidates have."""
    page = open_page(viewport=SCREEN)
    for view, place in (("ffn", {"layer": 1}), ("attention", {"layer": 2, "head": 1, "query": 13, "key": 3})):
        opened(page, view, **place)
        piece = page.locator(":is(.favours, [data-line=moves]) [title]").first
        expect(piece).to_have_text(re.compile("^…"))
        expect(piece).to_have_attribute("title", f"goes on with the word: red{piece.inner_text()[1:]}")


def test_units_that_write_most_lead_to_their_arithmetic(open_page: "Callable[..., Page]") -> None:
    """Their numbers are those of the model's own attribution; a step shows its own tensor."""
    page = open_page(viewport=SCREEN)
    opened(page, "ffn", layer=5)
    model = loaded("decoder-only")
    ids = model.tokenizer.encode(TEXTS["decoder-only"])
    answer = int(trace(model, ids, ["logits"]).tensors["logits"][-1].argmax())
    units = contributions(model, ids, answer, units_of=5).units
    assert units is not None
    rows = page.get_by_test_id("unit-row")
    expect(rows).to_have_count(6)
    shown = rows.evaluate_all("rows => rows.map(({ dataset: d }) => [+d.unit, +d.value, +d.length])")
    for (unit, value, length), one in zip(shown, units.units, strict=False):
        assert unit == one.unit
        assert [value, length] == pytest.approx([one.value, one.length], abs=1e-4)
    assert page.locator("[data-panel=inspector]").is_hidden()
    rows.nth(1).click()
    inspector = page.locator("[data-panel=inspector]")
    expect(inspector).to_contain_text(f"unit {units.units[1].unit}")
    assert rows.first.is_hidden()
    page.get_by_test_id("all-units").click()
    expect(rows.nth(1)).to_be_visible()
    for step, told in (("x", "before the FFN"), ("normed", "after the norm"), ("sum", "added to the stream")):
        page.get_by_test_id(f"ffn-shown-{step}").click()
        expect(page.locator(".map-said")).to_contain_text(told)
    page.locator(".map-rows > span").nth(3).click()
    page.wait_for_url(re.compile("query=3"))


@pytest.mark.fresh
def test_on_a_phone_the_start_page_leads_to_the_heads_of_a_layer(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=PHONE)
    page.goto("/?start")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("river-says").locator(".tells button").wait_for()  # the start page is as it stays
    expect(page.get_by_test_id("start-lesson")).to_be_in_viewport(ratio=1)
    page.get_by_test_id("start-heads").click()
    expect(page.get_by_test_id("crumb-layer")).to_be_visible()
    page.wait_for_function("""async () => {
      const { sceneOf } = await import('/static/river/board.js');
      const canvas = document.querySelector('[data-testid=river]');
      const squares = sceneOf(canvas)?.squares ?? [];
      const { top } = canvas.getBoundingClientRect();
      return squares.length > 0 && squares.every(({ y, height }) => top + y + height <= innerHeight);
    }""")


def test_on_a_phone_the_matrix_begins_on_the_first_screen(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=PHONE)
    opened(page, "attention")
    drawn(page)
    canvas = page.locator('[data-panel="opened"] canvas:visible').first
    canvas.wait_for()
    matrix = canvas.bounding_box()
    assert matrix is not None
    assert matrix["y"] < PHONE["height"] - 100


def test_a_step_of_the_walk_is_whole_on_a_laptop_with_its_sum(open_page: "Callable[..., Page]") -> None:
    """With the panel at the top of the window."""
    page = open_page(viewport=LAPTOP)
    opened(page, "computation", text=TWELVE, **{"computation.step": "attn.scores"})
    whole_with_its_sum(page)
    # What is fetched for the step after it shows and hides nothing.
    inspector = page.locator("[data-panel=inspector]")
    steps = (("attn.norm", "LayerNorm", True), ("in.embed", "Embedding + position", False), ("attn.q", "Queries", True))
    for step, name, explained in steps:
        to_step(page, step)
        expect(page.locator("[data-station=computation] .step-name")).to_contain_text(name)
        page.wait_for_selector('body[data-state="ready"]')
        page.wait_for_load_state("networkidle")
        expect(inspector).to_be_visible(visible=explained)
    whole_with_its_sum(page)
    for step in ("w1", "w2"):  # 256 × 1,024, and 1,024 × 256
        to_step(page, f"ffn.{step}")
        page.locator("[data-station=computation] .formula").filter(has_text=f"W{step[1]}").wait_for()
        page.wait_for_selector('body[data-state="ready"]')
        whole_with_its_sum(page)


def whole_with_its_sum(page: "Page") -> None:
    """Waits until the result and the sum end within a window's height of the panel's top."""
    script = """height => {
      const { top } = document.querySelector('[data-panel=opened]').getBoundingClientRect();
      const result = [...document.querySelectorAll('[data-station=computation] .mat')].at(-1);
      const parts = [result, document.querySelector('[data-testid=computation-sum]')];
      return parts.every((one) => one?.checkVisibility() && one.getBoundingClientRect().bottom - top <= height);
    }"""
    page.wait_for_function(script, arg=LAPTOP["height"])


@pytest.mark.cold  # it changes the browser
def test_a_picture_fills_the_screen_and_escape_leaves(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=LAPTOP)
    opened(page, "attention")
    drawn(page)
    panel = page.locator('[data-panel="opened"]')
    sheet = panel.locator(".sheet").first
    settled(page)
    before, cells = panel.bounding_box(), sheet.bounding_box()
    # A browser that has no full screen for elements, as a phone: the panel covers the window.
    page.evaluate("() => { Element.prototype.requestFullscreen = undefined; }")
    page.get_by_test_id("full-screen").click()
    lies(page, '[data-panel="opened"]', {"x": 0, "y": 0, **LAPTOP})
    assert cells is not None
    higher = f"() => document.querySelector('[data-panel=opened] .sheet').clientHeight > {cells['height']}"
    page.wait_for_function(higher)  # the cells fit the height that they have now
    page.evaluate("() => document.addEventListener('keydown', (event) => { window.used = event.defaultPrevented; })")
    page.keyboard.press("Escape")
    assert before is not None
    lies(page, '[data-panel="opened"]', before)
    lies(page, '[data-panel="opened"] .sheet', cells)
    assert page.evaluate("() => window.used"), "a lesson stays open"


def lies(page: "Page", selector: str, box: Mapping[str, float]) -> None:
    """Waits until it lies there, as `Locator.bounding_box` says it."""
    script = """([selector, box]) => {
      const now = document.querySelector(selector).getBoundingClientRect();
      return Object.entries(box).every(([name, value]) => Math.abs(now[name] - value) < 0.01);
    }"""
    page.wait_for_function(script, arg=[selector, box])


def test_axe_finds_nothing(open_page: "Callable[..., Page]") -> None:
    """In the whole model and the menu of the header. test_everyone.py asks it of heads and stations."""
    page = open_page(viewport=LAPTOP)
    opened(page, "model")
    turn(page, "light")
    assert serious(page) == []
    open_more(page)
    assert serious(page, ".more") == []
    turn(page, "dark")
    assert serious(page, ".more", rules="colours") == []
    page.keyboard.press("Escape")
    assert serious(page, rules="colours") == []


@pytest.mark.japanese
@pytest.mark.parametrize("view", ["model", "attention"])
def test_axe_finds_nothing_in_japanese(open_page: "Callable[..., Page]", view: str) -> None:
    """Its colours are the same."""
    page = open_page(viewport=LAPTOP)
    opened(page, view, lang="ja")
    assert serious(page, rules="others") == []


@pytest.mark.parametrize("family", ["encoder-only", "encoder-decoder"])
def test_axe_finds_nothing_in_another_family(open_page: "Callable[..., Page]", family: str) -> None:
    page = open_page(viewport=LAPTOP)
    for view in ("model", "attention"):
        opened(page, view, family)
        assert serious(page) == []


def test_the_whole_model_can_be_saved_and_skipped_to(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=LAPTOP)
    opened(page, "model")
    assert page.evaluate(SKIPPED_TO) == ["main", True]
    open_more(page)
    page.get_by_test_id("export").click()
    expect(page.locator(".export-items section").first).to_contain_text("This picture")
    expect(page.get_by_test_id("export-river-png")).to_be_visible()
    expect(page.get_by_test_id("export-panel")).not_to_contain_text("not drawn yet")
    visit(page, "/?text=")
    page.wait_for_selector('body[data-state="empty"]')
    assert page.evaluate(SKIPPED_TO)[1]


def points_when_moved(chips: "Locator") -> None:
    """After a click the resting pointer is over another chip, which looks like the others until it moves."""
    assert chips.evaluate_all("all => new Set(all.map((one) => getComputedStyle(one).backgroundColor)).size") == 1
    chips.first.hover()
    expect(chips.first).not_to_have_css("background-color", "rgba(0, 0, 0, 0)")


def test_step_keeps_its_place_and_candidates_can_be_taken(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=LAPTOP)
    step, likely = page.get_by_test_id("gen-step"), page.get_by_test_id("likely")
    for family, side in (("decoder-only", "strip"), ("encoder-decoder", "target-strip")):
        places = set()

        def note(places: set[tuple[float, float]] = places) -> None:
            box = step.bounding_box()
            assert box is not None
            places.add((box["x"], box["y"]))

        for view in ("attention", "prediction", "model"):
            opened(page, view, family)
            expect(step).to_have_count(1)
            note()
        # Which probability they show is said, and can be switched: the grey ones are then never drawn.
        own = likely.first.locator("i").inner_text()
        expect(page.get_by_test_id("share-of")).to_have_text("model")
        expect(page.locator(".dock .candidates")).to_have_attribute(
            "aria-label", re.compile("The model’s own probability")
        )
        open_sampling(page)
        page.get_by_test_id("shows-sampled").click()
        expect(page.get_by_test_id("share-of")).to_have_text("after sampling")
        if family == "decoder-only":
            expect(likely.first.locator("i")).not_to_have_text(own)  # what is left out makes it likelier
        for chip in likely.locator("visible=true").all():
            excluded = "cut" in (chip.get_attribute("class") or "")
            assert (chip.locator("i").inner_text().replace("\u202f", "") == "0%") == excluded
            assert ("sampling excludes it" in (chip.get_attribute("title") or "")) == excluded
        page.get_by_test_id("share-of").click()
        expect(page.get_by_test_id("share-of")).to_have_text("model")
        token = page.locator(f".{side} button.tok:not(.next)")
        if family == "encoder-decoder":
            page.get_by_test_id("target-next").click()  # after the last word
            settled(page)
        n, taken = token.count(), likely.nth(1).get_attribute("data-id")
        likely.nth(1).click()
        expect(token).to_have_count(n + 1)
        expect(token.last).to_have_attribute("data-id", taken or "")
        note()
        # The prediction in the picture takes its token in the same way: pressed, and by its keys.
        answer = page.get_by_test_id("answer").locator("visible=true")
        settled(page)
        points_when_moved(likely)
        expect(likely.first).to_have_attribute("data-id", answer.first.get_attribute("data-id") or "")
        expect(answer.nth(1)).to_have_attribute("aria-label", likely.nth(1).get_attribute("aria-label") or "")
        taken = answer.nth(1).get_attribute("data-id")
        answer.first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(token).to_have_count(n + 2)
        expect(token.last).to_have_attribute("data-id", taken or "")
        open_sampling(page)
        page.get_by_test_id("dock-greedy").click()
        page.locator('[data-testid=dock-greedy][aria-pressed="true"]').wait_for()
        token.first.click()
        page.locator(".candidates .after > :first-child:not([hidden])").wait_for()
        note()
        assert len(places) == 1


@pytest.mark.parametrize("size", [SCREEN, LAPTOP], ids=["screen", "laptop"])
def test_neither_a_place_nor_an_edit_moves_a_tab(open_page: "Callable[..., Page]", size: dict[str, int]) -> None:
    """All tabs and the switches stand in one line with the edits, where they were; over the whole model, one list."""
    page = open_page(viewport=size)
    opened(page, "model")
    still = page.locator("[data-testid=station], [data-testid=station-list], [role=switch], [data-testid=tools]")
    still = page.locator(".path").locator(still).locator("visible=true")
    named = "all => all.map(({ dataset }) => dataset.view ?? dataset.testid)"
    assert still.evaluate_all(named) == ["station-list", "switch-causal", "tools"]
    right = still.evaluate_all(LEFT_AND_RIGHT)[1:]
    to_station(page, "attention")
    expect(page.get_by_test_id("crumb-head")).to_be_visible()
    boxes = still.evaluate_all(LEFT_AND_RIGHT)
    assert boxes[-2:] == right
    walk = page.get_by_test_id("walk-through").evaluate_all(LEFT_AND_RIGHT)[0][0]
    every = ["tokens", "embedding", "qkv", "attention", "av", "ffn", "residual", "prediction"]
    few = [*(one for one in every if one not in ("tokens", "residual")), "station-list"]
    assert still.evaluate_all(named) == [*(every if size is SCREEN else few), "switch-causal", "tools"]
    to_station(page, "ffn")
    expect(page.get_by_test_id("crumb-ffn")).to_be_visible()
    assert still.evaluate_all(LEFT_AND_RIGHT) == boxes
    to_station(page, "attention")
    expect(page.get_by_test_id("crumb-head")).to_be_visible()
    page.get_by_test_id("switch-causal").click()
    expect(page.get_by_test_id("edit-undo")).to_be_visible()
    assert still.evaluate_all(LEFT_AND_RIGHT) == boxes
    assert page.get_by_test_id("walk-through").evaluate_all(LEFT_AND_RIGHT)[0][0] == walk
    undo = page.get_by_test_id("edit-undo").evaluate_all(LEFT_AND_RIGHT)
    page.get_by_test_id("head-eye").first.click()
    expect(page.get_by_test_id("edits-list")).to_be_visible()
    assert still.evaluate_all(LEFT_AND_RIGHT) == boxes
    assert page.get_by_test_id("edit-undo").evaluate_all(LEFT_AND_RIGHT) == undo
    line = page.locator(".path :is(button, select):not(.edits-panel *)").locator("visible=true")
    controls = sorted(line.evaluate_all(LEFT_AND_RIGHT))
    assert all(one[1] <= other[0] + 1.5 for one, other in pairwise(controls)), "nothing overlaps"
    assert len({round(middle / 8) for _, _, middle in controls}) == 1, "one line"
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


@pytest.mark.parametrize("view", ["tokens", "residual", "attention"])
def test_tab_comes_to_the_tabs_also_where_what_is_open_is_in_the_list(
    open_page: "Callable[..., Page]", view: str
) -> None:
    page = open_page(viewport=LAPTOP)
    opened(page, view)
    expect(page.locator(".stations")).to_have_class(re.compile("few"))
    page.get_by_test_id("station-list").focus()
    page.keyboard.press("Shift+Tab")
    expect(page.locator(f"#tab-{'attention' if view == 'attention' else 'embedding'}")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-testid=station]:focus")).to_have_attribute("aria-selected", "true")


LEFT_AND_RIGHT = """(all) => all.map((one) => one.getBoundingClientRect())
  .map(({ left, right, top, height }) => [left, right, top + height / 2])"""


@pytest.mark.fresh
def test_the_whole_model_asks_only_for_what_it_shows(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=LAPTOP)
    asked = requests_of_next(page)
    opened(page, "model")
    assert asked
    assert not [url for url in asked if "/explain/heads" in url or "/views/inspector/explanations/weight.js" in url]
    assert page.get_by_test_id("took").is_hidden()


def test_the_sentence_grows_with_its_text(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=PHONE)
    opened(page, "model", text="The cat")
    page.get_by_test_id("edit").click()
    field = page.get_by_test_id("sentence")
    low = field.bounding_box()
    field.fill("The cat sat on the mat and looked at the dog, who was asleep near the door.")
    high = field.bounding_box()
    assert low is not None
    assert high is not None
    assert high["height"] > low["height"]
    assert field.evaluate("field => field.scrollHeight <= field.clientHeight + 1")
    field.press("Enter")
    assert "\n" not in field.input_value()
    expect(page.locator(".sentence.editing")).to_have_count(0)  # Enter ends it, and so does Done
    page.get_by_test_id("edit").click()
    page.get_by_test_id("done").click()
    expect(page.locator(".sentence.editing")).to_have_count(0)
    expect(page.get_by_test_id("edit")).to_be_focused()
    expect(page.get_by_test_id("done")).to_be_hidden()


def test_japanese_in_bytes_is_shown_by_character(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport=LAPTOP)
    opened(page, "attention", text="猫が好きです。", **{"river.shown": "off"})
    page.locator("[data-matrix=weights-characters]").wait_for()
    page.get_by_test_id("groups-tokens").click()
    page.locator("[data-matrix=weights]").wait_for()


def test_a_puzzle_is_begun_solved_and_shared(open_page: "Callable[..., Page]") -> None:
    """From Tools: the best known way solves it, in the run that the page asked for."""
    page = open_page(viewport=LAPTOP)
    opened(page, "model")
    open_tools(page)
    page.get_by_role("button", name="Break the model").click()
    page.get_by_test_id("game-start").click()
    said = page.get_by_test_id("game-said")
    expect(said).to_contain_text("0 connections hidden")
    page.get_by_test_id("game-best").click()
    expect(said).to_have_attribute("data-solved", "true")
    expect(said).to_contain_text("as few as the best known way")
    assert serious(page, "[data-panel=game]") == []
    page.get_by_test_id("game-start").click()
    expect(said).to_contain_text("0 connections hidden")
    href = page.get_by_test_id("game-link").get_attribute("href") or ""
    assert "game.puzzle=" in href
    assert "#text=" in href
