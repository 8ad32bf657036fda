"""The page for three families: whose tokens are rows and columns, what is generated, and which panels exist."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from playwright.sync_api import expect

from chumoku.app.services.tokens import text_of
from chumoku.model import checkpoint
from chumoku.model.trace import Masks, Padding, Trace, trace
from chumoku.model.translate import beam_search
from tests.browser.helpers import (
    all_heads,
    link,
    loaded,
    matrix_shown,
    open_more,
    open_pads,
    serious,
    settled,
    to_station,
    wait_for_run,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT = "I ate a banana in the morning."
TARGET = "私は朝バナナを食べた。"
LAYER, HEAD = 1, 2
STATIC = Path(__file__).parents[2] / "static"

pytestmark = pytest.mark.warm


@pytest.fixture(scope="module")
def translator() -> checkpoint.Checkpoint:
    return loaded("encoder-decoder")


@pytest.fixture(scope="module")
def classifier() -> checkpoint.Checkpoint:
    return loaded("encoder-only")


def open_at(page: "Page", model: checkpoint.Checkpoint, **state: Any) -> None:
    start = {"model": model.name, "text": TEXT, "layer": LAYER, "head": HEAD, "temperature": 0}
    page.goto(link(start | state))
    settled(page)


def traced(model: checkpoint.Checkpoint, names: list[str], target: list[int] | None = None, **how: Any) -> Trace:
    return trace(model, model.tokenizer.encode(TEXT), names, target=target, **how)


def greedy(model: checkpoint.Checkpoint) -> list[int]:
    """START and what the model writes, without END."""
    (best,) = beam_search(model, model.tokenizer.encode(TEXT), beams=1)
    return [model.tokenizer.first_id, *(best.ids[:-1] if best.ended else best.ids)]


def ids_in(page: "Page", testid: str) -> list[int]:
    return [int(i) for i in page.get_by_test_id(testid).evaluate_all("all => all.map((one) => one.dataset.id)")]


def numbers(page: "Page", matrix: str) -> torch.Tensor:
    rows = matrix_shown(page.locator(f'[data-matrix="{matrix}"]:visible'))["z"]
    return torch.tensor([[one or 0 for one in row] for row in rows], dtype=torch.float32)


def opened(page: "Page") -> str:
    """The open head's name."""
    return page.locator("[data-testid=opened-title]:visible").first.inner_text()


def lit(page: "Page", role: str) -> list[str]:
    """The strip (as a test id) and index of each highlighted token."""
    return page.locator(f".strip .tok.{role}").evaluate_all(  # type: ignore[no-any-return]
        "all => all.map(({dataset}) => `${dataset.testid} ${dataset.index}`)"
    )


def test_cross_attention_is_target_by_source(page: "Page", translator: checkpoint.Checkpoint) -> None:
    open_at(page, translator, target=TARGET, query=2, key=1)
    target = translator.tokenizer.encode(TARGET)
    taps = {a.id: a.tap("pattern", LAYER) for a in translator.description.attentions}
    truth = traced(translator, list(taps.values()), target)
    pattern = truth.tensors[taps["cross"]][HEAD]

    assert opened(page) == f"Cross-attention · Head {LAYER}·{HEAD}"
    torch.testing.assert_close(numbers(page, "weights"), pattern, atol=1e-6, rtol=0)
    assert pattern.shape == (len(target) + 1, len(translator.tokenizer.encode(TEXT)))
    assert ids_in(page, "token") == truth.ids
    assert ids_in(page, "target-token") == truth.target_ids
    assert (lit(page, "q"), lit(page, "k")) == (["target-token 3"], ["token 1"]), "row 2 writes token 3"
    all_heads(page)  # only those that can be seen are painted
    for name, tap in taps.items():
        rows, cols = truth.tensors[tap].shape[1:]
        canvas = page.locator(f'canvas[data-attention="{name}"][data-layer="{LAYER}"][data-head="{HEAD}"]')
        assert canvas.evaluate("one => [one.width, one.height]") == [cols, rows]

    page.get_by_test_id("token").nth(3).click()  # the source's tokens are keys here
    settled(page)
    assert (lit(page, "q"), lit(page, "k")) == (["target-token 3"], ["token 3"])


def test_a_click_on_a_written_word_asks_where_it_came_from(page: "Page", translator: checkpoint.Checkpoint) -> None:
    text = "She sold her car yesterday."
    source, target = translator.tokenizer.tokens(translator.tokenizer.encode(text)), "昨日"
    head = {"text": text, "view": "attention", "layer": 2, "head": 5, "river.shown": "on"}
    open_at(page, translator, **head)
    said, words = page.get_by_test_id("river-says"), page.get_by_test_id("target-token")
    chosen = page.locator(".strip .tok.q")
    assert chosen.inner_text().split()[0] not in ("。", "START", "…"), "what it opens with is a word of content"

    words.filter(has_text=target).click()
    expect(chosen).to_contain_text(target)
    cell = page.locator('[data-matrix="weights"]:visible ~ [data-testid=readout]').first
    at = int(words.filter(has_text=target).get_attribute("data-index") or 0)
    expect(cell).to_have_attribute("data-query", str(at - 1))  # START 彼女は ⇒ 昨日: the row before writes it
    key = int(cell.get_attribute("data-key") or -1)
    assert source[key].text.strip() == "yesterday"
    expect(said).to_contain_text(re.compile(rf"{target} attends most to yesterday \(\d+"))
    expect(page.get_by_test_id("arithmetic")).to_contain_text(f"{target} ← yesterday")

    page.get_by_test_id("target-next").click()  # after the last word
    expect(said).to_contain_text("to write the next word, it attends to")
    page.keyboard.press("ArrowLeft")
    expect(chosen).to_contain_text("。")

    page.get_by_test_id("crumb-model").click()
    words.filter(has_text=target).click()
    expect(said).to_contain_text(f"The model wrote {target}")

    open_at(page, translator, **head, attention="decoder")  # there a row is the token that attends
    words.filter(has_text=target).click()
    expect(chosen).to_contain_text(target)
    expect(said).to_contain_text(f"{target} attends to")
    expect(page.get_by_test_id("target-next")).to_be_hidden()


def open_part(page: "Page", part: str) -> None:
    view = "qkv" if part in "qkv" else "attention"
    to_station(page, view)
    if view == "attention":
        page.get_by_test_id(f"step-{ {'scores': 'scaled', 'pattern': 'weights'}[part] }").click()


@pytest.mark.parametrize("attention", ["encoder", "decoder", "cross"])
def test_every_station_draws_every_attention(page: "Page", translator: checkpoint.Checkpoint, attention: str) -> None:
    one = next(a for a in translator.description.attentions if a.id == attention)
    parts = ["q", "k", "v", "scores", "pattern"]
    target = translator.tokenizer.encode(TARGET)
    truth = traced(translator, [one.tap(part, LAYER) for part in parts], target).tensors
    open_at(page, translator, target=TARGET, attention=attention, view="qkv")
    for part in parts:
        open_part(page, part)
        settled(page)
        tensor = truth[one.tap(part, LAYER)].float()
        torch.testing.assert_close(
            numbers(page, {"pattern": "weights"}.get(part, part)),
            tensor[min(HEAD, len(tensor) - 1)],
            atol=2e-5,
            rtol=1e-4,
        )
    for view in ("prediction", "tokens"):
        to_station(page, view)
        settled(page)
    assert page.get_by_test_id("token-row").count() == len(translator.tokenizer.encode(TEXT)) + len(target) + 1


def test_arrow_keys_go_through_all_groups_of_heads(page: "Page", translator: checkpoint.Checkpoint) -> None:
    last = translator.config.n_layer - 1
    open_at(page, translator, target=TARGET, attention="encoder", layer=last, head=0)
    page.locator("canvas.on").focus()
    page.keyboard.press("ArrowDown")
    settled(page)
    assert opened(page) == "Decoder self-attention · Head 0·0"
    for _ in range(last + 1):
        page.keyboard.press("ArrowDown")
    settled(page)
    assert opened(page) == "Cross-attention · Head 0·0"
    page.wait_for_function("() => !new URL(location).searchParams.has('attention')")  # the model's last one


@pytest.mark.fresh  # a page remembers undone tokens as long as it is open
def test_step_goes_on_from_the_chosen_word_of_a_finished_translation(
    page: "Page", translator: checkpoint.Checkpoint
) -> None:
    """As the chips beside it do; at the last word it writes END. What stood there comes back with the model's own."""
    written = greedy(translator)
    open_at(page, translator, view="model", temperature="0")
    step, tokens = page.get_by_test_id("gen-step"), page.get_by_test_id("target-token")
    tokens.nth(2).click()
    expect(step).to_have_attribute("title", re.compile("^Write one token after "))
    step.click()
    run = wait_for_run(page, "run.target_ids?.length === 3")
    assert run["target_ids"] == written[:3]
    for count in range(4, len(written) + 1):
        step.click()
        assert wait_for_run(page, f"run.target_ids?.length === {count}")["target_ids"] == written[:count]
    step.click()
    wait_for_run(page, f"run.target_ids?.length === {len(written) + 1}")
    expect(step).to_have_attribute("title", "The model ended its text here.")
    tokens.nth(1).click()
    expect(step).to_be_enabled()
    page.get_by_test_id("target-own").click()
    settled(page)
    assert ids_in(page, "target-token") == written


@pytest.mark.fresh  # a page remembers undone tokens as long as it is open
def test_a_translation_is_stepped(page: "Page", translator: checkpoint.Checkpoint) -> None:
    written = greedy(translator)
    open_at(page, translator, drawer="generation")
    page.locator("[data-testid=fold-writing] > summary").click()
    assert ids_in(page, "target-token") == written
    assert "greedy" in page.get_by_test_id("target-about").inner_text()

    page.get_by_test_id("gen-restart").click()
    page.wait_for_function("() => document.querySelectorAll('[data-testid=target-token]').length === 1")
    for count in (2, 3):
        page.get_by_test_id("gen-step").click()
        page.wait_for_function("(n) => document.querySelectorAll('[data-testid=target-token]').length === n", arg=count)
        settled(page)
        assert ids_in(page, "target-token") == written[:count]
        tap = translator.description.attentions[-1].tap("pattern", LAYER)
        row = traced(translator, [tap], written[:count]).tensors[tap][HEAD, -1]
        bars = page.locator("[data-testid=gen-cross] .look").evaluate_all(
            "all => all.map((one) => Number(one.dataset.weight))"
        )
        assert bars == pytest.approx(row.tolist(), abs=0.51 / 255)

    taken = page.get_by_test_id("candidate").nth(1)
    chosen = int(taken.get_attribute("data-id") or "")
    taken.click()
    page.wait_for_function("() => document.querySelectorAll('[data-testid=target-token]').length === 4")
    assert ids_in(page, "target-token") == [*written[:3], chosen]
    expect(page.get_by_test_id("tree-end")).to_have_count(2)  # the target that was left is kept
    page.get_by_test_id("gen-back").click()
    page.wait_for_function("() => document.querySelectorAll('[data-testid=target-token]').length === 3")
    wait_for_run(page, "run.target_ids?.length === 3")

    page.get_by_test_id("target-own").click()
    settled(page)
    assert ids_in(page, "target-token") == written


def test_beams_are_the_models(page: "Page", translator: checkpoint.Checkpoint) -> None:
    open_at(page, translator, drawer="generation")
    page.locator("[data-testid=fold-writing] > summary").click()
    page.get_by_test_id("beam-width").fill("3")
    page.get_by_test_id("beam-alpha").fill("0.3")
    page.get_by_test_id("beam-search").click()
    found = beam_search(translator, translator.tokenizer.encode(TEXT), beams=3, alpha=0.3)
    page.get_by_test_id("hypothesis").first.wait_for()

    rows = page.locator(".beams tbody tr").evaluate_all(
        "all => all.map(({dataset}) => [+dataset.log_p, +dataset.score])"
    )
    assert [v for row in rows for v in row] == pytest.approx(
        [v for one in found for v in (one.log_p, one.score)], abs=1e-3
    )
    expect(page.get_by_test_id("beam-rank")).to_have_count(len(found))
    last = page.get_by_test_id("hypothesis").nth(len(found) - 1)
    last.click()
    settled(page)
    end = translator.tokenizer.end_id
    assert ids_in(page, "target-token") == [translator.tokenizer.first_id, *(i for i in found[-1].ids if i != end)]
    assert last.get_attribute("aria-pressed") == "true"
    page.get_by_test_id("beam-width").fill("99")
    page.get_by_test_id("beam-width").blur()
    assert page.get_by_test_id("beam-width").input_value() == "3"


def test_the_reader_may_write_the_target(
    page: "Page", page_errors: list[str], translator: checkpoint.Checkpoint
) -> None:
    open_at(page, translator)
    field = page.get_by_test_id("target")
    about = page.get_by_test_id("target-about")
    expect(about).not_to_contain_text("teacher forcing")
    written = text_of(translator.tokenizer, greedy(translator))
    assert field.input_value() == written.replace("\n", "").replace("\r", "")  # as a one-line field has it
    field.fill(TARGET)
    wait_for_run(page, f"run.target === '{TARGET}'")
    settled(page)
    assert ids_in(page, "target-token")[1:] == translator.tokenizer.encode(TARGET)
    expect(about).to_contain_text("teacher forcing")

    field.fill("")
    page.wait_for_function("() => document.querySelectorAll('[data-testid=target-token]').length === 1")
    settled(page)
    assert ids_in(page, "target-token") == [translator.tokenizer.first_id]

    field.fill("あ い う え お " * 60)
    page.wait_for_selector("[data-testid=target-problem]:visible")
    assert "128" in page.get_by_test_id("target-problem").inner_text()
    assert page.get_by_test_id("problem").is_hidden()
    page_errors.clear()  # the browser reports the 422
    page.get_by_test_id("target-own").click()
    settled(page)
    assert ids_in(page, "target-token") == greedy(translator)


def test_pads_in_the_source(page: "Page", translator: checkpoint.Checkpoint) -> None:
    tap = translator.description.attentions[-1].tap("pattern", LAYER)
    written = greedy(translator)
    pad = Padding(count=2, side="right")
    open_at(page, translator, pad=2, pad_side="right", compare="on")
    page.wait_for_selector("[data-testid=verdict]:visible")
    after = traced(translator, [tap], written, pad=pad).tensors[tap][HEAD]
    torch.testing.assert_close(numbers(page, "after"), after, atol=1e-6, rtol=0)
    before = numbers(page, "before")
    torch.testing.assert_close(before[:, :-2], traced(translator, [tap], written).tensors[tap][HEAD], atol=1e-6, rtol=0)
    assert float(page.get_by_test_id("verdict").get_attribute("data-weights") or "nan") <= 1e-5

    open_pads(page)
    page.get_by_test_id("switch-padding").click()
    page.wait_for_function("() => document.querySelector('[data-testid=verdict]').dataset.weights > 1e-3")
    leaked = traced(translator, [tap], written, pad=pad, use=Masks(padding=False)).tensors[tap][HEAD]
    settled(page)
    torch.testing.assert_close(numbers(page, "after"), leaked, atol=1e-6, rtol=0)
    mean = float(page.get_by_test_id("leak-mean").get_attribute("data-pad") or "nan")
    assert mean == pytest.approx(float(leaked[:, -2:].sum(-1).mean()), abs=1e-5)


def test_another_target_leaves_the_encoder_to_compare(page: "Page", translator: checkpoint.Checkpoint) -> None:
    patch = json.dumps({"target": "猫が好きです。", "masks": {"padding": False}, "pad": {"count": 2}})
    open_at(page, translator, target=TARGET, against=patch, attention="encoder")
    said = page.get_by_test_id("verdict").inner_text()
    assert said == "Compared: encoder self-attention. The rest is not: the other run has another target."
    listed = page.get_by_test_id("moved-head").all()
    assert {row.get_attribute("data-attention") for row in listed} == {"encoder"}
    names = [tap for one in translator.description.attentions[:1] for tap in one.roles["pattern"].taps]
    alone, padded = (
        traced(translator, names, translator.tokenizer.encode(TARGET), use=Masks(padding=on), pad=Padding(n))
        for on, n in ((True, 0), (False, 2))
    )
    for row in listed:
        at = (int(row.get_attribute("data-head") or ""),)
        name = names[int(row.get_attribute("data-layer") or "")]
        was, now = alone.tensors[name][at], padded.tensors[name][at][2:]
        moved = ((now[:, 2:] - was).abs().sum(-1) + now[:, :2].sum(-1)).mean() / 2
        assert float(row.get_attribute("data-moved") or "") == pytest.approx(float(moved), abs=1e-5)
    shown = page.get_by_test_id("leak-row").all()
    assert [int(row.get_attribute("data-index") or "") for row in shown] == list(range(len(alone.ids)))
    assert page.locator("[data-testid=kl]:visible").count() == 0
    open_at(page, translator, target=TARGET, against=patch, attention="cross")
    assert page.get_by_test_id("moved-head").first.is_visible()
    assert page.locator("[data-testid=leak-row]:visible, [data-matrix=difference]:visible").count() == 0


def test_an_encoder_has_classes_and_no_next_token(page: "Page", classifier: checkpoint.Checkpoint) -> None:
    open_at(page, classifier)
    switch = page.get_by_test_id("switch-causal")
    assert switch.get_attribute("aria-checked") == "false"
    assert page.get_by_test_id("token").first.inner_text().split()[0] == "[CLS]"
    assert page.locator("[data-panel=classes]").is_visible()
    for gone in ("[data-panel=next_token]", "[data-panel=generation]"):
        assert page.locator(gone).is_hidden()
    tap = f"layers.{LAYER}.attn.pattern"
    torch.testing.assert_close(
        numbers(page, "weights"), traced(classifier, [tap]).tensors[tap][HEAD], atol=1e-6, rtol=0
    )

    switch.click()
    wait_for_run(page, "run.masks?.causal === true")
    settled(page)
    causal = traced(classifier, [tap], use=Masks(causal=True)).tensors[tap][HEAD]
    torch.testing.assert_close(numbers(page, "weights"), causal, atol=1e-6, rtol=0)
    page.get_by_test_id("compare-difference").click()
    page.get_by_test_id("class-change").first.wait_for()
    settled(page)


A_SECOND_LATER = """() => {
  const now = performance.now.bind(performance);
  performance.now = () => now() + 1000;
}"""


@pytest.mark.cold  # for Back, and it turns the page's clock
def test_another_model_reads_the_same_text(
    page: "Page", translator: checkpoint.Checkpoint, classifier: checkpoint.Checkpoint
) -> None:
    page.goto(link({"text": TEXT, "model": "stories-gpt", "layer": 5, "head": 7, "view": "attention"}))
    settled(page)
    for model in (classifier, translator):
        page.locator(".model-button").click()
        assert page.locator(".model-list .family .shape").count() == 3
        assert page.locator(".model-list .measured:visible").count() == 1  # of the chosen one
        page.locator(f'[role=option][data-model="{model.name}"]').click()
        page.wait_for_function("(name) => new URL(location).searchParams.get('model') === name", arg=model.name)
        settled(page)
        assert page.get_by_test_id("sentence").input_value() == TEXT
        assert page.locator("canvas.on").count() == 1
        page.evaluate(A_SECOND_LATER)  # fast steps count as one for Back
    page.go_back()
    page.wait_for_function("(name) => new URL(location).searchParams.get('model') === name", arg=classifier.name)
    settled(page)
    assert page.get_by_test_id("target").is_hidden()


def test_a_language_that_the_model_was_not_trained_on(page: "Page", translator: checkpoint.Checkpoint) -> None:
    """The model that reads it is a click away, and the model at hand has a sentence that it reads."""
    page.goto(link({"text": "Где кошка?", "model": "stories-gpt"}))
    settled(page)
    note, sentence = page.get_by_test_id("notes"), page.get_by_test_id("sentence")
    assert "No model here reads Cyrillic" in note.inner_text()
    note.get_by_test_id("note-example").click()
    expect(note).to_be_hidden()
    sentence.fill("猫が好きです。")
    expect(note).to_contain_text("reads only English, so its output is a guess. These read Japanese: translate-enja.")
    page.locator(f'[data-testid=note-model][data-model="{translator.name}"]').click()
    page.wait_for_function("(name) => new URL(location).searchParams.get('model') === name", arg=translator.name)
    settled(page)
    expect(sentence).to_have_value("猫が好きです。")
    expect(note).to_be_hidden()
    (english,) = beam_search(translator, translator.tokenizer.encode("猫が好きです。"), beams=1)
    expect(page.get_by_test_id("target")).to_have_value(english.text(translator.tokenizer))
    sentence.fill("Где кошка?")
    expect(note).to_contain_text("This looks like Cyrillic, but translate-enja reads only English and Japanese")


def test_a_saved_translation_opens_again(page: "Page", translator: checkpoint.Checkpoint, tmp_path: Path) -> None:
    open_at(page, translator, target=TARGET)
    before = numbers(page, "weights")
    open_more(page)
    page.get_by_test_id("export").click()
    with page.expect_download() as saving:
        page.get_by_test_id("export-safetensors").click()
    path = tmp_path / "saved.safetensors"
    saving.value.save_as(path)
    page.get_by_test_id("file-input").set_input_files(path)
    page.wait_for_function("() => document.body.dataset.traced.includes('saved.safetensors')")
    settled(page)
    torch.testing.assert_close(numbers(page, "weights"), before, atol=0, rtol=0)
    page.get_by_test_id("all-heads").click()
    page.locator('canvas[data-attention="encoder"]').first.click()
    settled(page)
    assert opened(page) == "Encoder self-attention · Head 0·0"


def test_cards_are_for_models_that_are_here(page: "Page") -> None:
    page.goto("/")
    cards = page.get_by_test_id("example")
    cards.first.wait_for()
    here = {model["name"] for model in page.request.get("/api/models").json()["models"]}
    examples = json.loads((STATIC / "examples.json").read_text("utf-8"))["examples"]
    assert cards.count() == sum(one["model"] in here for one in examples)
    offered = [one for one in examples if one["model"] in here]
    for index, one in enumerate(offered):
        if one["model"] != "stories-gpt":  # test_page.py opens one of those
            page.goto("/")
            cards.nth(index).click()
            settled(page)


@pytest.mark.japanese
@pytest.mark.parametrize("family", ["encoder-decoder", "encoder-only"])
def test_everyone_can_use_it(open_page: "Callable[..., Page]", family: str) -> None:
    """In Japanese, dark, and on a phone: nothing is wider than the screen, and axe finds nothing serious."""
    page = open_page(viewport={"width": 360, "height": 780}, color_scheme="dark")
    open_at(page, loaded(family), lang="ja", pad=1)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    assert serious(page) == []
    if family == "encoder-only":  # its panels in light: test_classes.py; the rest is as below
        return
    page.set_viewport_size({"width": 1440, "height": 1000})
    open_more(page)
    page.get_by_test_id("theme").click()
    settled(page)
    assert serious(page, rules="colours") == []


def test_a_translation_is_translated_back(page: "Page", translator: checkpoint.Checkpoint) -> None:
    text = "Where is the station?"
    (there,) = beam_search(translator, translator.tokenizer.encode(text), beams=1)
    japanese = there.text(translator.tokenizer)
    (back,) = beam_search(translator, translator.tokenizer.encode(japanese), beams=1)
    open_at(page, translator, text=text)
    target, switch = page.get_by_test_id("target"), page.get_by_test_id("target-switch")
    expect(target).to_have_value(japanese)
    expect(switch).to_have_attribute("title", "Translate this from Japanese into English")
    switch.click()
    expect(page.get_by_test_id("sentence")).to_have_value(japanese)
    expect(target).to_have_value(back.text(translator.tokenizer))
    expect(switch).to_have_attribute("title", "Translate this from English into Japanese")
    assert ids_in(page, "target-token") == [translator.tokenizer.first_id, *back.ids[:-1]]
    assert page.locator(".banner:not([hidden]), .panel-error").count() == 0
