"""No panel overlaps another at any scroll position, and little of the window is covered by what stays in sight."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import drawn, link, loaded
from tests.browser.test_legible import CANVAS_TEXTS

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTHS = (390, 1280, 1440, 1920)

# The largest area in px² that a panel shares with another, with its top and with its end in view.
OVERLAPS = """async (panel) => {
  const isSeen = (one) => one.checkVisibility({ visibilityProperty: true });
  const others = [...document.querySelectorAll('.panel')].filter((one) => one !== panel && isSeen(one));
  const box = (element) => element.getBoundingClientRect();
  const shared = ([a, b]) =>
    Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) *
    Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
  // What a scrolling column cuts off covers nothing.
  const seen = (element) => {
    const [own, column] = [box(element), element.closest('.right')];
    const { top, bottom } = column ? box(column) : own;
    return { left: own.left, right: own.right, top: Math.max(own.top, top), bottom: Math.min(own.bottom, bottom) };
  };
  const found = [];
  // A drawer stands at the foot of the window; at the end of the page nothing is under it.
  const drawer = panel.closest('.drawers');
  for (const block of drawer ? ['end'] : ['start', 'center', 'end']) {
    if (drawer) scrollTo(0, document.documentElement.scrollHeight);
    else panel.scrollIntoView({ block });
    await new Promise(requestAnimationFrame);
    found.push(...others.map((other) => shared([box(panel), seen(other)])));
  }
  return found;
}"""


def overlaps(page: "Page", panel: str) -> dict[int, float]:
    """The largest area that a panel shares with another, at each width of the window."""
    found = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        drawn(page)
        found[width] = max(page.locator(f'[data-panel="{panel}"]').evaluate(OVERLAPS), default=0)
    return found


@pytest.mark.warm
def test_nothing_covers_what_changed(page: "Page") -> None:
    page.goto(link({"text": "Once upon a time there was a cat", "compare": "on", "pad": 1}))
    drawn(page)
    assert overlaps(page, "compare") == dict.fromkeys(WIDTHS, 0)


@pytest.mark.warm
def test_nothing_covers_the_batch(page: "Page") -> None:
    page.goto(
        link(
            {
                "model": loaded("encoder-only").name,
                "text": "A wonderful film.",
                "batch__text": "Dull.",
                "drawer": "batch",
            }
        )
    )
    page.locator('[data-panel="batch"] .members').wait_for()
    assert overlaps(page, "batch") == dict.fromkeys(WIDTHS, 0)


def test_on_a_phone_a_tapped_head_scrolls_to_its_picture(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(link({"text": "Once upon a time there was a cat"}))
    drawn(page)
    page.get_by_test_id("all-heads").tap()
    page.locator("[data-testid=head][data-layer='1'][data-head='2']").tap()
    page.wait_for_function("""() => {
      const { top } = document.querySelector('[data-panel=opened]').getBoundingClientRect();
      return top >= -1 && top < innerHeight / 2;
    }""")
    page.wait_for_url("**layer=1**")


STUCK = """() => {
  const parts = ['header', '.sentence', '.dock', '.say', '.path'];
  return Math.max(...parts.map((part) => document.querySelector(part).getBoundingClientRect().bottom));
}"""
STORY = "Tom lost his red car. Tom was sad. Mom found the red"


@pytest.mark.parametrize("lang", ["en", pytest.param("ja", marks=pytest.mark.japanese)])
@pytest.mark.parametrize(
    ("width", "height", "most", "rest"),
    [
        (1440, 900, 236, True),
        (1280, 720, 218, True),
        (1280, 580, 160, False),
        (844, 390, 160, False),
        (390, 844, 160, True),
    ],
)
def test_what_stays_in_sight_leaves_room(
    open_page: "Callable[..., Page]", lang: str, width: int, height: int, most: int, rest: bool
) -> None:
    """Header, text and dock stay; in a larger window the sentence, too, there and on a phone the path."""
    phone = width == 390
    page = open_page(viewport={"width": width, "height": height}, has_touch=phone, is_mobile=phone)
    page.goto(link({"text": " ".join([STORY] * 5), "view": "qkv", "layer": 5, "head": 5, "lang": lang}))
    drawn(page)
    page.evaluate("scrollTo(0, 400)")
    page.wait_for_function("() => scrollY > 200")
    assert page.evaluate(STUCK) <= most
    switch = page.get_by_test_id("switch-causal")
    box = switch.bounding_box()
    assert box is not None
    assert (0 < box["y"] < most) == rest
    assert box["x"] + box["width"] <= width, "no need to scroll sideways for it"
    step = page.get_by_test_id("gen-step").bounding_box()
    assert step is not None
    assert 0 < step["y"] < most
    assert page.evaluate("document.documentElement.scrollWidth") == width
    if phone:
        what_is_changed_stays(page, height)


@pytest.mark.japanese
def test_a_long_sentence_stays_in_its_row(open_page: "Callable[..., Page]") -> None:
    """Four pixels too wide it had a second line, which the path below covered."""
    page = open_page(viewport={"width": 1440, "height": 900})
    page.goto(link({"text": f"{STORY} car", "view": "model", "causal": False, "lang": "ja"}))
    expect(page.get_by_test_id("river-says")).to_contain_text("学習時にはなかった条件です。")
    for width, height in ((1440, 900), (1366, 768), (1280, 720), (1120, 720)):
        page.set_viewport_size({"width": width, "height": height})
        below = page.evaluate("""async () => {
          await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
          const [says, row] = ['river-says', 'say'].map((id) => document.querySelector(`[data-testid=${id}]`));
          return says.getBoundingClientRect().bottom - row.getBoundingClientRect().bottom;
        }""")
        assert below <= 1


def what_is_changed_stays(page: "Page", height: int) -> None:
    """At the foot of a phone's screen, in one row with Undo, wherever it is scrolled to."""
    page.get_by_test_id("switch-causal").click()
    undo = page.get_by_test_id("edit-undo")
    expect(undo).to_be_visible()
    for top in (0, 800):
        page.evaluate("(top) => scrollTo(0, top)", top)
        for part in (undo, page.get_by_test_id("changed"), page.get_by_test_id("compare-before")):
            box = part.bounding_box()
            assert box is not None
            assert height - 60 < box["y"] < height
    expect(page.get_by_test_id("changed")).to_have_text(re.compile("causal mask off|因果マスクなし"))
    undo.click()
    expect(page.get_by_test_id("changed")).to_be_hidden()


def test_a_phones_header_is_one_row(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.goto(link({"text": STORY}))
    drawn(page)
    header = page.locator("body > header").bounding_box()
    assert header is not None
    assert header["height"] <= 54
    for name in ("lessons-button", "share"):
        expect(page.get_by_test_id(name)).to_be_hidden()
    # The buttons of the first two are folded away in the dock.
    for drawer, name in (("generation", "generation"), ("cache", "kv"), ("rank-patch", "rank")):
        page.get_by_test_id("tools").tap()
        page.get_by_test_id(f"tool-{drawer}").tap()
        expect(page.locator(f".panel.{name}:visible")).to_be_visible()
        if drawer == "rank-patch":
            expect(page.get_by_test_id("rank-shows-patch")).to_be_in_viewport(ratio=1)  # of choices that do not all fit
        page.get_by_test_id("close-drawer").tap()
    page.get_by_test_id("more").tap()
    for name in ("lessons-button", "share", "theme"):
        expect(page.get_by_test_id(name)).to_be_visible()
    expect(page.locator("[data-lang=ja]")).to_be_visible()
    page.get_by_test_id("lessons-button").tap()
    page.get_by_test_id("lesson-item").first.tap()
    page.locator(".in-lesson").wait_for()
    page.set_viewport_size({"width": 1280, "height": 720})  # the phone is turned, or the window grows
    expect(page.locator("body > header > .asides")).to_have_count(1)


def test_on_a_phone_two_lines_of_a_translation_take_the_headers_room(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.goto(link({"model": loaded("encoder-decoder").name, "text": "She sold her car yesterday."}))
    drawn(page)
    page.evaluate("scrollTo(0, 300)")
    page.wait_for_function("() => scrollY > 200")
    assert page.evaluate(STUCK) <= 160
    step = page.get_by_test_id("gen-step").bounding_box()
    assert step is not None
    assert step["y"] > 0
    # The names of both languages stay where their lines begin, and what is beside a line covers none of it.
    page.evaluate("document.querySelectorAll('.tokens').forEach((line) => (line.scrollLeft = 1000))")
    for name in page.locator(".side-name").all():
        box = name.bounding_box()
        assert box is not None
        assert 0 <= box["x"] < 20
    line, back = page.locator(".target-strip").bounding_box(), page.get_by_test_id("target-switch").bounding_box()
    assert line is not None
    assert back is not None
    assert line["x"] + line["width"] <= back["x"]


def test_on_a_phone_one_arrives_with_the_sentence_and_the_picture_in_sight(open_page: "Callable[..., Page]") -> None:
    """From far down the start page, and from one place to another; a comparison lies where the weights were."""
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto("/?start")
    page.get_by_test_id("start-masks").scroll_into_view_if_needed()
    assert page.locator(".dock-tools").is_hidden()  # Step alone
    assert page.get_by_test_id("start-step").is_visible()
    page.evaluate("scrollTo(0, 2000)")
    page.get_by_test_id("start-masks").tap()
    drawn(page)
    expect(page.get_by_test_id("river-says")).to_contain_text(re.compile(r"Causal off: .+ attends less to"))
    now = page.evaluate(WHERE)
    assert now["covered"] <= 160
    assert now["covered"] <= now["path"] < now["say"] <= now["covered"] + 60
    weights = now["sheet"]
    page.get_by_test_id("compare-difference").tap()
    page.locator(".pair").wait_for()
    drawn(page)
    now = page.evaluate(WHERE)
    assert now["differs"] == weights, "the cells stay where they are"
    assert now["differs"] < now["change"] < now["after"] < now["before"]
    page.goto(f"/?view=model#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("station-list").select_option("attention")
    drawn(page)
    now = page.evaluate(WHERE)
    assert now["covered"] <= now["path"] < now["say"] <= now["covered"] + 60
    assert now["sheet"] <= 480
    page.evaluate("scrollTo(0, 600)")
    page.get_by_test_id("crumb-model").evaluate("(crumb) => crumb.click()")
    page.wait_for_function("() => scrollY === 0")


WHERE = """() => {
  const top = (part) => document.querySelector(part)?.getBoundingClientRect().top;
  const of = (name) => top(`[data-testid=${name}-about]`);
  return {
    covered: document.querySelector('.dock').getBoundingClientRect().bottom,
    path: top('.path'),
    say: top('.say'),
    sheet: top('.sheet'),
    change: top('[data-testid=row-change]'),
    before: of('before'),
    after: of('after'),
    differs: top('.difference .sheet'),
  };
}"""


def test_on_a_phone_a_switch_keeps_its_place_and_the_card_follows_its_matrix(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=attention&layer=5&head=5&river.shown=on#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    drawn(page)
    tops = """() => ['[data-switch=causal]', '.sheet', '.right', '[data-testid=attention-says]']
      .map((part) => document.querySelector(part).getBoundingClientRect().top + scrollY)"""
    causal = page.locator("[data-switch=causal]")
    before = page.evaluate(tops)
    assert before == sorted(before)
    causal.tap()
    expect(page.get_by_test_id("river-says")).to_contain_text("Causal off")
    expect(page.get_by_test_id("edit-undo")).to_be_visible()
    assert page.evaluate(tops)[0] == before[0]


def test_on_a_phone_pads_are_chosen_below_what_they_change(open_page: "Callable[..., Page]") -> None:
    """At the foot of the screen: the sentence and the picture are over it."""
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=attention&layer=5&head=5&river.shown=on#text={STORY}")
    drawn(page)
    page.get_by_test_id("path-more").tap()
    page.get_by_test_id("pads-more").tap()
    page.get_by_test_id("pads-menu").tap()
    expect(page.get_by_test_id("river-says")).to_contain_text("PAD")
    expect(page.get_by_test_id("edit-undo")).to_be_visible()
    menu, says = (page.locator(one).bounding_box() for one in (".padding > .pad-menu", "[data-testid=say]"))
    undo = page.get_by_test_id("edit-undo").bounding_box()
    assert menu is not None
    assert says is not None
    assert undo is not None
    assert says["y"] + says["height"] <= menu["y"]
    assert menu["y"] + menu["height"] <= undo["y"]


def test_on_a_phone_more_stays_under_the_finger(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=model&layer=5#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    says = page.get_by_test_id("river-says")
    expect(says).to_contain_text("car")
    expect(says.get_by_role("button")).to_be_visible()
    assert (says.bounding_box() or {"height": 99})["height"] < 3 * 24, "two lines: what a wide page adds is left out"
    page.evaluate("scrollTo(0, 97)")  # the row of the path stands just below what stays in sight
    more = page.get_by_test_id("path-more")
    before = more.bounding_box()
    for unfolds in ("true", "false"):
        more.tap()
        expect(more).to_have_attribute("aria-expanded", unfolds)
        # Two frames later the browser would have scrolled by what unfolded.
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert more.bounding_box() == before
    # Right over the heads stands what ranks them, on the first screen; its first three choices are whole.
    which = page.get_by_test_id("river-which")
    expect(which).to_be_in_viewport(ratio=1)
    top = page.get_by_test_id("river").evaluate(
        """async (canvas) => {
          const { squares } = (await import('/static/river/board.js')).sceneOf(canvas);
          return canvas.getBoundingClientRect().top + Math.min(...squares.map(({ y }) => y));
        }"""
    )
    box = which.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    assert box["width"] == 390 - 2 * 14, "at the whole width"
    assert top - 8 <= box["y"] + box["height"] <= top
    which.tap()
    expect(page.get_by_test_id("rank-shows-direct")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("width", [360, 390])
def test_a_phones_rows_show_whole_words(open_page: "Callable[..., Page]", width: int) -> None:
    """Three candidates under the text, and from the left edge whole tokens to the chosen one."""
    page = open_page(viewport={"width": width, "height": 740}, has_touch=True, is_mobile=True)
    page.goto(f"/?view=model#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    box = page.get_by_test_id("likely").evaluate_all(
        "(all) => all.map((one) => one.getBoundingClientRect()).filter(({ left }) => left < innerWidth)"
        ".map(({ left, right, height, width }) => ({ left, right, height, width }))"
    )
    whole = [one for one in box if one["right"] <= width - 14]
    assert len(whole) == 3
    assert all(one["height"] >= 44 and one["width"] >= 44 for one in whole)
    assert all(one["left"] >= width - 34 for one in box if one not in whole), "none is seen in part"
    # The whole text: two lines of whole words.
    strip, *tokens = page.locator(".tokens, .tokens .tok").evaluate_all(
        """(all) => all.map((one) => one.getBoundingClientRect())
          .map(({ left, right, top, bottom }) => [left, right, top, bottom])"""
    )
    assert len(tokens) == 14
    assert len({top for _, _, top, _ in tokens}) == 2
    for left, right, top, bottom in tokens:
        assert strip[0] <= left < right <= strip[1]
        assert strip[2] <= top < bottom <= strip[3]


@pytest.mark.parametrize(("width", "height"), [(390, 844), (360, 740)])
def test_on_a_phone_what_is_written_and_what_is_chosen_stay_in_sight(
    open_page: "Callable[..., Page]", width: int, height: int
) -> None:
    """Two lines, which scroll beyond that; in an open place the upper one makes room unless a token in it is chosen."""
    page = open_page(viewport={"width": width, "height": height}, has_touch=True, is_mobile=True)
    page.goto(f"/?view=model#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    for n in range(1, 9):
        page.get_by_test_id("gen-step").tap()
        expect(page.locator(".tok.gen")).to_have_count(n)
    page.wait_for_function(WHOLE, arg=["last", 8])
    expect(page.locator(".tokens")).to_have_class(re.compile("cut-before"))
    assert page.locator(".tokens").evaluate("(one) => one.getBoundingClientRect().left") >= 17, "beside the ellipsis"
    page.evaluate("scrollTo(0, 400)")
    page.wait_for_function("() => scrollY > 200")
    page.wait_for_function(WHOLE, arg=["last", 8])
    assert page.evaluate(STUCK) <= 160
    page.get_by_test_id("token").nth(1).evaluate("(token) => token.click()")
    page.wait_for_function(WHOLE, arg=["q", 1])
    page.goto(f"/?view=attention&layer=5&head=5&query=13#text={STORY}")
    drawn(page)
    for chosen, most in ((13, 100), (1, 140)):
        page.get_by_test_id("token").nth(chosen).evaluate("(token) => token.click()")
        page.evaluate("scrollTo(0, 400)")
        page.wait_for_function("() => scrollY > 200")
        page.wait_for_function(WHOLE, arg=["q", 1])
        assert page.evaluate("document.querySelector('.dock').getBoundingClientRect().bottom") <= most


# Whether the last tokens, or the chosen one, are whole in their two lines and on the screen.
WHOLE = """([which, count]) => {
  const strip = document.querySelector('.tokens').getBoundingClientRect();
  const found = document.querySelectorAll(which === 'last' ? '.tok' : '.tok.q');
  const all = [...found].slice(-count);
  return all.length === count && all.map((one) => one.getBoundingClientRect()).every(({ top, bottom, left, right }) =>
    top >= Math.max(0, strip.top) - 1 && bottom <= strip.bottom + 1 && left >= 0 && right <= strip.right + 1);
}"""


@pytest.mark.parametrize("lang", ["en", pytest.param("ja", marks=pytest.mark.japanese)])
def test_on_a_phone_every_tool_has_its_word_and_a_change_stays_in_sight(
    open_page: "Callable[..., Page]", lang: str
) -> None:
    """On a small one: whole words in one row; the changed row above the bar that undoes it, with its sentence."""
    page = open_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?lang={lang}&view=attention&layer=5&head=5&river.shown=on#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    drawn(page)
    tools = page.locator(":is(.dock .station, .path) :is(button .word, .unfold, select):visible")
    words = tools.evaluate_all(
        """(all) => all.map((one) => [one.textContent.trim() !== '', one.getBoundingClientRect().width,
          one.scrollWidth - one.clientWidth, one.getBoundingClientRect().right])"""
    )
    assert len(words) == 8  # Back, Write, Keep writing, Sampling, Tree, KV cache; a place in the head, More
    assert all(named and width > 10 and cut <= 0 and right <= 360 for named, width, cut, right in words)
    heads = page.locator("[data-testid=head]:visible").evaluate_all("(all) => all.map((one) => one.clientWidth)")
    assert len(heads) == 8
    assert min(heads) >= 24
    page.get_by_test_id("hide-in-head").tap()
    expect(page.get_by_test_id("edit-undo")).to_be_in_viewport(ratio=1)
    page.wait_for_function(
        """() => {
          const of = (part) => document.querySelector(part).getBoundingClientRect();
          return of('.opened .sheet').bottom <= of('.edits').top && of('.say').top >= of('.dock').bottom - 1;
        }"""
    )
    page.locator("[data-switch=causal]").tap()
    expect(page.get_by_test_id("edits-list")).to_be_visible()  # of two edits, which leave Undo its room
    expect(page.get_by_test_id("edit-undo")).to_be_in_viewport(ratio=1)


def test_on_a_phone_an_edit_says_what_was_what_comes_next_and_the_way_back(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.add_init_script(f"({CANVAS_TEXTS})()")
    page.goto(f"/?view=attention&layer=5&head=5&query=13&key=4&river.shown=on#text={STORY}")
    drawn(page)
    page.get_by_test_id("head-eye").tap()
    says = page.get_by_test_id("river-says")
    expect(says.get_by_role("button", name="Switch off 3·4 too")).to_be_in_viewport(ratio=1)
    expect(says).to_contain_text(re.compile(r"falls from 98\s%\sto 93\s%"))
    page.wait_for_function(WROTE, arg="98 → 93\u202f%")
    page.get_by_test_id("edit-undo").tap()
    page.goto(f"/?view=model&layer=5&river.shown=on#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    for back in (says.get_by_role("button", name="Switch back on"), page.get_by_test_id("changed")):
        page.locator("[data-switch=causal]").tap()
        expect(page.get_by_test_id("changed")).to_be_in_viewport(ratio=1)
        expect(says.get_by_role("button", name="Switch back on")).to_be_in_viewport(ratio=1)
        assert says.evaluate("(one) => one.getBoundingClientRect().height") < 60, "two lines"
        back.tap()
        expect(page.get_by_test_id("changed")).to_be_hidden()


# Whether the river has written these words.
WROTE = """(words) => wrote(document.querySelector('[data-testid=river]')).some(({ text }) => text === words)"""


def test_on_a_phone_the_changed_head_is_above_the_bar_and_redo_alone_goes(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=model&layer=5&drawer=rank&river.shown=on#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("rank-row-off").first.tap()  # 5·5, in the second row
    expect(page.get_by_test_id("edit-undo")).to_be_visible()
    for _ in range(2):  # the list of edits opens over the sheet: what it shows can be tapped
        page.get_by_test_id("edits-list").tap()
        page.get_by_test_id("edit-switch").tap(timeout=5000)
        page.get_by_test_id("edits-list").tap()
    page.get_by_test_id("close-drawer").tap()
    page.wait_for_function(
        """async () => {
          const { sceneOf } = await import('/static/river/board.js');
          const canvas = document.querySelector('[data-testid=river]');
          const of = (part) => document.querySelector(part).getBoundingClientRect();
          const ends = sceneOf(canvas).squares.map(({ y, height, caption }) => y + height + caption);
          const end = canvas.getBoundingClientRect().top + Math.max(...ends);
          return end <= of('.edits').top && of('.say .says').top >= of('.dock').bottom - 5;
        }"""
    )
    page.get_by_test_id("edits-list").tap()
    page.get_by_test_id("edit-switch").tap()
    expect(page.get_by_test_id("edit-undo")).to_be_enabled()
    page.get_by_test_id("river-says").tap(position={"x": 2, "y": 2})
    expect(page.get_by_test_id("edits-list")).to_be_in_viewport(ratio=1)  # the only way to switch it on again
    page.get_by_test_id("edit-undo").tap()
    page.get_by_test_id("edit-undo").tap()
    redo = page.locator(".edits .redo")
    expect(redo).to_be_enabled()
    expect(redo).to_be_visible()
    page.get_by_test_id("river-says").tap(position={"x": 2, "y": 2})
    expect(redo).to_be_hidden()
    page.get_by_test_id("path-more").tap()
    redo.tap()
    expect(redo).to_be_visible()
    expect(page.get_by_test_id("edit-undo")).to_be_enabled()
    page.get_by_test_id("path-more").tap()
    page.get_by_test_id("edit-undo").tap()
    expect(redo).to_be_in_viewport(ratio=1)
    expect(redo).to_be_hidden()  # some seconds later: it lies over a head's name


def test_on_a_phone_all_settings_of_the_sampling_are_on_one_screen(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=model#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("sampling").tap()
    panel = page.locator(".sampling-panel")
    expect(panel).to_be_in_viewport(ratio=1)
    sizes = panel.evaluate("(one) => [one.scrollHeight - one.clientHeight, one.scrollWidth - one.clientWidth]")
    assert sizes == [0, 0]
    rows = panel.locator("label").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().height)")
    assert len(rows) == 12
    assert min(rows) >= 44
    top, dock = panel.bounding_box(), page.locator(".dock").bounding_box()
    assert top is not None
    assert dock is not None
    assert top["y"] >= dock["y"] + dock["height"], "what opened it closes it"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (f"{STORY} car. Then she gave it to Tom. He", "view=attention&layer=5&head=5"),
        ("The red", "view=model"),  # many words could follow
    ],
)
def test_on_a_phone_a_sentence_has_two_lines(open_page: "Callable[..., Page]", text: str, query: str) -> None:
    """Also where a line ends before its button."""
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?{query}&river.shown=on#text={text}")
    page.wait_for_selector('body[data-state="ready"]')
    says = page.get_by_test_id("river-says")
    expect(says.get_by_role("button")).to_be_visible()
    assert says.evaluate("(one) => one.getBoundingClientRect().height") < 2.5 * 1.65 * 15
    assert says.evaluate("(one) => getComputedStyle(one).fontSize") == "15px", "one size, whatever is said"


def test_on_a_phone_secondary_buttons_are_words(open_page: "Callable[..., Page]") -> None:
    """As large for a finger; those beside the heads stand 6 px below the last answer's bar."""
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=attention&layer=5&head=5&river.shown=on#text={STORY}")
    drawn(page)
    look = """(all) => all.map((one) => [getComputedStyle(one).borderTopColor,
      one.getBoundingClientRect().height >= 44 && one.getBoundingClientRect().width >= 44])"""
    words = page.locator(".path > .unfold, .inside-list, .heads-row > .btn").locator("visible=true")
    assert words.evaluate_all(look) == [["rgba(0, 0, 0, 0)", True]] * 4
    below = page.evaluate("""async () => {
      const canvas = document.querySelector('[data-testid=river]');
      const { y, step } = (await import('/static/river/board.js')).sceneOf(canvas).answers;
      const button = document.querySelector('.heads-row > .btn').getBoundingClientRect();
      return button.top - canvas.getBoundingClientRect().top - y - 2 * step; // its bar is higher
    }""")
    assert below >= 5
    page.locator(".dock .opens").first.tap()
    ways = page.get_by_test_id("tree-ways")
    expect(ways).to_be_visible()
    assert ways.evaluate("(one) => getComputedStyle(one).borderTopColor") != "rgba(0, 0, 0, 0)", "the main one"


def test_on_a_phone_an_effect_stands_beside_its_button(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=attention&layer=5&head=5&river.shown=on#text={STORY}")
    drawn(page)
    says = page.get_by_test_id("river-says")
    falls = says.locator(".unbroken").first.evaluate("(one) => [one.textContent, one.getBoundingClientRect().height]")
    assert re.fullmatch(r"car falls to \d+\s%\.", falls[0])
    assert falls[1] < 1.5 * 1.65 * 15
    size = "(one) => getComputedStyle(one).fontSize"
    before = says.evaluate(size)
    page.get_by_test_id("hide-in-head").tap()
    button = says.get_by_role("button", name="Hide it in layer 5")
    expect(button).to_be_visible()
    effect = button.locator("xpath=..")
    expect(effect).to_have_text(re.compile(r"Hide it in layer 5 → \d+\s%\."))
    assert effect.evaluate("(one) => one.getBoundingClientRect().height") < 1.5 * 1.65 * 15, "one line"
    assert says.evaluate(size) == before


def test_on_a_phone_undo_keeps_its_place_and_no_cell_moves_under_the_pencil(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=attention&layer=5&head=5&river.shown=on#text={STORY}")
    drawn(page)
    page.get_by_test_id("hide-in-head").tap()
    count, eye = page.locator(".edits-button > .n"), page.get_by_test_id("head-eye")
    expect(count).to_have_text("1 edit")
    bar = page.locator(".edits :is(button, .seg):not(.edits-list *)").locator("visible=true")
    places = bar.evaluate_all(BOXES)
    assert len(places) == 6  # Undo and Redo; before, after and difference, and around them
    expect(eye).to_have_attribute("data-brief", "Switch off")
    eye.tap()
    expect(eye).to_have_attribute("data-brief", "Switch on")
    assert eye.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    expect(count).to_have_text("2 edits")
    assert bar.evaluate_all(BOXES) == places
    page.get_by_test_id("edit-undo").tap()
    expect(count).to_have_text("1 edit")
    assert bar.evaluate_all(BOXES) == places
    cells = page.locator(".opened .sheet, [data-testid=pencil]")
    still = cells.evaluate_all(BOXES)
    page.get_by_test_id("pencil").tap()
    expect(page.locator(".pencil-tools .seg")).to_be_visible()
    assert cells.evaluate_all(BOXES) == still


def test_on_a_phone_a_sheet_stands_between_the_sentence_and_the_foot(open_page: "Callable[..., Page]") -> None:
    """Or the edits; the page below it stays where it was scrolled to."""
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=model&layer=5&river.shown=on#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    page.evaluate("scrollTo(0, 130)")
    edges = """() => {
      const of = (part) => document.querySelector(part).getBoundingClientRect();
      const [say, sheet, edits] = ['.say', '.drawers', '.edits'].map(of);
      return [sheet.top - say.bottom, sheet.bottom - (edits.top || innerHeight), scrollY];
    }"""
    tree, _ = page.locator(".dock .opens").all()
    which = page.get_by_role("button", name="Which head matters most?")
    for opens in (tree, which):
        opens.tap()
        page.wait_for_function(f"() => ({edges})().join() === '6,0,0'")
        page.get_by_test_id("close-drawer").tap()
        page.wait_for_function("() => scrollY === 130")
    page.locator("[data-switch=causal]").tap()
    expect(page.locator(".edits")).to_be_in_viewport(ratio=1)
    tree.tap()
    page.wait_for_function(f"() => ({edges})().join() === '6,0,0'")


def test_on_a_turned_phone_a_sheet_leaves_the_sentence_whole(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 844, "height": 390}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=model&drawer=rank&river.shown=on#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.get_by_test_id("river-says").get_by_role("button")).to_be_in_viewport(ratio=1)
    edges = page.evaluate("""() => {
      const [say, sheet] = ['.say', '.drawers'].map((part) => document.querySelector(part).getBoundingClientRect());
      return [sheet.top - say.bottom, sheet.bottom - innerHeight, document.documentElement.scrollHeight - innerHeight];
    }""")
    assert edges == [6, 0, 0]


def test_on_a_phone_a_change_is_compared_and_undone_while_a_sheet_is_open(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=model&layer=5&drawer=rank&river.shown=on#text={STORY}")
    drawn(page)
    page.get_by_test_id("rank-row-off").first.tap()
    bar = page.locator(".edits > :is(.undo, .seg), .edits > * > :is(.undo, .seg)").locator("visible=true")
    expect(bar).not_to_have_count(0)
    for one in bar.all():
        expect(one).to_be_in_viewport(ratio=1)
    edges = page.evaluate("['.drawers', '.edits'].map((one) => document.querySelector(one).getBoundingClientRect())")
    assert edges[0]["bottom"] <= edges[1]["top"], edges
    page.get_by_role("button", name="difference", exact=True).tap()
    page.get_by_test_id("edit-undo").tap()
    expect(page.get_by_test_id("rank-row-off").first).to_have_text("Switch off")
    expect(page.locator(".drawers")).to_be_visible()


def test_on_a_phone_what_undoes_an_edit_leaves_the_legend_and_the_page_in_sight(
    open_page: "Callable[..., Page]",
) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=attention&layer=5&head=5&river.shown=on#text={STORY}")
    drawn(page)
    page.get_by_test_id("hide-in-head").tap()
    expect(page.get_by_test_id("legend")).to_contain_text("hidden by you in this head")
    legend, bar = (page.locator(one).bounding_box() for one in ("[data-testid=legend]", ".edits"))
    assert legend is not None
    assert bar is not None
    assert legend["y"] + legend["height"] <= bar["y"]
    assert bar["width"] == 390
    page.get_by_test_id("edit-undo").tap()
    redo = page.locator(".edits .redo")
    expect(redo).to_be_enabled()
    expect(redo).to_be_in_viewport(ratio=1)
    beside = page.evaluate(
        "[150, 260, 370].map((x) => document.elementFromPoint(x, innerHeight - 20).closest('.edits'))"
    )
    assert beside == [None] * 3


# In whole pixels.
BOXES = """(all) => all.map((one) => one.getBoundingClientRect())
  .map(({ x, y, width }) => [x, y, width].map(Math.round))"""


@pytest.mark.parametrize("drawer", ["rank", "labels", "generation", "cache", "examples"])
def test_on_a_phone_nothing_scrolls_under_what_closes_a_sheet(open_page: "Callable[..., Page]", drawer: str) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(f"/?view=model&layer=5&drawer={drawer}#text={STORY}")
    page.wait_for_selector('body[data-state="ready"]')
    head = page.locator(".sheet-head")
    expect(head.locator(".sheet-name")).not_to_be_empty()
    page.wait_for_function(
        """() => {
          const sheet = document.querySelector('.drawers');
          sheet.scrollTop = 200; // once there is something in it
          const [all, head] = [sheet, sheet.querySelector('.sheet-head')].map((one) => one.getBoundingClientRect());
          const covers = [8, 100, 200, 300].every((x) => [4, 24, 44].every((y) =>
            document.elementFromPoint(all.x + x, all.y + y).matches('.sheet-head, .sheet-name')));
          return sheet.scrollTop > 0 && covers && Math.abs(head.y - all.y) <= 1;
        }"""
    )  # its head stays over what scrolls
    close = page.get_by_test_id("close-drawer").bounding_box()
    assert close is not None
    assert min(close["width"], close["height"]) >= 44
