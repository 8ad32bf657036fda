"""The lessons: each step opens on the real page, and the live model answers its question."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from chumoku.model.source_code import source
from tests.browser.helpers import all_heads, drawn, open_more, serious

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

FOLDER = Path(__file__).parent.parent.parent / "static/learn/lessons"


def steps(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["steps"]
    return found


def arrive(page: "Page", step: str) -> None:
    page.wait_for_selector(f".lesson[data-step='{step}']")
    page.wait_for_selector("body[data-state=ready]")


def answer(page: "Page", choice: int | None = None) -> str:
    """Guess, or ask to be shown; returns what the page says once the model has answered."""
    if choice is None:
        page.get_by_test_id("lesson-reveal").click()
    else:
        page.get_by_test_id("lesson-option").nth(choice).click()
    page.wait_for_selector(".lesson-question[data-answered]")
    return page.get_by_test_id("lesson-answer").inner_text()


def shown(page: "Page", step: dict[str, Any]) -> None:
    """What the step shows can be seen, and nothing else of the page."""
    places = "[...document.querySelectorAll('[data-lesson=shown]')].filter((one) => one.checkVisibility()).length"
    page.wait_for_function(f"n => {places} === n", arg=len(step["show"]) + 2)  # and the words, and the bar


def in_view(page: "Page", step: dict[str, Any]) -> None:
    """As `shown`; the step's question is on the screen; type is large."""
    shown(page, step)
    seen = page.evaluate("""() => {
      const seen = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
      const { bottom } = document.querySelector('.lesson-question').getBoundingClientRect();
      const type = seen('.lesson p:not(.sr-only, .lesson-notes p), .lesson-options button');
      const size = (one) => parseFloat(getComputedStyle(one).fontSize);
      const sizes = type.map(size);
      const labels = seen('.opened .overlay text:not(.number)').map(size);
      return [bottom <= innerHeight, seen('header').length, Math.min(...sizes), Math.min(16, ...labels)];
    }""")
    assert seen[:2] == [True, 0], step["id"]
    assert all_in_view(page), step["id"]
    assert seen[2] >= 22, step["id"]
    assert seen[3] == 16 or page.viewport_size["width"] < 900, step["id"]  # from the back of a class


def all_in_view(page: "Page") -> bool:
    """Nothing of the words, what there is to try, the question and its answer is cut off or covered."""
    found: bool = page.evaluate("""() => {
      const [column, bar] = ['.lesson', '.lesson-bar'].map((one) => document.querySelector(one));
      const question = document.querySelector('.lesson-question').getBoundingClientRect();
      const told = [...column.querySelectorAll('h1, .lesson-words, .lesson-try')];
      const parts = told.filter((one) => one.checkVisibility());
      return column.scrollTop === 0 && column.scrollHeight <= column.clientHeight
        && parts.every((one) => one.getBoundingClientRect().bottom <= question.top)
        && question.bottom <= bar.getBoundingClientRect().top;
    }""")
    return found


def told(page: "Page") -> int:
    """How many things that would answer the question can be seen."""
    found: int = page.evaluate("""() => [...document.querySelectorAll('.in-lesson .tells')]
      .filter((one) => one.checkVisibility({ visibilityProperty: true })).length""")
    return found


#: Their pictures show the answer.
KEPT = {"vectors", "toy", "softmax", "values", "scale", "mixing", "cls"}


def test_twelve_steps_with_the_arrow_keys(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 1280, "height": 720})
    page.goto("/?lesson=attention")
    for n, step in enumerate(steps("attention"), 1):
        arrive(page, step["id"])
        assert f"Step {n} of 12" in page.locator(".lesson-count").inner_text()
        in_view(page, step)
        if "figure" in step:
            page.locator(".lesson-figure h2").wait_for()
        if step["id"] == "mask":
            labels = page.locator(".opened .row-label").all_text_contents()
            assert labels == ["Tom", "lost", "his", "red", "car", "“.”"], "all of them"
        assert told(page) == 0, step["id"]
        said = answer(page)
        performed(page, step["id"])
        assert (told(page) > 0) == (step["id"] in KEPT), step["id"]
        assert all_in_view(page), f"{step['id']}: the answer covers it"
        assert said, step["id"]
        assert "{" not in said, step["id"]
        assert page.locator("[data-verdict=right]").count() == 1, step["id"]
        if n in (4, 8):
            assert serious(page) == [], step["id"]
        page.locator(".lesson h1").focus()
        page.keyboard.press("PageDown" if n % 2 else "ArrowRight")
    arrive(page, "closing")
    assert page.locator(".lesson-count").inner_text().endswith("In short")
    assert page.get_by_test_id("lesson-onward").count() == 4
    page.keyboard.press("ArrowLeft")
    arrive(page, "writing")
    page.wait_for_url("**/?lesson=attention&step=12")
    page.evaluate("window.same = true")
    page.locator(".lesson-dots a").nth(2).click()
    arrive(page, steps("attention")[2]["id"])
    assert page.evaluate("window.same"), "a dot does not load the page again"


def performed(page: "Page", step: str) -> None:
    """The page shows what the answer says: the cut, the pieces, the products, the run without a mask, both texts."""
    if step == "river":
        page.get_by_test_id("river-says").filter(has_text="Hidden in 6 layers").wait_for()
    elif step == "tokens":
        page.wait_for_function("""() => {
          const tokens = [...document.querySelectorAll('.strip .tok .text')].map((one) => one.textContent);
          return tokens.length > 3 && tokens.join('') === 'xylophone';
        }""")
    elif step == "toy":
        assert page.locator(".lesson-figure .row-bar").count() == 14
        assert page.locator(".lesson-figure .row-bar.best").text_content().startswith("·car")
    elif step == "mask":
        page.locator(".overlay .tipped").filter(has_text="on later").first.wait_for()
    elif step == "writing":
        page.get_by_test_id("tree-end").nth(1).wait_for()


#: The lowest edge of what a step shows, the smallest number in a cell of a matrix, and the room beside the words.
LOWEST = """async () => {
  const { picturesIn } = await import('/static/chart/pictures.js');
  const { numbersOf } = await import('/static/chart/matrix/labels.js');
  const shown = [...document.querySelectorAll('[data-lesson=shown]:not(.lesson, .lesson-bar)')];
  const seen = shown.filter((one) => one.checkVisibility());
  const matrices = seen.flatMap(picturesIn).filter(({ kind }) => kind === 'matrix');
  const sizes = matrices.map(({ content, size }) => numbersOf(content, size).size).filter(Boolean);
  const boxes = seen.flatMap((one) => [one, ...one.querySelectorAll('.sheet, .full-button')])
    .filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect());
  const lowest = Math.max(...boxes.map(({ bottom }) => bottom));
  const words = document.querySelector('.lesson').getBoundingClientRect();
  return [lowest, Math.min(13, ...sizes), words.left - Math.max(...boxes.map(({ right }) => right))];
}"""


def nothing_covered(page: "Page", name: str, lang: str) -> None:
    page.goto(f"/?lesson={name}&lang={lang}")
    for step in [*steps(name), {"id": "closing"}]:
        arrive(page, step["id"])
        if "figure" in step:
            page.locator(".lesson-figure h2").wait_for()
        assert all_in_view(page), step["id"]
        if "question" in step:
            shown(page, step)
            assert "{" not in answer(page), step["id"]
            assert page.locator("[data-verdict=right]").count() == 1, step["id"]
            assert all_in_view(page), f"{step['id']}: the answer"
        end = page.viewport_size["height"] - 60
        lowest, smallest, room = page.evaluate(LOWEST)
        if lowest > end:  # what arrives late may still change its place
            page.wait_for_load_state("networkidle")
            lowest, smallest, room = page.evaluate(LOWEST)
        assert lowest <= end, f"{step['id']}: the picture"
        assert smallest == 13, step["id"]
        assert room >= 0, f"{step['id']}: the words cover the picture"
        page.locator(".lesson h1").focus()
        page.keyboard.press("PageDown")
    page.wait_for_selector(".lesson", state="detached")


@pytest.mark.japanese
def test_on_a_phone_the_menu_is_on_the_screen(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    page.goto("/?lang=ja")
    open_more(page)
    page.get_by_test_id("lessons-button").click()
    box = page.get_by_test_id("lesson-menu").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


@pytest.mark.parametrize(
    ("name", "lang"),
    [("attention", "en"), *(pytest.param(name, "ja", marks=pytest.mark.japanese) for name in ("masks", "translator"))],
)
def test_a_laptop_with_the_browsers_bars_covers_nothing(open_page: "Callable[..., Page]", name: str, lang: str) -> None:
    """1280 × 577 is what they leave of 1280 × 720."""
    nothing_covered(open_page(viewport={"width": 1280, "height": 577}), name, lang)


def test_escape_returns_to_what_was_open(page: "Page") -> None:
    page.goto("/?text=The cat sat.&view=qkv&layer=2")
    drawn(page)
    all_heads(page)
    page.get_by_test_id("head").nth(9).click()  # the address is in the page's own form
    page.wait_for_url("**head=1**")
    address = page.url
    page.get_by_test_id("lessons-button").click()
    page.locator("[data-testid=lesson-item][data-lesson=attention]").click()
    arrive(page, "river")
    said = answer(page, 0)
    assert "Not quite" in said
    assert "car" in said
    page.evaluate("window.print = () => {}")
    page.get_by_test_id("lesson-print").click()
    assert page.locator(".lesson-print article").count() == len(steps("attention")) + 1, "for the class"
    assert page.locator(".lesson-paper-notes").count() == 0
    page.locator(".lesson h1").focus()
    page.keyboard.press("s")
    assert page.get_by_test_id("lesson-speaker").is_visible()
    page.get_by_test_id("lesson-print").click()
    assert page.locator(".lesson-paper-notes").count() == len(steps("attention")) + 1, "for the speaker"
    page.keyboard.press("ArrowRight")
    arrive(page, "tokens")
    late: list[Route] = []
    page.route("**/api/tokenize", lambda route: late.append(route), times=1)  # noqa: PLW0108  playwright marks it
    with page.expect_request("**/api/tokenize"):
        page.get_by_test_id("lesson-reveal").click()
    page.get_by_test_id("lesson-next").click()
    arrive(page, "vectors")
    with page.expect_response("**/api/tokenize"):
        late[0].continue_()
    page.wait_for_function("() => true")  # a frame later
    assert page.get_by_test_id("lesson-option").first.is_visible(), "an answer belongs to its own question"
    page.keyboard.press("Escape")
    page.wait_for_selector(".lesson", state="detached")
    page.wait_for_function("address => location.href === address", arg=address)
    assert page.locator("[data-lesson]").count() == 0
    assert page.evaluate("document.activeElement.dataset.testid") == "lessons-button"


#: The places that the step shows, then what there is to try with them: together, as high as the window over the bar.
IN_ONE_VIEW = """() => {
  const shown = [...document.querySelectorAll('[data-lesson=shown]:not(.lesson, .lesson-bar)')];
  const tops = shown.filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().top);
  const { top, bottom } = document.querySelector('.lesson-try').getBoundingClientRect();
  const bar = document.querySelector('.lesson-bar').getBoundingClientRect();
  return Math.max(...tops) < top && bottom - Math.min(...tops) <= bar.top;
}"""


@pytest.mark.japanese
def test_a_lesson_on_a_phone_in_japanese(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    page.goto("/?lesson=attention&step=4&lang=ja")
    arrive(page, "toy")
    assert page.evaluate("document.querySelector('body').scrollWidth") == 390
    arrow = page.locator(".toy-arrow.q")
    arrow.focus()
    page.keyboard.press("ArrowLeft")
    assert "(2.25, 1.50)" in (arrow.get_attribute("aria-valuetext") or "")
    assert "car" in answer(page, 1)
    assert not page.locator(".lesson-try").is_visible(), "the toy has gone"
    for n in (8, 9, 10, 12, 4):  # the highest pictures
        page.locator(".lesson-dots a").nth(n - 1).click()
        arrive(page, steps("attention")[n - 1]["id"])
        if n in (9, 10):
            page.locator(".lesson-figure h2").wait_for()
            answer(page)  # their task comes after the guess
        assert page.evaluate(IN_ONE_VIEW), n
    assert page.locator(".lesson-bar").evaluate("bar => bar.scrollWidth <= bar.clientWidth")


def test_on_a_phone_the_question_comes_before_next(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    page.goto("/?lesson=attention&step=3")
    arrive(page, "vectors")
    page.locator(".lesson-figure h2").wait_for()
    forward = page.get_by_test_id("lesson-next")
    expect(forward).to_have_text("Guess ↓")
    assert page.locator(".lesson-bar").evaluate("bar => bar.scrollWidth <= bar.clientWidth")
    forward.click()
    expect(forward).to_have_text("Next")
    assert page.locator(".lesson-bar, .lesson-options").evaluate_all(
        "([options, bar]) => options.getBoundingClientRect().bottom <= bar.getBoundingClientRect().top"
    )
    forward.click()  # who wants to goes on without a guess
    arrive(page, "toy")
    expect(forward).to_have_text("Guess ↓")


def test_the_tokens_of_a_lesson_are_all_to_be_seen(open_page: "Callable[..., Page]") -> None:
    """Each in a box, with its space and its number, under the field to type in."""
    for viewport in ({"width": 1280, "height": 720}, {"width": 390, "height": 844}):
        page = open_page(viewport=viewport)
        page.goto("/?lesson=attention&step=2")
        arrive(page, "tokens")
        tokens = page.get_by_test_id("token")
        assert tokens.all_text_contents()[:4] == ["Tom1591", "·saw508", "·a258", "·din1659"]
        boxes = tokens.evaluate_all("all => all.map((one) => one.getBoundingClientRect().toJSON())")
        assert min(box["left"] for box in boxes) >= 0
        assert max(box["right"] for box in boxes) <= viewport["width"]
        page.get_by_test_id("sentence").fill("A zebra.")
        expect(tokens).to_have_count(5)
        page.locator(".lesson h1").click()
        expect(page.get_by_test_id("sentence")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("lang", ["en", pytest.param("ja", marks=pytest.mark.japanese)])
def test_a_lesson_in_the_dark_says_brighter(open_page: "Callable[..., Page]", lang: str) -> None:
    page = open_page(viewport={"width": 1280, "height": 720}, color_scheme="dark")
    page.goto(f"/?lesson=attention&step=1&lang={lang}")
    arrive(page, "river")
    words = page.locator(".lesson-words, .lesson-try").all_inner_texts()
    for text in words:
        assert ("bright" if lang == "en" else "明る") in text
        assert not {"dark", "濃"} & {*text.lower().split(), *text}


#: Each place that a step may name, and a model that has it.
PLACES = {
    "sentence": {},
    "river": {},
    "heads": {"station": "weights"},
    "causal": {},
    "masks": {"padCount": 2},
    "station": {"station": "weights"},
    "inspector": {"station": "weights"},
    "next": {},
    "generation": {},
    "classes": {"model": "sentiment-encoder", "text": "A dull, lifeless film."},
    "batch": {
        "model": "sentiment-encoder",
        "text": "A dull film.",
        "viewState": {"batch": {"text": "I slept."}},
    },
}


def test_every_place_that_a_step_can_name_is_shown(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 1280, "height": 720})
    guide = (FOLDER.parent / "lesson/guide.js").read_text("utf-8")
    assert re.findall(r"^  (\w+): \(\{", guide, re.MULTILINE) == list(PLACES)
    [base] = [step for step in steps("masks") if step["id"] == "matrix"]
    told = {"model": "stories-gpt", "text": "Tom lost his red car."}
    made = [
        base | {"id": name, "open": told | opened, "show": [name], "question": None} for name, opened in PLACES.items()
    ]
    about = json.loads((FOLDER / "masks.json").read_text("utf-8"))
    page.route("**/lessons/masks.json", lambda route: route.fulfill(json=about | {"steps": made}))
    page.goto("/?lesson=masks")
    for step in made:
        arrive(page, step["id"])
        shown(page, step)
        box = page.locator("[data-lesson=shown]:not(.lesson, .lesson-bar, .lesson-print)").first.bounding_box()
        assert box is not None
        assert box["width"] > 40, step["id"]
        assert box["height"] > 20, step["id"]
        assert box["x"] + box["width"] <= 1280, step["id"]
        page.locator(".lesson h1").focus()
        page.keyboard.press("PageDown")


def test_the_end_of_a_lesson_leads_on(page: "Page") -> None:
    page.goto("/?lesson=attention&step=13")
    arrive(page, "closing")
    page.get_by_test_id("lesson-onward").nth(1).click()
    page.wait_for_url("**/?lesson=masks&step=1")
    arrive(page, steps("masks")[0]["id"])
    page.goto("/?lesson=attention&step=13")
    arrive(page, "closing")
    page.get_by_test_id("lesson-onward").first.click()
    page.wait_for_selector(".lesson", state="detached")
    page.wait_for_url("**layer=5&head=5**")  # the head that decides the answer, not the first of all
    assert page.evaluate("document.activeElement.dataset.testid") == "sentence"


def test_a_word_of_the_glossary_leads_to_its_station(page: "Page") -> None:
    page.goto("/?text=The cat sat.")
    drawn(page)
    page.keyboard.press("?")
    page.locator("[data-testid=word-list] [data-word=logit]").click()
    card = page.get_by_test_id("word-card")
    assert "Softmax turns all of them into probabilities" in card.inner_text()
    assert serious(page, "dialog.help") == []
    page.keyboard.press("Escape")
    assert card.is_hidden()
    assert page.locator("dialog.help").is_visible(), "Escape closes the card first"
    page.locator("[data-testid=word-list] [data-word=logit]").click()
    page.get_by_test_id("word-station").click()
    page.wait_for_selector("[data-station=prediction]:not([hidden])")
    page.locator("[data-station=prediction] .reading [data-word]:visible").first.wait_for()


def test_a_formula_of_the_walk_shows_its_source(page: "Page") -> None:
    page.goto("/?text=The cat sat.&view=computation&computation.step=attn.softmax")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("source").locator("summary").click()
    code = page.get_by_test_id("source").locator("pre")
    code.wait_for()
    assert code.inner_text().strip() == source("masked_softmax").code.strip()
    assert "model/mechanisms/softmax.py" in page.get_by_test_id("source").inner_text()
    assert "[4 tokens × 4]" in (page.get_by_test_id("source-shapes").text_content() or "")  # The cat sat.
