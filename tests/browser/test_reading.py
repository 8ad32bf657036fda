"""Reading help: two sentences per panel, the invitation, the quiz, and the labels of heads."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from chumoku.model import checkpoint
from chumoku.model.explain.head_labels import RULES
from chumoku.model.explain.units import units
from chumoku.model.sampling import SamplingSettings, distribution
from chumoku.model.trace import Masks, trace
from tests.browser.helpers import all_heads, drawn, link, serious, to_station
from tests.shortcuts import labels

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TEXT = "Mia and Ben went to the park. Mia and Ben saw"
REVIEW = "The story is thin, but the actors are wonderful."
LAYER, HEAD = 5, 0
KINDS = {"previous": "previous token", "first": "first token", "self": "itself", "same": "same token"}


def load(name: str) -> checkpoint.Checkpoint:
    return checkpoint.load(checkpoint.ZOO / name, "cpu")


@pytest.fixture(scope="module")
def model() -> checkpoint.Checkpoint:
    return load("stories-gpt")


def show(page: "Page", **state: Any) -> None:
    page.goto(link({"text": TEXT, "layer": LAYER, "head": HEAD, "drawer": "generation"} | state))
    drawn(page)


def note(page: "Page", place: str) -> "Locator":
    return page.locator(f"[data-reading={place}]")


def spot(page: "Page", place: str) -> "Locator":
    return page.get_by_test_id(f"quiz-{place}")


def options(page: "Page", place: str) -> list[str]:
    """The options of a question as text: a token followed by its index."""
    spot(page, place).get_by_test_id("quiz-option").first.wait_for()
    return [text.strip() for text in spot(page, place).get_by_test_id("quiz-option").all_text_contents()]


def guess(page: "Page", place: str, option: int) -> str:
    """Choose an option; returns the page's verdict."""
    spot(page, place).get_by_test_id("quiz-option").nth(option).click()
    verdict = spot(page, place).get_by_test_id("quiz-verdict")
    verdict.wait_for()
    return re.sub(r"\s+", " ", verdict.inner_text())


def place_of(option: str) -> int:
    return int(option.rsplit(" ", 1)[1])


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


# --- two sentences --------------------------------------------------------------------------------------------------


def test_panels_say_what_they_show_and_how_to_read_it(page: "Page") -> None:
    show(page)
    page.locator(".inspector-more > summary").click()  # under the arithmetic in short
    for place in ("heads", "masks", "attention", "inspector", "next_token", "generation"):
        assert note(page, place).locator(".what").inner_text().endswith("."), place
        assert note(page, place).locator(".how").is_hidden(), place
    note(page, "attention").get_by_test_id("reading-how").click()
    assert "Read along a row" in note(page, "attention").locator(".how").inner_text()
    for view in ("tokens", "qkv", "av", "prediction"):
        to_station(page, view)
        assert note(page, view).locator(".what").inner_text(), view

    to_station(page, "attention")
    page.wait_for_url("**view=attention**")
    page.reload()
    drawn(page)
    assert note(page, "attention").locator(".how").is_visible(), "what the reader opened stays open"
    page.keyboard.press("?")
    page.get_by_test_id("switch-reading").click()
    page.keyboard.press("Escape")
    assert page.locator(".reading:visible").count() == 0
    page.reload()
    drawn(page)
    assert page.locator(".reading:visible").count() == 0, "hidden, they stay hidden on the next visit"


# --- labels of heads ------------------------------------------------------------------------------------------------


@pytest.mark.warm
def test_heads_are_labelled_by_the_rules(page: "Page", model: checkpoint.Checkpoint) -> None:
    expected = {(one.layer, one.head): one for one in labels(model, model.tokenizer.encode(TEXT))}
    assert expected[LAYER, HEAD].label == "induction"
    show(page, drawer="labels")
    said = page.get_by_test_id("head-label")
    said.wait_for()
    assert page.get_by_role("heading", name="Roles of heads").is_visible()
    marks = page.locator("[data-testid=head]").evaluate_all(
        "all => all.map(({ dataset: d, title }) => [Number(d.layer), Number(d.head), d.label ?? null, title])"
    )
    assert {(layer, head): label for layer, head, label, _ in marks} == {at: one.label for at, one in expected.items()}
    assert all(title.endswith(f": {KINDS.get(label, label)}") for _, _, label, title in marks if label)

    score = expected[LAYER, HEAD].scores["induction"].score
    assert said.inner_text().startswith("induction It looks at what came after the same token before")
    assert f"{score:.2f}" in said.inner_text()
    assert page.locator("[data-station=attention]").get_by_test_id("head-chip").inner_text() == "induction"
    labelled = sum(one.label is not None for one in expected.values())
    assert f"{labelled} of 48 heads show a known pattern" in page.get_by_test_id("label-counts").inner_text()
    page.get_by_test_id("label-scores").locator("summary").click()
    for line in page.get_by_test_id("label-scores").locator("li").all():
        kind = line.get_attribute("data-kind") or ""
        shown = float(line.get_attribute("data-score") or "nan")
        assert shown == pytest.approx(expected[LAYER, HEAD].scores[kind].score, abs=1e-5)  # type: ignore[index]
        assert f"(needs {RULES[kind][0]:.2f})" in line.inner_text()  # type: ignore[index]
    assert serious(page, "[data-panel=labels]", ".heads-row") == []

    nameless = next(one for one in expected.values() if one.label is None)
    all_heads(page)
    page.locator(f"[data-testid=head][data-layer='{nameless.layer}'][data-head='{nameless.head}']").click()
    page.wait_for_function("() => document.querySelector('[data-testid=head-label]').dataset.kind === ''")
    best = max(one.score for one in nameless.scores.values())
    if best < 0.15:
        assert said.is_hidden(), "nothing is said where there is nothing to say"
    else:
        assert f"({100 * best:.0f} %), not enough" in said.inner_text().replace("\u202f", " ")

    page.get_by_test_id("sentence").fill("Tom ran")
    page.wait_for_function("() => document.querySelectorAll('[data-testid=token]').length === 2")
    drawn(page)
    short = {(one.layer, one.head): one.label for one in labels(model, model.tokenizer.encode("Tom ran"))}
    count = sum(label is not None for label in short.values())
    page.wait_for_function(
        "n => document.querySelector('[data-testid=label-counts]').textContent.startsWith(`${n} of `)", arg=count
    )
    assert page.locator("[data-testid=head][data-label]").count() == count, "the previous sentence's labels are removed"


# --- the invitation -------------------------------------------------------------------------------------------------


@pytest.mark.japanese
def test_the_first_visit_is_invited_to_the_lesson(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 800})
    page.goto("/?lang=ja&model=sentiment-encoder&level=look")
    offer = page.get_by_test_id("lesson-offer")
    offer.get_by_test_id("lesson-take").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    offer.get_by_test_id("lesson-decline").click()
    assert offer.is_hidden()
    page.goto("/")
    assert page.get_by_test_id("lesson-offer").is_hidden(), "it is offered once"


def test_beside_a_sentence_the_lessons_invite_until_their_menu_was_opened(page: "Page") -> None:
    show(page, level="understand")
    lessons = page.get_by_test_id("lessons-button")
    plain = re.compile(r"^btn with-icon$")
    expect(lessons).not_to_have_class(plain)
    lessons.click()
    expect(page.get_by_test_id("lesson-item").first).to_be_visible()
    expect(lessons).to_have_class(plain)
    page.reload()
    drawn(page)
    expect(lessons).to_have_class(plain)


# --- the quiz -------------------------------------------------------------------------------------------------------


def test_guesses_are_answered_with_the_models_numbers(page: "Page", model: checkpoint.Checkpoint) -> None:
    ids = model.tokenizer.encode(TEXT)
    run = trace(model, ids, [f"layers.{LAYER}.attn.pattern", "logits"])
    pattern = run.tensors[f"layers.{LAYER}.attn.pattern"][HEAD]
    other = trace(model, ids, [f"layers.{LAYER}.attn.pattern"], use=Masks(causal=False))
    moved = (other.tensors[f"layers.{LAYER}.attn.pattern"][HEAD] - pattern).abs().sum(-1) / 2
    last = run.tensors["logits"][-1]
    now, cooler = (distribution(last, SamplingSettings(t, 20, 0.95), [model.tokenizer.pad_id]) for t in (0.8, 0.4))

    show(page, quiz="on")
    weights = page.locator("[data-station=attention]")
    assert not weights.is_visible(), "the answer is covered"
    for covered in ("likely", "gen-step", "river-says", "say", "river"):  # chips, sentence, best guess, prediction
        assert page.get_by_test_id(covered).first.is_hidden(), covered
    assert spot(page, "generation").is_hidden(), "it would reveal the next token"
    assert serious(page) == []

    asked = [place_of(option) for option in options(page, "opened")]
    best = int(pattern[-1].argmax())
    wrong = next(i for i, key in enumerate(asked) if key != best)
    said = guess(page, "opened", wrong)
    assert said.startswith("Not this time.")
    assert f"gets {pattern[-1, best]:#.3g} of its weight" in said
    assert f"only {pattern[-1, asked[wrong]]:#.3g}" in said
    assert weights.is_visible()

    asked = [place_of(option) for option in options(page, "masks")]
    row = int(moved.argmax())
    said = guess(page, "masks", asked.index(row))
    assert said.startswith("Right.")
    assert percent(float(moved[row])) in said.replace("\u202f", " ")

    tokens = options(page, "dock")
    top = int(now.before.argmax())
    label = model.tokenizer.tokens([top])[0].text.replace(" ", "·")
    said = guess(page, "dock", tokens.index(label))
    assert said.startswith("Right.")
    assert percent(float(now.before[top])) in said.replace("\u202f", " ")

    assert page.get_by_test_id("likely").first.is_visible(), "the chips are the answer"
    assert options(page, "generation") == ["It rises", "It falls", "It stays"]
    said = guess(page, "generation", 0).replace("\u202f", " ")
    assert said.startswith("Right." if cooler.after[top] > now.after[top] + 5e-4 else "Not this time.")
    assert f"From {percent(float(now.after[top]))} at 0.8 to {percent(float(cooler.after[top]))} at 0.4" in said
    assert page.get_by_test_id("quiz-score").inner_text() == "3 of 4 right"
    assert serious(page, ".quiz-card") == []

    page.get_by_test_id("quiz-more").first.click()
    page.wait_for_url(re.compile("compare=on"))
    page.get_by_test_id("quiz-end").click()
    expect(page.locator(".quiz-card:visible")).to_have_count(0)


def test_units_and_a_guess_that_was_not_made(page: "Page", model: checkpoint.Checkpoint) -> None:
    found = units(model, model.tokenizer.encode(TEXT))[LAYER]
    show(page, quiz="on", drawer="labels")
    options(page, "opened")
    to_station(page, "ffn")
    page.wait_for_function(
        "() => document.querySelector('[data-testid=quiz-opened] .ask')?.textContent.includes('units')"
    )
    asked = [int(re.sub(r"\D", "", option)) for option in options(page, "opened")]
    assert len(found.dead) in asked
    assert asked == sorted(set(asked))
    spot(page, "opened").get_by_test_id("quiz-show").click()
    verdict = spot(page, "opened").get_by_test_id("quiz-verdict")
    verdict.wait_for()
    assert verdict.get_attribute("data-kind") == "shown"
    assert f"{len(found.dead)} of" in verdict.inner_text().replace(",", "")
    assert page.get_by_test_id("quiz-score").inner_text() == "", "a revealed answer does not count as a guess"


def test_no_station_reveals_the_answer_before_the_guess(page: "Page") -> None:
    show(page, quiz="on", view="qkv")
    inspector = page.locator('[data-panel="inspector"] [data-testid="arithmetic"]')
    assert inspector.is_hidden(), "there is nothing to explain"
    walk = {"text": TEXT, "quiz": "on", "view": "computation"}  # this station has no matrix to wait for
    page.goto(link(walk | {"computation__step": "attn.softmax"}))
    options(page, "opened")
    assert page.get_by_test_id("computation-result").is_hidden()
    assert inspector.is_hidden()
    page.goto(link(walk | {"computation__step": "out.answer"}))
    options(page, "opened")
    assert "most likely" in spot(page, "opened").inner_text()
    page.goto(link(walk | {"view": "residual", "residual__tab": "gradients"}))
    options(page, "dock")
    expect(page.get_by_role("heading", name="How far back the gradient reaches")).to_be_visible()
    answers = page.get_by_test_id("answer")
    assert answers.is_hidden(), "they are in the order of their probabilities"
    spot(page, "dock").get_by_test_id("quiz-show").click()
    answers.wait_for()


def test_the_other_families_have_questions_too(page: "Page") -> None:
    sentiment, translator = load("sentiment-encoder"), load("translate-enja")
    show(page, model="sentiment-encoder", text=REVIEW, quiz="on", layer=1, head=1)
    classes = trace(sentiment, sentiment.tokenizer.encode(REVIEW), ["logits"]).tensors["logits"].softmax(-1).flatten()
    assert page.get_by_test_id("class").first.is_hidden()
    assert options(page, "dock") == ["negative", "positive"]
    said = guess(page, "dock", int(classes.argmax())).replace("\u202f", " ")
    assert said.startswith("Right.")
    assert percent(float(classes.max())) in said

    text = "I ate a banana in the morning."
    show(page, model="translate-enja", text=text, quiz="on", layer=1, head=2, query=2)
    asked = [place_of(option) for option in options(page, "opened")]
    assert "which source token" in spot(page, "opened").inner_text()
    target = page.get_by_test_id("target-token").evaluate_all("all => all.map(({ dataset }) => Number(dataset.id))")
    name = "decoder.layers.1.cross_attn.pattern"
    run = trace(translator, translator.tokenizer.encode(text), [name], target=target[1:])
    row = run.tensors[name][2, 2]
    said = guess(page, "opened", asked.index(int(row.argmax())))
    assert said.startswith("Right.")
    assert f"{row.max():#.3g}" in said
