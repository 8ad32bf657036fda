"""A class in one room: a teacher and four pupils, each in a browser of their own."""

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import drawn, serious
from tests.browser.shared_page import DEFAULTS, MEDIA, PATIENCE_MS, UNSEEN

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

HEAD = "/?model=stories-gpt&view=attention&layer=3&head=4#text=Tom+lost+his+red+car.+Mom+found+the+red"
Enter = Callable[..., "Page"]


@pytest.fixture
def enter(browser: "Browser", app_url: str) -> Iterator[Enter]:
    """`enter(path)`: a page in a new browser context. Afterwards, none may have reported an error."""
    errors: list[str] = []
    contexts = []

    def enter(path: str, *scripts: str, **options: Any) -> "Page":
        context = browser.new_context(**DEFAULTS | MEDIA | {"base_url": app_url} | options)
        for script in (UNSEEN, *scripts):
            context.add_init_script(script)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path)
        return page

    yield enter
    for context in contexts:
        context.close()
    assert errors == []


def opened(enter: Enter, *scripts: str, **options: Any) -> tuple["Page", str]:
    """A teacher with a room, and its code."""
    teacher = enter(HEAD, *scripts, **options)
    teacher.wait_for_selector('body[data-state="ready"]')
    teacher.get_by_test_id("lessons-button").click()
    teacher.get_by_test_id("lessons-teach").click()
    code = teacher.get_by_test_id("room-code")
    expect(code).to_have_text(re.compile(r"^[2-9A-HJKMNP-Z]{3} [2-9A-HJKMNP-Z]{3}$"))
    return teacher, code.inner_text()


def joined(enter: Enter, code: str, name: str = "") -> "Page":
    pupil = enter(f"/?room={code.replace(' ', '')}")
    pupil.get_by_test_id("room-name-field").fill(name)
    pupil.get_by_test_id("room-join").click()
    expect(pupil.get_by_test_id("room-status")).to_have_text("You are following the teacher.")
    return pupil


# Before the page's scripts: what pictures write on their canvas, and how large, in pixels of the canvas; 0: it is cut.
WRITTEN = """(() => {
  window.written = new Map();
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...all) {
    written.delete(this.canvas);
    return clearRect.call(this, ...all);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    const { a, b, e } = this.getTransform();
    const before = { right: 1, center: 0.5 }[this.textAlign] ?? 0;
    const left = e + a * (place[0] - before * this.measureText(text).width);
    const size = left < -1 ? 0 : parseFloat(/([\\d.]+)px/.exec(this.font)[1]) * Math.hypot(a, b);
    if (String(text).trim()) written.set(this.canvas, [...(written.get(this.canvas) ?? []), [String(text), size]]);
    return fillText.call(this, text, ...place);
  };
})()"""
DRAWN = """() => document.body.dataset.state === 'ready' &&
  [...document.querySelectorAll('.lesson-figure:not([hidden])')]
    .every((one) => one.firstElementChild?.childElementCount > 0)"""
# A picture that has another size moves what is below it.
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
# Every text that is smaller than 24 px on the screen, of elements, SVG and canvases; and how many were looked at.
SMALL = """() => {
  const texts = [];
  const seen = (element) =>
    element.checkVisibility({ visibilityProperty: true }) && !element.closest('.sr-only, .skip');
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !seen(element) || element.closest('script, style, option')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const { width, top, bottom, left, right } = range.getBoundingClientRect();
    const out = width < 1 || bottom < 0 || right < 0 || top > innerHeight || left > innerWidth;
    if (out || getComputedStyle(element).clipPath !== 'none') continue;
    const matrix = element.closest('svg') && element.getScreenCTM?.();
    const scale = matrix ? Math.hypot(matrix.a, matrix.b) : element.currentCSSZoom;
    texts.push([node.data.trim(), parseFloat(getComputedStyle(element).fontSize) * scale]);
  }
  for (const field of document.querySelectorAll('textarea, select, input:not([type=range], [type=checkbox])'))
    if (seen(field)) texts.push([field.value, parseFloat(getComputedStyle(field).fontSize) * field.currentCSSZoom]);
  for (const [canvas, on] of written) {
    if (!canvas.isConnected || !seen(canvas)) continue;
    const scale = canvas.getBoundingClientRect().width / canvas.width;
    texts.push(...on.map(([text, size]) => [text, size * scale]));
  }
  written.clear();
  return { small: texts.filter(([, size]) => size < 23.9), looked: texts.length };
}"""


def test_on_a_projector_no_text_is_smaller_than_24_pixels(enter: Enter) -> None:
    """The river, a head, and every step of the lesson, through which a presenter's remote leads; at two sizes, of which
    each step begins in the one where the step before it ended."""
    sizes = [{"width": 1440, "height": 900}, {"width": 1920, "height": 1080}]
    teacher, _ = opened(enter, WRITTEN, viewport=sizes[0])
    teacher.get_by_test_id("room-open").click()
    drawn(teacher)
    teacher.evaluate("written.clear()")
    teacher.get_by_test_id("room-project").click()

    def looks(what: str) -> None:
        for turn in range(2):
            if turn:
                sizes.reverse()
                teacher.set_viewport_size(sizes[0])
                teacher.evaluate(FRAMES)
            teacher.wait_for_function(DRAWN)
            found = teacher.evaluate(SMALL)
            assert (what, sizes[0], found["small"]) == (what, sizes[0], [])
            assert found["looked"] > 15, what

    drawn(teacher)
    looks("head")
    teacher.get_by_test_id("room-project").click()
    teacher.get_by_test_id("room-open").click()
    teacher.get_by_test_id("room-lesson").click()
    expect(teacher.get_by_test_id("river-says")).to_contain_text("98")  # the river is there, with smaller letters
    teacher.evaluate("written.clear()")
    teacher.get_by_test_id("room-project").click()
    for step in range(1, 14):
        place = "In short" if step == 13 else f"Step {step} of 12"
        expect(teacher.locator(".lesson-count")).to_contain_text(place)
        looks(place)
        if step in (1, 8):  # the answer changes the picture
            teacher.get_by_test_id("lesson-reveal").click()
            expect(teacher.get_by_test_id("lesson-answer")).to_contain_text("%")
            looks(f"the answer of {place}")
        teacher.keyboard.press("PageDown")


def test_four_pupils_follow_explore_vote_hand_in_and_leave(enter: Enter) -> None:
    """As many as there are parts to play; tests/app/test_rooms.py has a class of 300."""
    teacher, code = opened(enter)
    pupils = [joined(enter, code, f"Pupil {n}") for n in range(3)]
    typing = enter("/join")  # and one who types the code, in small letters
    typing.get_by_test_id("room-code-field").fill(code.lower())
    typing.get_by_test_id("room-join").click()
    pupils.append(typing)
    expect(teacher.get_by_test_id("room-people")).to_have_text("4 here")
    for act in (follow, explore, vote, lead_a_lesson, hand_in, leave):
        act(teacher, pupils)


def test_a_question_is_read_in_the_pupils_language_and_the_model_answers_it(enter: Enter) -> None:
    """That of the lesson, where a head attends, and whether the mask is there."""
    teacher, code = opened(enter)
    pupil = enter(f"/?room={code.replace(' ', '')}", locale="ja-JP")
    pupil.get_by_test_id("room-join").click()
    expect(pupil.get_by_test_id("room-status")).to_have_text("先生の画面を見ています。")

    def put(words: str) -> str:
        teacher.locator(".room-offer", has_text=words).click()
        expect(pupil.get_by_test_id("room-option").first).to_be_visible()
        return pupil.get_by_test_id("room-question").inner_text()

    def answer() -> tuple[str, str]:
        teacher.get_by_test_id("room-reveal").click()
        expect(pupil.get_by_test_id("room-says")).to_be_visible()
        right = pupil.locator('.room-option[data-verdict="right"] .room-option-words').inner_text()
        says = pupil.get_by_test_id("room-says").inner_text()
        teacher.get_by_test_id("room-done").click()
        expect(pupil.get_by_test_id("room-card")).to_be_hidden()
        return right, says

    assert put("which token does") == "ヘッド 3·4：red 9 がいちばん見ているトークンはどれでしょう。"
    assert answer()[0] == "car 4 ✓"
    asked = put("With or without the causal mask?")
    shares = [share(teacher, causal) for causal in (True, False)]
    told = [f"「car」（{one}）と予測" in asked for one in shares]
    teacher.reload()  # the model still answers it
    expect(teacher.get_by_test_id("room-reveal")).to_have_text("Show the answer")
    right, says = answer()
    assert right == ("マスクがあるとき ✓" if told == [True, False] else "マスクがないとき ✓")
    assert all(one in says for one in shares)
    teacher.get_by_test_id("room-open").click()
    teacher.get_by_test_id("room-lesson").click()
    teacher.get_by_test_id("room-ask").click()
    expect(pupil.get_by_test_id("room-question")).to_have_text(
        "最後の red が、どの層でも car を見られなければ、モデルの予測は？"
    )
    expect(teacher.get_by_test_id("room-voted")).to_have_text("0 of 1 have voted.")
    assert answer()[1].startswith("ball（72.6")


def share(page: "Page", causal: bool) -> str:
    """The probability of “car” after the sentence of `HEAD`, as the page writes it; from the API."""
    run = {"model": "stories-gpt", "input": {"text": "Tom lost his red car. Mom found the red"}}
    asked = {**run, "masks": {"causal": causal}, "want": [], "predict": {"n": 50}}
    body = page.request.post("/api/trace", data=asked).body()
    length = int.from_bytes(body[:8], "little")
    meta = json.loads(json.loads(body[8 : 8 + length])["__metadata__"]["chumoku"])
    (car,) = [one for one in meta["predictions"][0]["candidates"] if one["text"].strip() == "car"]
    return f"{100 * car['before']:.1f}\u202f%"


def follow(teacher: "Page", pupils: list["Page"]) -> None:
    """Each opens the head that the teacher opens, from at most 60 kB; no key is in any address."""
    came: list[Request] = []

    def finished(request: "Request") -> None:
        came.append(request)

    pupils[1].on("requestfinished", finished)
    teacher.get_by_test_id("room-open").click()
    teacher.get_by_test_id("all-heads").click()
    teacher.get_by_test_id("head").nth(5 * 8 + 2).click()
    for pupil in pupils:
        expect(pupil.locator(".opened h1")).to_contain_text("Head 5·2")
        assert "room" not in pupil.url
    assert "room" not in teacher.url
    drawn(pupils[1])
    assert 10_000 < sum(one.sizes()["responseBodySize"] for one in came) <= 60_000


def explore(teacher: "Page", pupils: list["Page"]) -> None:
    """One looks around, and is called back."""
    first, people = pupils[0], teacher.get_by_test_id("room-people")
    first.get_by_test_id("all-heads").click()
    first.get_by_test_id("head").nth(0).click()
    expect(first.get_by_test_id("room-status")).to_have_text("You are exploring.")
    expect(people).to_have_text("4 here · 1 exploring")
    teacher.get_by_test_id("room-recall").click()
    expect(first.get_by_test_id("room-status")).to_have_text("You are following the teacher.")
    expect(first.locator(".opened h1")).to_contain_text("Head 5·2")


def vote(teacher: "Page", pupils: list["Page"]) -> None:
    """Twice: the counts are the teacher's until the answer is shown, which the model gives. Who opens the page again is
    the same pupil."""
    teacher.get_by_test_id("room-open").click()
    teacher.locator(".room-offer", has_text="which token does").click()
    for pupil in pupils:
        pupil.get_by_test_id("room-option").nth(1).click()
    expect(teacher.get_by_test_id("room-voted")).to_have_text("4 of 4 have voted.")
    expect(pupils[1].locator(".room-share")).to_have_count(0)
    teacher.get_by_test_id("room-again").click()
    for pupil in pupils[:2]:
        expect(pupil.get_by_test_id("room-voted")).to_have_text("Talk about it, then choose again.")
        pupil.get_by_test_id("room-option").nth(0).click()
    expect(teacher.get_by_test_id("room-voted")).to_have_text("Second vote: 2 of 4.")
    assert serious(teacher, ".room-side") == []
    assert serious(pupils[1], ".room", ".room-card") == []
    teacher.get_by_test_id("room-reveal").click()
    for pupil in pupils:
        expect(pupil.locator('.room-option[data-verdict="right"]')).to_have_count(1)
    first_vote = pupils[1].get_by_test_id("room-option").nth(1).locator('[data-round="1"]')
    expect(first_vote).to_have_attribute("data-n", "4")
    pupils[1].reload()
    expect(pupils[1].get_by_test_id("room-says")).to_be_visible()
    expect(teacher.get_by_test_id("room-people")).to_have_text("4 here")
    teacher.get_by_test_id("room-done").click()


def lead_a_lesson(teacher: "Page", pupils: list["Page"]) -> None:
    """From the bar alone: the lesson's own question is put to the class, its answer is on every screen, and the next
    step takes it away. Who follows has no buttons of the lesson, and no answer before the class."""
    first = pupils[0]
    teacher.get_by_test_id("room-lesson").click()
    expect(teacher.get_by_test_id("room-side")).to_be_hidden()
    expect(first.get_by_test_id("lesson")).to_be_visible()
    expect(first.get_by_test_id("lesson-option").first).to_be_hidden()
    expect(first.get_by_test_id("lesson-next")).to_be_hidden()
    first.get_by_test_id("room-explore").click()
    expect(first.get_by_test_id("lesson-option").first).to_be_visible()
    teacher.get_by_test_id("room-ask").click()
    expect(first.get_by_test_id("lesson-option").first).to_be_hidden()  # nobody has the answer before the class
    first.get_by_test_id("room-back").click()
    expect(first.get_by_test_id("lesson-next")).to_be_hidden()
    first.get_by_test_id("room-option").nth(2).click()
    expect(teacher.get_by_test_id("room-voted")).to_have_text("1 of 4 have voted.")
    expect(first.get_by_test_id("lesson-answer")).to_be_empty()
    look_at_the_votes(teacher)
    teacher.reload()
    expect(teacher.get_by_test_id("room-reveal")).to_have_text("Show the answer")  # it is still the model that answers
    held = teacher.locator(".lesson-question")
    expect(held).to_have_attribute("inert", "")  # a click on an option there would show the answer
    teacher.get_by_test_id("room-reveal").click()
    expect(held).not_to_have_attribute("inert", "")
    for page in (teacher, first):
        expect(page.get_by_test_id("lesson-answer")).to_contain_text("ball")
    expect(first.get_by_test_id("room-says")).to_contain_text("ball")
    first.get_by_test_id("room-fold").click()
    expect(first.get_by_test_id("room-says")).to_be_hidden()
    teacher.keyboard.press("PageDown")
    expect(first.get_by_test_id("room-card")).to_be_hidden()
    expect(first.locator(".lesson h1")).to_have_text("The model reads tokens, not words")
    expect(first.get_by_test_id("room-status")).to_have_text("You are following the teacher.")


def look_at_the_votes(teacher: "Page") -> None:
    """In the drawer; on the projector, neither they nor the notes nor an empty heading are to be seen."""
    side, question = teacher.get_by_test_id("room-side"), teacher.locator(".room-side > .room-question")
    notes, turn = teacher.get_by_test_id("room-notes"), teacher.locator(".room-side > .room-turn")
    teacher.get_by_test_id("room-see-votes").click()
    expect(question.locator('[data-n="1"]')).to_be_visible()
    expect(notes).to_be_visible()
    expect(turn).to_be_visible()
    teacher.get_by_test_id("room-project").click()
    expect(side).to_be_hidden()
    expect(teacher.get_by_test_id("room-see-votes")).to_be_hidden()
    teacher.get_by_test_id("room-open").click()
    expect(side).to_be_visible()
    for one in (question, notes, turn):
        expect(one).to_be_hidden()
    teacher.get_by_test_id("room-open").click()
    teacher.get_by_test_id("room-project").click()
    expect(teacher.get_by_test_id("room-see-votes")).to_be_visible()


def hand_in(teacher: "Page", pupils: list["Page"]) -> None:
    """A pupil hands in a sentence, and the teacher puts it on every screen, with its author's name."""
    first = pupils[0]
    teacher.get_by_test_id("room-open").click()
    teacher.get_by_test_id("fold-room-turn").locator("summary").click()
    teacher.get_by_test_id("room-turn-start").click()
    first.get_by_test_id("room-typed").fill("Lily has a green hat.")
    first.get_by_test_id("room-named").check()
    first.get_by_test_id("room-hand-in").click()
    expect(first.locator(".tok", has_text="green")).to_be_visible()  # what is handed in is on the pupil's own page
    expect(first.get_by_test_id("room-handed")).to_have_text("Handed in: Lily has a green hat.")
    expect(teacher.get_by_test_id("room-handed-in")).to_have_text("1 of 4 have handed in.")
    expect(teacher.get_by_test_id("room-wall")).to_have_class(re.compile("covered"))
    teacher.get_by_test_id("room-wall-shown").click()
    teacher.locator(".room-river[data-state=ready]").wait_for()
    teacher.get_by_test_id("room-sentence").click()
    for pupil in pupils:
        expect(pupil.locator(".tok", has_text="green")).to_be_visible()
        expect(pupil.get_by_test_id("room-status")).to_contain_text("This is Pupil 0’s.")
    teacher.get_by_test_id("room-open").click()
    teacher.get_by_test_id("room-turn-end").click()  # with rivers on the wall, which have fields of their own
    expect(teacher.get_by_test_id("fold-room-turn")).to_be_visible()
    expect(first.get_by_test_id("room-hand-in")).to_be_hidden()
    teacher.get_by_test_id("room-open").click()
    teacher.reload()  # the page may be loaded again meanwhile
    back = teacher.get_by_test_id("room-to-lesson")
    expect(back).to_have_text("Back to the lesson (step 2)")
    back.click()
    for page in (teacher, first):
        expect(page.locator(".lesson h1")).to_have_text("The model reads tokens, not words")
    expect(back).to_be_hidden()


def leave(teacher: "Page", pupils: list["Page"]) -> None:
    """One leaves; then the room ends, with one file and no names in it."""
    pupils[3].get_by_test_id("room-leave").click()
    expect(pupils[3].get_by_test_id("room-notice")).to_have_text("You have left the room.")
    expect(teacher.get_by_test_id("room-people")).to_contain_text("3 here")
    teacher.get_by_test_id("room-open").click()
    end = teacher.get_by_test_id("room-end")
    end.click()
    expect(end).to_have_text("End now and delete everything")
    with teacher.expect_download() as download:
        end.click()
    results = download.value.path().read_text("utf-8")
    assert "Lily has a green hat." in results
    assert "Pupil 0" not in results
    assert "4 (100" in results
    for pupil in pupils[:3]:
        expect(pupil.get_by_test_id("room-notice")).to_have_text("The room has ended.")
