"""Masks on the page: PADs, leaks, before | after | difference, the next token: every number is the Python trace's."""

import json
import math
import re
from typing import TYPE_CHECKING, Any

import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.interventions import AblateHead
from chumoku.model.trace import Masks, Padding, Trace, trace
from tests.browser.helpers import (
    brief_percent,
    drawn,
    link,
    matrix_shown,
    open_pads,
    open_tools,
    overflows,
    serious,
    show_pads,
    wait_for_run,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

TEXT = "Once upon a time there was a little cat"
LAYER, HEAD = 2, 3
NAME = f"layers.{LAYER}.attn.pattern"
TRAINED, NO_PAD = Masks(), Padding()

pytestmark = pytest.mark.warm


@pytest.fixture(scope="module")
def model() -> checkpoint.Checkpoint:
    return checkpoint.load(checkpoint.ZOO / "stories-gpt", "cpu")


def traced(model: checkpoint.Checkpoint, use: Masks = TRAINED, pad: Padding = NO_PAD) -> Trace:
    names = [f"layers.{layer}.attn.pattern" for layer in range(model.config.n_layer)]
    return trace(model, model.tokenizer.encode(TEXT), [*names, "logits"], use=use, pad=pad)


def open_page_at(page: "Page", **state: Any) -> None:
    page.goto(link({"text": TEXT, "layer": LAYER, "head": HEAD} | state))
    drawn(page)


def cells(page: "Page", name: str) -> list[list[float | None]]:
    """The numbers behind a picture; null where nothing is drawn."""
    rows: list[list[float | None]] = matrix_shown(page.locator(f'[data-matrix="{name}"]'))["z"]
    return rows


def shares(rows: "Locator", *names: str) -> list[list[float]]:
    """The numbers of a table's rows, in float32."""
    found: list[list[float]] = rows.evaluate_all(
        "(rows, names) => rows.map((row) => names.map((name) => Number(row.dataset[name])))", list(names)
    )
    return found


def value(page: "Page", testid: str, name: str = "value") -> float:
    return float(page.get_by_test_id(testid).get_attribute(f"data-{name}") or "nan")


def future_of(pattern: Tensor, real: slice) -> Tensor:
    """The weight that each row of the sentence gives to its later tokens."""
    return pattern[..., real, real].triu(1).sum(-1)


def pad_of(pattern: Tensor, real: slice) -> Tensor:
    return pattern[..., real, :].sum(-1) - pattern[..., real, real].sum(-1)


def moved(before: Tensor, after: Tensor, real: slice) -> float:
    """Half of Σ|after − before|, mean over the sentence's rows; before has no PADs."""
    same = (after[real, real] - before).abs().sum(-1)
    return float((same + pad_of(after, real)).mean() / 2)


# --- the sentence ----------------------------------------------------------------------------------------------------


def answer(run: Trace, model: checkpoint.Checkpoint, row: int) -> tuple[str, str]:
    """The model's first answer after a row, and its probability as the page writes it."""
    logits = run.tensors["logits"][row].double()
    logits[model.tokenizer.pad_id] = -math.inf
    p, at = logits.softmax(0).max(0)
    word = model.tokenizer.decode([int(at)]).strip()
    return word if word.isalnum() else f"“{word}”", brief_percent(float(p))


def test_the_sentence_says_what_a_mask_did_to_the_prediction(page: "Page", model: checkpoint.Checkpoint) -> None:
    says = page.get_by_test_id("river-says")
    page.goto(link({"text": TEXT, "view": "model"}))
    expect(says).to_contain_text("After cat, the model predicts")
    page.get_by_test_id("switch-causal").click()
    alone, free = traced(model), traced(model, Masks(causal=False))
    (word, _), (now, p) = answer(alone, model, -1), answer(free, model, -1)
    expect(says).to_contain_text("Causal off: tokens before cat also see later ones. ")
    at = model.tokenizer.encode(f" {word}")[0]
    before, after = (float(one.tensors["logits"][-1].double().softmax(0)[at]) for one in (alone, free))
    same = f"The prediction {word} {'falls' if after < before else 'rises'} to {brief_percent(after)}"
    other = f"{word} ({brief_percent(before)}) becomes {now} ({p})."
    expect(says).to_contain_text(same if now == word else other)
    expect(says.get_by_role("button")).to_have_text("Switch it back on")

    page.get_by_test_id("token").nth(2).click()  # not the last: it reads what it predicts
    (word, was), (now, p) = answer(alone, model, 2), answer(free, model, 2)
    expect(says).to_contain_text(f"Causal off: a₁ also sees later tokens. {word} ({was}) becomes {now} ({p}).")
    expect(page.get_by_test_id("switch-causal")).to_have_attribute("aria-keyshortcuts", "Alt+C")
    page.keyboard.press("Alt+u")  # what is switched with the pointer is undone with a key
    expect(says).to_contain_text("After a₁, the model predicts")

    show_pads(page)
    page.get_by_test_id("pads-more").click()
    word, p = answer(alone, model, 2)  # its row is now 3
    expect(says).to_contain_text(f"The padding mask hides the PAD. The prediction {word} stays at {p}.")
    page.get_by_test_id("padding-other").click()
    expect(says).to_contain_text("The model reads the PAD like a word. The prediction ")
    wait_for_run(page, "run.masks?.padding === false")
    page.keyboard.press("Alt+u")
    expect(says).to_contain_text("After a₁, the model predicts")  # the chosen token, at its place without the PAD
    page.keyboard.press("Alt+c")
    expect(says).to_contain_text("Causal off: a₁ also")


@pytest.mark.parametrize("size", [(1440, 900), (1100, 720)])
def test_in_a_head_the_sentence_says_what_a_mask_did_there_and_takes_it_back(
    open_page: "Callable[..., Page]", model: checkpoint.Checkpoint, size: tuple[int, int]
) -> None:
    """It has one height, so that nothing moves when a mask is switched."""
    page = open_page(viewport={"width": size[0], "height": size[1]})
    open_page_at(page, view="attention", query=8, key=7, river__shown="on")
    says, say = page.get_by_test_id("river-says"), page.get_by_test_id("say")
    expect(page.get_by_test_id("hide-in-layer")).to_be_visible()
    before = say.bounding_box()
    page.get_by_test_id("switch-causal").click()
    free = traced(model, Masks(causal=False))
    before_free, after_free = (float(one.tensors[NAME][HEAD][8, 7]) for one in (traced(model), free))
    was, now = map(brief_percent, (before_free, after_free))
    more = "more" if after_free > before_free else "less"
    cause = "earlier tokens see later ones, so q and k change"  # below, against the traces
    expect(says).to_contain_text(f"Causal off: {cause}: cat attends {more} to little ({was} → {now}). ")
    assert say.bounding_box() == before
    assert says.evaluate("says => says.scrollHeight <= says.parentElement.parentElement.clientHeight")
    page.get_by_test_id("causal-back").click()
    expect(page.get_by_test_id("hide-in-layer")).to_be_visible()
    assert say.bounding_box() == before
    wait_for_run(page, "!run.masks")


CAUSES = {
    (): (
        "in layer 0, q and k do not depend on other tokens yet",
        "第 0 層の q と k はまだほかのトークンに左右されない",
    ),
    ("k",): ("earlier tokens see later ones, so keys change", "前のトークンが後ろを見て k が変わり"),
    ("q", "k"): ("earlier tokens see later ones, so q and k change", "前のトークンが後ろを見て q と k が変わり"),
}
"""Why a weight changes without the causal mask in a row that sees no later token, by what of it changed."""


@pytest.mark.parametrize("lang", ["en", pytest.param("ja", marks=pytest.mark.japanese)])
def test_a_row_without_later_tokens_says_why_its_weight_changed(
    page: "Page", model: checkpoint.Checkpoint, lang: str
) -> None:
    names = [f"layers.{layer}.attn.{role}" for layer in range(3) for role in "qk"]
    ids = model.tokenizer.encode(TEXT)
    before, after = (trace(model, ids, names, use=use).tensors for use in (TRAINED, Masks(causal=False)))
    for layer, found in enumerate(CAUSES):  # in layer 1 q is as before: in layer 0 the last row has no new key
        changed = tuple(
            role
            for role, row in (("q", 8), ("k", 7))
            for was, now in [[run[f"layers.{layer}.attn.{role}"][HEAD][row] for run in (before, after)]]
            if float((now - was).norm() / was.norm()) > 1e-3
        )
        assert changed == found
        open_page_at(page, layer=layer, view="attention", query=8, key=7, river__shown="on", causal=False, lang=lang)
        expect(page.get_by_test_id("river-says")).to_contain_text(CAUSES[changed][lang == "ja"])


@pytest.mark.parametrize("lang", ["en", pytest.param("ja", marks=pytest.mark.japanese)])
def test_the_sentence_keeps_one_size_and_one_line_whatever_it_says(open_page: "Callable[..., Page]", lang: str) -> None:
    page = open_page(viewport={"width": 1280, "height": 720})
    story = "Tom lost his red car. Tom was sad. Mom found the red"
    place = {"model": "stories-gpt", "view": "attention", "layer": 5, "head": 5, "river__shown": "on"}
    page.goto(link({"text": story, "lang": lang} | place))
    says = page.get_by_test_id("river-says")
    expect(page.get_by_test_id("hide-in-layer")).to_be_visible()
    assert says.evaluate(ONE_LINE) == 17
    steps = (
        ("hide-in-head", "hide-wider", r"(in head|ヘッド) 5·5"),
        ("hide-wider", "hide-wider", "in layer 5:|第 5 層では"),
        ("hide-wider", "show-again", "6 layers|6 層"),
        ("show-again", "hide-in-layer", "40"),
        ("switch-causal", "causal-back", "→ 4.6"),
        ("causal-back", "hide-in-layer", "40"),
        ("pads-more", "padding-other", "PAD"),
    )
    for act, offers, words in steps:
        if act == "pads-more":
            show_pads(page)
        page.get_by_test_id(act).click()
        expect(says.get_by_test_id(offers)).to_be_visible()
        expect(says).to_have_text(re.compile(f"({words}).*%"))
        assert says.evaluate(ONE_LINE) == 17, says.inner_text()


def test_the_first_edit_moves_nothing_below_the_matrix(open_page: "Callable[..., Page]") -> None:
    """The chosen row is higher then: its room is kept before."""
    page = open_page(viewport={"width": 1280, "height": 720})
    place = {"view": "attention", "layer": 5, "head": 5, "river__shown": "on"}
    page.goto(link({"text": "Tom lost his red car. Tom was sad. Mom found the red"} | place))
    drawn(page)
    table = page.locator(".matrix-table > summary:visible")
    before = table.bounding_box()
    page.get_by_test_id("switch-causal").click()
    expect(page.locator(".matrix.two:visible")).to_be_visible()  # two numbers in a cell
    assert table.bounding_box() == before


# The size of its type; 0 where it takes more than one line.
ONE_LINE = """(says) => {
  const range = document.createRange();
  range.selectNodeContents(says);
  const middles = [...range.getClientRects()].map(({ top, bottom }) => (top + bottom) / 2);
  const apart = Math.max(...middles) - Math.min(...middles);
  return apart < 12 ? Number.parseFloat(getComputedStyle(says).fontSize) : 0;
}"""


def test_a_newcomer_hides_a_cell_in_one_head_and_asks_which_head_matters_most(
    page: "Page", model: checkpoint.Checkpoint
) -> None:
    """The cell stays open, though nobody chose it and another now has the most weight; the model offers the ranking."""
    open_page_at(page, view="attention", river__shown="on")
    row = traced(model).tensors[NAME][HEAD, -1]
    page.get_by_test_id("hide-in-head").click()
    where = wait_for_run(page, "run.interventions?.length === 1")["interventions"][0]["where"]
    assert where["head"] == HEAD
    key = where["key"]
    assert key == int(row.argmax())
    page.wait_for_function(f"() => new URLSearchParams(location.search).get('key') === '{key}'")
    expect(page.get_by_test_id("river-says")).to_contain_text(f"Hidden in head {LAYER}·{HEAD}")
    page.keyboard.press("Control+z")
    page.get_by_test_id("crumb-model").click()
    page.get_by_test_id("river-which").click()
    expect(page.get_by_test_id("rank-row")).to_have_count(5)
    pictured = page.locator("[data-panel=rank] canvas").first
    rows = model.config.n_layer
    assert (pictured.bounding_box() or {"height": 0})["height"] >= rows * 18, "as high as the sheet has room for"


def test_a_head_is_switched_off_set_aside_and_undone(page: "Page", model: checkpoint.Checkpoint) -> None:
    """By its eye, by its key, and in the line of edits; what is set aside is in the link and in no request."""
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.post_data or ""))
    open_page_at(page, view="attention", query=8, key=7, river__shown="on")
    says, chip, eye = (page.get_by_test_id(name) for name in ("river-says", "edit-chip", "head-eye"))
    head = page.locator(f"[data-testid=head][data-layer='{LAYER}'][data-head='{HEAD}']")
    expect(page.get_by_test_id("hide-in-layer")).to_be_visible()
    line = page.locator(".path").bounding_box()
    expect(eye).to_have_text(re.compile(r"^Switch off: \S+ [<\d]"))  # what is measured for the bars under the heads
    place, told = eye.bounding_box(), eye.inner_text()
    eye.click()
    off = {"kind": "ablate", "where": {"attention": "self", "layer": LAYER, "role": "z", "head": HEAD}}
    assert wait_for_run(page, "run.interventions?.length === 1")["interventions"] == [off]
    edits = ({}, {f"layers.{LAYER}.attn.z": AblateHead(HEAD)})
    plain, cut = (trace(model, model.tokenizer.encode(TEXT), ["logits"], edit=edit) for edit in edits)
    word, was = answer(plain, model, -1)
    token = model.tokenizer.encode(f" {word}")[0]
    before, after = (float(one.tensors["logits"][-1].double().softmax(0)[token]) for one in (plain, cut))
    now, moves = brief_percent(after), f"{word} {'falls' if after < before else 'rises'} from {was}"
    expect(says).to_contain_text(f"Head {LAYER}·{HEAD} is off: it writes nothing. The prediction {moves} to {now}.")
    assert told.replace("\u2009", " ").endswith(now.replace("\u2009", " ")), "it told what comes of it"
    expect(eye).to_have_text("Switch on")
    assert [eye.bounding_box(), eye.get_attribute("aria-pressed")] == [place, None], "its words say what a press does"
    expect(eye).to_have_attribute("data-off", "true")
    expect(head).to_have_attribute("aria-label", f"head {LAYER}·{HEAD}: off")
    expect(page.locator(".edits-button")).to_contain_text(f"head {LAYER}·{HEAD} off")
    expect(chip.locator(".edit-words")).to_have_text(f"Head {LAYER}·{HEAD}: output set to")
    expect(chip.get_by_test_id("edit-how").locator("option")).to_have_text(
        ["zero", re.compile(r"mean of \d+ windows"), "mean over your sentences"]
    )
    assert page.locator(".path").bounding_box() == line
    # In another head the sentence is about that one, and says what was done elsewhere.
    page.locator(f"[data-testid=head][data-layer='{LAYER}'][data-head='{HEAD + 1}']").click()
    edited = rf"Head {LAYER}·{HEAD + 1}: .+ attends .+ Head {LAYER}·{HEAD} off\. The prediction "
    expect(says).to_contain_text(re.compile(edited))
    head.click()

    switch = page.get_by_test_id("edit-switch")
    page.get_by_test_id("edits-list").click()
    switch.click()  # its run is here
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(eye).to_have_attribute("data-off", "false")
    page.wait_for_function("() => location.hash.includes('paused=') && !location.hash.includes('run=')")
    page.reload()
    drawn(page)
    expect(switch).to_have_attribute("aria-checked", "false")
    assert not any("paused" in body for body in sent)
    page.get_by_test_id("edits-list").click()
    switch.click()
    expect(eye).to_have_attribute("data-off", "true")
    page.go_back()
    expect(eye).to_have_attribute("data-off", "false")
    expect(switch).to_have_attribute("aria-checked", "false")


def test_an_edit_has_its_cross_in_a_narrow_window_and_the_sentence_goes_on(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 1280, "height": 720})
    text = "Tom lost his red car. Tom was sad. Mom found the red"
    place = {"text": text, "view": "attention", "layer": 5, "head": 5, "river__shown": "on"}
    page.goto(link({"model": "stories-gpt"} | place))
    says, remove, eye = (page.get_by_test_id(name) for name in ("river-says", "edit-only-remove", "head-eye"))
    page.get_by_test_id("hide-in-head").click()
    page.get_by_test_id("hide-wider").click()
    expect(says).to_contain_text("Hidden in layer 5")  # the button of the sentence before would hide the same again
    page.get_by_test_id("hide-wider").click()
    wait_for_run(page, "run.interventions?.length === 6")
    words = page.locator(".edits-button > .words")
    expect(words).to_have_text("red₂ ↛ car, all layers")
    assert words.evaluate("(one) => one.scrollWidth <= one.clientWidth"), "it is said whole"
    eye.click()
    says.get_by_test_id("heads-on").click()  # of several edits, too
    expect(words).to_have_text("red₂ ↛ car, all layers")
    remove.click()
    wait_for_run(page, "!run.interventions")
    eye.click()
    more = says.get_by_test_id("head-off-too")
    expect(more).to_have_text("Switch off 3·4 too")
    told = says.inner_text().split("→")[1].strip(" .")
    more.click()
    expect(says).to_contain_text("Heads 5·5, 3·4 are off")
    expect(says).to_contain_text(f" to {told}")
    page.get_by_test_id("note-masks").click()
    eye.click(modifiers=["Shift"])
    expect(says).to_contain_text("Only head 5·5")
    says.get_by_role("button", name="Switch the others on again").click()
    wait_for_run(page, "!run.interventions")


def test_only_one_head_of_a_layer_is_one_edit_that_keys_undo(page: "Page", model: checkpoint.Checkpoint) -> None:
    other = {"kind": "ablate", "where": {"attention": "self", "layer": 0, "role": "z", "head": 1}}
    open_page_at(
        page, view="attention", run=json.dumps({"input": {"text": TEXT}}), paused=json.dumps([{"at": 0, "edit": other}])
    )
    chip, head = page.get_by_test_id("edit-chip"), page.locator(f"[data-layer='{LAYER}'][data-head='{HEAD}']")
    words = chip.locator(".edit-words")  # beside them: how it is off, and what removes it
    expect(words).to_have_text("Head 0·1: output set to")
    head.focus()
    head.press("Shift+O")
    wait_for_run(page, f"run.interventions?.length === {model.config.n_head - 1}")
    expect(page.get_by_test_id("edits-list")).to_have_text("1 of 2 edits")
    page.get_by_test_id("edits-list").click()
    expect(words).to_have_text(["Head 0·1: output set to", f"only head {LAYER}·{HEAD}"])
    page.keyboard.press("Control+z")
    expect(chip).to_have_count(1)
    page.keyboard.press("Control+Shift+z")
    expect(chip).to_have_count(2)
    page.get_by_test_id("note-masks").click()
    expect(chip).to_have_count(0)
    wait_for_run(page, "!run.interventions")
    assert "paused" not in page.url
    redo = page.get_by_test_id("edit-redo")
    redo.click()  # all of them at once, also what a link brought
    expect(chip).to_have_count(2)
    expect(redo).to_be_disabled()
    page.get_by_test_id("edit-undo").click()
    expect(chip).to_have_count(1)
    page.get_by_test_id("edit-redo").click()
    expect(chip).to_have_count(2)


def test_the_sentence_says_what_a_mask_did_to_a_verdict(page: "Page") -> None:
    page.goto(link({"model": "sentiment-encoder", "text": "The film was not good at all.", "view": "model"}))
    verdict = page.get_by_test_id("likely").first
    expect(verdict).to_contain_text("negative")
    was = verdict.locator("i").inner_text()
    page.get_by_test_id("switch-causal").click()
    says = page.get_by_test_id("river-says")
    expect(says).to_contain_text("With a causal mask, [CLS] sees only itself. The verdict is now positive (")
    expect(says).to_contain_text(f"negative falls from {was} to ")


# --- PADs compared with the single run ------------------------------------------------------------------------------


@pytest.mark.parametrize(("side", "causal"), [("left", True), ("right", False)])
def test_masked_pads_equal_the_single_run(page: "Page", model: checkpoint.Checkpoint, side: str, causal: bool) -> None:
    open_page_at(page, pad=3, pad_side=side, causal=causal, compare="on", query=4)
    use = Masks(causal=causal)
    alone, padded = traced(model, use), traced(model, use, Padding(3, side))  # type: ignore[arg-type]
    n = len(alone.ids)
    real = slice(3, 3 + n) if side == "left" else slice(n)

    shown = torch.tensor([[cell or 0 for cell in row] for row in cells(page, "after")])
    assert torch.allclose(shown, padded.tensors[NAME][HEAD], atol=1e-6)
    assert torch.allclose(shown[real, real], alone.tensors[NAME][HEAD], atol=1e-5)

    gap = (padded.tensors[NAME][HEAD][real, real] - alone.tensors[NAME][HEAD]).abs().max().item()
    assert value(page, "verdict", "weights") == pytest.approx(gap, abs=1e-6)
    assert value(page, "verdict", "next") < 1e-5
    assert page.get_by_test_id("verdict").inner_text().startswith("Equals the single run without PADs to ")
    assert "✓" in page.get_by_test_id("verdict").inner_text()


def test_a_padded_run_with_an_edited_mask_equals_the_single_run(page: "Page") -> None:
    cell = {"layer": LAYER, "role": "mask", "query": 7, "key": 4}  # with three PADs: token 4 no longer sees token 1
    edit = {"kind": "mask", "where": cell, "allow": False}
    run = {"input": {"text": TEXT}, "pad": {"count": 3}, "interventions": [edit]}
    page.goto(link({"run": json.dumps(run), "layer": LAYER, "head": HEAD, "compare": "on", "query": 7}))
    drawn(page)
    assert cells(page, "after")[7][4] is None
    assert cells(page, "before")[7][4] is not None, "as in training, aligned with the padded run"
    assert value(page, "verdict", "weights") < 1e-5
    assert value(page, "verdict", "next") < 1e-5


@pytest.mark.parametrize(
    ("switches", "use", "pad", "why"),
    [
        ({"padding": False}, Masks(padding=False), Padding(2), "the padding mask is off"),
        ({"follow": False}, Masks(), Padding(2, follow=False), "position ids count the PADs"),
    ],
)
def test_what_differs_says_by_how_much_and_why(
    page: "Page", model: checkpoint.Checkpoint, switches: dict[str, bool], use: Masks, pad: Padding, why: str
) -> None:
    open_page_at(page, pad=2, compare="on", **switches)
    alone, padded = traced(model), traced(model, use, pad)
    gap = (padded.tensors[NAME][HEAD][2:, 2:] - alone.tensors[NAME][HEAD]).abs().max().item()
    after = [run.tensors["logits"][-1].double() for run in (alone, padded)]
    for logits in after:
        logits[model.tokenizer.pad_id] = -math.inf
    next_gap = (after[0].softmax(0) - after[1].softmax(0)).abs().max().item()

    assert gap > 0.01
    assert value(page, "verdict", "weights") == pytest.approx(gap, abs=1e-6)
    assert value(page, "verdict", "next") == pytest.approx(next_gap, abs=1e-6)
    words = page.get_by_test_id("verdict").inner_text()
    assert words.startswith("Differs from the single run without PADs by ")
    assert why in words


def test_right_hand_pads_are_never_seen_under_a_causal_mask(page: "Page") -> None:
    open_page_at(page, pad=2, pad_side="right", padding=False, compare="on")
    assert "never see PADs on the right" in page.get_by_test_id("right-unseen").inner_text()
    assert value(page, "verdict", "weights") < 1e-5
    page.get_by_test_id("switch-causal").click()
    page.wait_for_function("() => document.querySelector('[data-testid=verdict]').dataset.weights > 0.01")
    assert page.get_by_test_id("right-unseen").is_hidden()


# --- leaks, difference, how much each head changed ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("switches", "use", "pad"),
    [
        ({"causal": False, "pad": 2, "padding": False}, Masks(causal=False, padding=False), Padding(2)),
        ({}, Masks(causal=False), Padding()),  # as in training: after is the causal mask off
    ],
)
def test_leaks_and_changes_are_the_traces(
    page: "Page", model: checkpoint.Checkpoint, switches: dict[str, Any], use: Masks, pad: Padding
) -> None:
    open_page_at(page, compare="on", **switches)
    before, after = traced(model), traced(model, use, pad)
    real = slice(pad.count, None)
    here = after.tensors[NAME][HEAD]

    rows = shares(page.get_by_test_id("leak-row"), "future", "pad")
    assert [row[0] for row in rows] == pytest.approx(future_of(here, real).tolist(), abs=1e-6)
    assert [row[1] for row in rows] == pytest.approx(pad_of(here, real).tolist(), abs=1e-5)
    mean = [float(future_of(here, real).mean()), float(pad_of(here, real).mean())]
    assert shares(page.get_by_test_id("leak-mean"), "future", "pad") == [pytest.approx(mean, abs=1e-6)]

    bars = shares(page.get_by_test_id("moved-bar"), "layer", "head", "moved")
    assert len(bars) == model.config.n_layer * model.config.n_head
    for layer, head, share in bars:
        name = f"layers.{int(layer)}.attn.pattern"
        expected = moved(before.tensors[name][int(head)], after.tensors[name][int(head)], real)
        assert share == pytest.approx(expected, abs=1e-6), f"layer {layer}, head {head}"
    first = page.get_by_test_id("moved-head").first
    assert shares(first, "moved")[0][0] == max(share for *_, share in bars)

    percent = page.locator(f"[data-testid=head][data-layer='{LAYER}'][data-head='{HEAD}']").get_attribute("title") or ""
    assert f"{100 * mean[0]:.1f}\u202f% goes to later tokens" in percent


def test_difference_is_after_minus_before(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_page_at(page, pad=2, padding=False, compare="on", query=5, key=1)
    before = traced(model).tensors[NAME][HEAD]
    after = traced(model, Masks(padding=False), Padding(2)).tensors[NAME][HEAD]
    aligned = torch.zeros_like(after)
    aligned[2:, 2:] = before

    shown = cells(page, "difference")
    size = len(after)
    for row in range(size):
        for col in range(size):
            if row < 2 or col > row:
                assert shown[row][col] is None, "no such row before, or forbidden in both"
            else:
                assert shown[row][col] == pytest.approx(float(after[row, col] - aligned[row, col]), abs=1e-6)
    low, high = float((after - aligned)[2:].min()), float((after - aligned)[2:].max())
    assert shares(page.locator(".pair [data-testid=legend]"), "low", "high") == [pytest.approx([low, high], abs=1e-6)]
    readout = page.locator("[data-matrix=difference] ~ [data-testid=readout]").inner_text()
    assert readout.endswith(f"+{after[5, 1]:.4f}: not there → {after[5, 1]:#.4g}")
    assert [row[:2] for row in cells(page, "before")] == [[None, None]] * size
    beside = page.locator("[data-matrix=before] ~ [data-testid=readout]").inner_text()
    assert beside.endswith("there is no PAD in this run")


def test_what_a_head_passes_on_is_compared_too(page: "Page", model: checkpoint.Checkpoint) -> None:
    """The weights of a head that is off are unchanged, which is said; its output is −before, in the same dimension."""
    tap = f"layers.{LAYER}.attn.z"
    before = trace(model, model.tokenizer.encode(TEXT), [tap]).tensors[tap][HEAD]
    off = {"kind": "ablate", "where": {"attention": "self", "layer": LAYER, "role": "z", "head": HEAD}}
    open_page_at(page, compare="on", run=json.dumps({"input": {"text": TEXT}, "interventions": [off]}))
    said = page.get_by_test_id("unchanged")
    expect(said).to_contain_text("The weights are unchanged: what this head writes is set to 0.")
    assert page.locator(".pair [data-testid=legend]").count() == 0, "a scale from 0 to 0"
    expect(page.locator(".pair .legend-place")).to_contain_text("pale: the weights, as before")
    said.get_by_role("button").click()
    z = page.locator("[data-part=z]")
    expect(z).to_contain_text("Z, after − before")
    expect(z).to_contain_text("head off: its output is set to 0")
    for row, numbers in enumerate(cells(page, "z")):
        assert numbers == pytest.approx((-before[row]).tolist(), abs=1e-5)
    largest = int(before[-1].abs().argmax())
    readout = z.get_by_test_id("readout")
    expect(readout).to_contain_text(f"dimension {largest}:")
    shares = page.locator("[data-part=shares]")
    expect(shares).to_contain_text("If it were on, the head would write")
    greys = "node => getComputedStyle(node).filter"
    assert z.locator(".sheet").evaluate(greys) == "none", "its legend has colours"
    page.get_by_test_id("compare-before").click()
    expect(z).to_contain_text("Z: what each token receives")
    expect(readout).to_contain_text(f"dimension {largest}:")
    expect(shares).to_contain_text("vectors in different directions cancel")
    page.get_by_test_id("compare-after").click()
    expect(z).to_contain_text("head off: its output is set to 0")
    expect(readout).to_contain_text(f"dimension {largest}: 0.0000")


def test_each_step_draws_the_difference_of_both_runs(page: "Page", model: checkpoint.Checkpoint) -> None:
    """QKᵀ, the scores, with the mask, and q, k, v: after − before; a cell that one run hides is infinite."""
    names = [f"layers.{LAYER}.attn.{role}" for role in ("q", "k", "v", "scores")]
    ids = model.tokenizer.encode(TEXT)
    runs = [trace(model, ids, names, use=use).tensors for use in (TRAINED, Masks(causal=False))]
    q, k, v, scores = (runs[1][name][HEAD] - runs[0][name][HEAD] for name in names)
    root = model.config.d_head**0.5
    for step, matrix, factor in (("qk", "qk", root), ("scaled", "scores", 1.0), ("masked", "masked", 1.0)):
        open_page_at(page, causal=False, compare="on", view="attention", attention__step=step)
        expect(page.locator(f"[data-matrix={matrix}-difference]")).to_be_visible()
        found = cells(page, f"{matrix}-difference")
        for row, numbers in enumerate(found):
            seen = numbers[: row + 1] if step == "masked" else numbers
            assert seen == pytest.approx((scores[row, : len(seen)] * factor).tolist(), abs=1e-4)
            if step == "masked":
                assert set(numbers[row + 1 :]) <= {None, math.inf}
    expect(page.locator("[data-station=attention] .legend:visible").first).to_contain_text("+∞: hidden before")
    open_page_at(page, causal=False, compare="on", view="qkv", query=8, key=7)
    for name, change in (("q", q), ("k", k), ("v", v)):
        for numbers, row in zip(cells(page, name), change, strict=True):
            assert numbers == pytest.approx(row.tolist(), abs=1e-5)
    expect(page.locator("[data-matrix=q] ~ [data-testid=readout]")).to_contain_text(f"{q[8, 0]:+.4f}".replace("-", "−"))


def test_padded_values_are_compared_on_the_rows_of_the_sentence(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_page_at(page, view="av", pad=2, padding=False, compare="on")
    tap, ids = f"layers.{LAYER}.attn.z", model.tokenizer.encode(TEXT)
    before = trace(model, ids, [tap]).tensors[tap][HEAD]
    after = trace(model, ids, [tap], use=Masks(padding=False), pad=Padding(2)).tensors[tap][HEAD]
    rows = cells(page, "z")
    assert all(number is None for row in rows[:2] for number in row), "PADs, which were not there"
    for row, numbers in enumerate(rows[2:]):
        assert numbers == pytest.approx((after[row + 2] - before[row]).tolist(), abs=1e-5)


def test_a_link_compares_the_run_with_a_patch_of_it(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_page_at(page, against=json.dumps({"pad": {"count": 2}, "masks": {"padding": False}}))
    before = traced(model).tensors[NAME][HEAD]
    after = traced(model, Masks(padding=False), Padding(2)).tensors[NAME][HEAD][2:, 2:]
    rows = cells(page, "difference")
    for row, numbers in enumerate(rows):
        found = [number for number in numbers if number is not None]
        assert found == pytest.approx((after - before)[row, : row + 1].tolist(), abs=1e-6)
    assert len(rows) == len(before)
    assert page.get_by_test_id("kl").is_visible()


def test_two_runs_are_compared_in_their_weights_from_any_step(page: "Page") -> None:
    open_page_at(page, causal=False, **{"attention.step": "qk"})
    page.get_by_test_id("compare-difference").click()
    page.locator("[data-matrix=difference]").wait_for()
    assert "attention.step" not in page.url
    page.get_by_test_id("layer-only").click()
    expect(page.locator(".pair")).to_contain_text(f"causal mask off in layer {LAYER} only")


def test_the_causal_switch_stays_under_the_pointer(page: "Page") -> None:
    """Without its mask a head has no label, so less is said above the switch."""
    open_page_at(page, text="Tom lost his red car. Tom was sad. Mom found the red", layer=5, head=5, drawer="labels")
    said, switch = page.get_by_test_id("head-label"), page.get_by_test_id("switch-causal")
    expect(said).to_contain_text("induction")
    before = switch.bounding_box()
    assert before
    switch.click()
    expect(said).to_have_attribute("data-kind", "")
    expect(said).not_to_contain_text("induction")
    after = switch.bounding_box()
    assert after
    assert after["y"] == pytest.approx(before["y"], abs=1)


def test_what_cannot_be_aligned_says_why(page: "Page") -> None:
    open_page_at(page, against=json.dumps({"input": {"text": "A dog"}}))
    assert "another sentence" in page.get_by_test_id("verdict").inner_text()
    assert page.locator("[data-matrix=difference]:visible").count() == 0
    assert not page.get_by_test_id("kl").is_visible()


# --- the next token -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [4, 10])
def test_how_the_next_token_moved(page: "Page", model: checkpoint.Checkpoint, query: int) -> None:
    open_page_at(page, pad=2, padding=False, compare="on", query=query)
    runs = [traced(model), traced(model, Masks(padding=False), Padding(2))]
    logits = [run.tensors["logits"][at].double() for run, at in zip(runs, (query - 2, query), strict=True)]
    keep = torch.arange(len(logits[0])) != model.tokenizer.pad_id
    log_p, log_q = (row[keep].log_softmax(0) for row in logits)
    kl = float((log_p.exp() * (log_p - log_q)).sum() / math.log(2))
    assert value(page, "kl") == pytest.approx(kl, rel=1e-4)
    assert f"= {kl:.4f} bits" in page.get_by_test_id("kl").inner_text()

    actual = runs[1].ids[query + 1] if query + 1 < len(runs[1].ids) else int(log_p.argmax())
    assert value(page, "logp", "id") == actual
    assert value(page, "logp") == pytest.approx(float(log_q[actual] - log_p[actual]) / math.log(2), rel=1e-4)
    for token, was, now in shares(page.get_by_test_id("moved-candidate"), "id", "before", "after"):
        assert was == pytest.approx(float(log_p[int(token)].exp()), abs=1e-6)
        assert now == pytest.approx(float(log_q[int(token)].exp()), abs=1e-6)
    assert value(page, "softmax-check", "gap") < 1e-6
    assert "✓" in page.get_by_test_id("softmax-check").inner_text()

    other = page.get_by_test_id("moved-candidate").last
    other.click()
    token = other.get_attribute("data-id")
    expect(page.get_by_test_id("logp")).to_have_attribute("data-id", token or "")
    page.wait_for_url(f"**compare.token={query}.{token}**")
    page.reload()
    page.wait_for_selector(f'[data-testid="logp"][data-id="{token}"]')


def test_what_a_mask_changes_at_every_position(page: "Page", model: checkpoint.Checkpoint) -> None:
    """The probability of the token that really comes next, with the causal mask of training and without it."""
    open_page_at(page, causal=False, compare="on")
    page.get_by_test_id("fold-every").locator("summary").click()
    runs = [traced(model), traced(model, Masks(causal=False))]
    keep = torch.arange(runs[0].tensors["logits"].shape[1]) != model.tokenizer.pad_id
    ids = runs[0].ids
    expected = [
        [float(run.tensors["logits"][t].double()[keep].softmax(0)[ids[t + 1]]) for run in runs]
        for t in range(len(ids) - 1)
    ]
    rows = page.get_by_test_id("every-row")
    expect(rows).to_have_count(len(ids) - 1)
    found = [[float(row.get_attribute(f"data-{name}") or 0) for name in ("before", "after")] for row in rows.all()]
    assert [one for both in found for one in both] == pytest.approx([p for both in expected for p in both], abs=1e-5)
    worse = sum(after < before for before, after in expected)
    assert worse > len(expected) / 2, "it was trained with the mask"
    said = page.get_by_test_id("every-said")
    expect(said).to_contain_text(f"Less likely after the change: {worse} of {len(expected)}.")
    expect(said).to_contain_text("trained with its masks")


# --- the controls ---------------------------------------------------------------------------------------------------


def positions(page: "Page") -> list[int]:
    places = page.locator("[data-testid=token] .place")
    return [int(place) for place in places.evaluate_all("all => all.map((one) => one.dataset.position)")]


def test_padding_by_hand_and_in_the_address(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_page_at(page, query=3)
    n = len(model.tokenizer.encode(TEXT))
    chosen = page.locator("[data-testid=token].q").get_attribute("data-id")
    assert positions(page) == []
    expect(page.get_by_test_id("switch-padding")).to_be_disabled()
    show_pads(page)
    expect(page.locator("[data-testid=pads-menu], [data-testid=pads-left]").locator("visible=true")).to_have_count(0)
    place = page.get_by_test_id("pads-more").bounding_box()
    page.get_by_test_id("pads-more").click()
    expect(page.get_by_test_id("pads")).to_have_text("1")
    assert page.get_by_test_id("pads-more").bounding_box() == place, "it stays under the pointer"
    page.get_by_test_id("pads-more").click()
    page.wait_for_function("() => document.querySelectorAll('[data-testid=token].pad').length === 2")
    assert positions(page) == [0, 0, *range(n)]
    assert page.locator("[data-testid=token].q").get_attribute("data-id") == chosen, "it moves with its token"
    assert "2 of them PAD" in page.get_by_test_id("counts").inner_text()
    open_pads(page)
    now = page.get_by_test_id("positions-now").inner_text()
    assert f"0 to {n - 1}; if PADs counted, it would have 2 to {n + 1}" in now

    page.get_by_test_id("switch-positions").click()
    page.wait_for_function(
        "() => document.querySelector('[data-testid=token] .place:last-child').dataset.position === '0'"
    )
    wait_for_run(page, "run.pad?.follow === false")
    drawn(page)
    assert positions(page) == list(range(n + 2))
    page.get_by_test_id("switch-padding").click()
    open_pads(page)
    page.get_by_test_id("pads-right").click()
    run = wait_for_run(page, "run.pad?.side === 'right' && run.masks?.padding === false")
    drawn(page)
    assert run["pad"] == {"count": 2, "side": "right", "follow": False}
    assert run["masks"] == {"padding": False}
    assert "query=3" in page.url
    assert positions(page) == list(range(n + 2))

    page.reload()
    drawn(page)
    assert page.get_by_test_id("pads").inner_text() == "2"
    assert page.get_by_test_id("pads-right").get_attribute("aria-pressed") == "true"
    for name in ("padding", "positions"):
        assert page.get_by_test_id(f"switch-{name}").get_attribute("aria-checked") == "false"
    open_pads(page)
    page.get_by_test_id("pads-fewer").click(click_count=2)
    wait_for_run(page, "!run.pad?.count")
    expect(page.get_by_test_id("pads-fewer")).to_be_disabled()
    expect(page.get_by_test_id("pads-left")).to_be_hidden()  # there is nothing to choose
    page.get_by_test_id("pads-more").click()
    open_pads(page)
    wait_for_run(page, "run.pad?.count === 1")
    here = page.url
    page.keyboard.press("Escape")  # the menu closes, and nothing else
    expect(page.get_by_test_id("pads-left")).to_be_hidden()
    assert page.url == here


@pytest.mark.parametrize(("width", "lang"), [(1440, "en"), pytest.param(1280, "ja", marks=pytest.mark.japanese)])
def test_the_masks_stand_in_one_line_with_what_undoes_them(
    open_page: "Callable[..., Page]", width: int, lang: str
) -> None:
    page = open_page(viewport={"width": width, "height": 720})
    page.goto(link({"text": TEXT, "pad": 2, "causal": False, "lang": lang, "view": "attention"}))
    drawn(page)
    sides = [f"compare-{side}" for side in ("before", "after", "difference")]
    names = ["walk-through", "edits-list", "note-masks", "edit-undo", "edit-redo", *sides, "switch-causal", "tools"]
    boxes = [page.get_by_test_id(name).bounding_box() for name in names]
    assert [box["x"] for box in boxes if box] == sorted(box["x"] for box in boxes if box), "in their order"
    middles = [box["y"] + box["height"] / 2 for box in boxes if box]
    assert len(middles) == len(names)
    assert max(middles) - min(middles) < 8
    assert all(box and box["x"] + box["width"] <= width for box in boxes)
    place = page.locator(".stations > :is(.inside, .inside-list)").locator("visible=true").bounding_box()
    assert place
    assert boxes[0]
    assert place["x"] + place["width"] <= boxes[0]["x"], "every place is in sight, or in a list"
    page.get_by_test_id("edits-list").click()
    expect(page.get_by_test_id("edit-mask")).to_have_count(2)
    page.get_by_test_id("note-masks").click()
    wait_for_run(page, "!run.pad?.count && !run.masks")
    expect(page.get_by_test_id("edits-list")).to_be_hidden()
    # Undo comes, and moves no switch: a second click at the same place takes the first one back.
    switch = page.get_by_test_id("switch-causal")
    before = switch.bounding_box()
    assert before
    at = before["x"] + before["width"] / 2, before["y"] + before["height"] / 2
    label = page.locator(".walk-through > .label")
    words = label.bounding_box()
    for state, undoes in (("false", True), ("true", False)):
        page.mouse.click(*at)
        expect(switch).to_have_attribute("aria-checked", state)
        expect(page.get_by_test_id("edit-undo")).to_be_enabled(enabled=undoes)
        assert switch.bounding_box() == before
        assert label.bounding_box() == words, "it keeps its words"
    page.mouse.click(*at)
    undo = page.get_by_test_id("edit-undo")
    expect(undo).to_be_enabled()
    undo.click()
    expect(undo).to_be_disabled()
    redo = page.get_by_test_id("edit-redo")
    expect(redo).to_be_visible()
    assert switch.bounding_box() == before
    redo.click()
    expect(undo).to_be_enabled()


def open_all_heads(page: "Page") -> None:
    """By their button, which stays where it is: a second click closes them."""
    button = page.get_by_test_id("all-heads")
    middle = "(one) => { const at = one.getBoundingClientRect(); return [at.left, (at.top + at.bottom) / 2]; }"
    place = button.evaluate(middle)
    button.click()
    page.locator('[data-testid="head"][data-layer="1"][data-head="2"]').wait_for()
    assert button.evaluate(middle) == pytest.approx(place, abs=4)


def test_before_and_after_swap_every_picture_in_place(page: "Page") -> None:
    """The edits stay in sight, and what was seen once is not asked for again."""
    page.goto(link({"text": TEXT, "view": "attention"}))
    drawn(page)
    before = cells(page, "weights")
    page.get_by_test_id("switch-causal").click()
    wait_for_run(page, "run.masks?.causal === false")
    drawn(page)
    after = cells(page, "weights")
    assert before != after
    page.wait_for_timeout(600)  # effects on the answer come after a pause
    asked: list[str] = []
    page.on("request", lambda one: re.search("/api/(?!explain/abl)", one.url) and asked.append(one.url))
    for shown, side in ((before, "before"), (after, "after"), (before, "before"), (after, "after"), (before, "before")):
        page.keyboard.press("Alt+b")
        expect(page.get_by_test_id(f"compare-{side}")).to_have_attribute("aria-pressed", "true")
        drawn(page)
        assert cells(page, "weights") == shown
        expect(page.get_by_test_id("changed")).to_have_text("causal mask off")
        # The switches stand as they are set, and what is shown before cannot be changed.
        expect(page.get_by_test_id("switch-causal")).to_have_attribute("aria-checked", "false")
    assert asked == []
    page.reload()  # the link has what is set aside
    drawn(page)
    assert cells(page, "weights") == before
    page.get_by_test_id("head-eye").click()  # an edit brings the others back
    wait_for_run(page, "run.masks?.causal === false && run.interventions.length === 1")
    expect(page.get_by_test_id("compare-after")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Alt+b")  # the eye, too, stands as it is set, and says what a click does
    eye = page.get_by_test_id("head-eye")
    expect(page.get_by_test_id("compare-before")).to_have_attribute("aria-pressed", "true")
    expect(eye).to_have_attribute("data-off", "true")
    eye.click()
    wait_for_run(page, "run.masks?.causal === false && !run.interventions?.length")
    drawn(page)
    weights = page.locator("[data-matrix=weights] .sheet").bounding_box()
    page.get_by_test_id("compare-difference").click()
    drawn(page)
    assert page.locator("[data-matrix=difference] .sheet").bounding_box() == weights, "no cell moves"
    open_all_heads(page)
    assert page.locator("[data-matrix=difference] .sheet").bounding_box() == weights, "all heads lie over it"
    sheet = page.get_by_test_id("all-heads")
    page.get_by_test_id("arithmetic").click(position={"x": 2, "y": 2})
    expect(sheet).to_have_attribute("aria-expanded", "false")
    sheet.click()
    page.keyboard.press("Escape")
    expect(sheet).to_have_attribute("aria-expanded", "false")
    assert "view=attention" in page.url, "Escape leaves nothing else"
    sheet.click()
    page.get_by_test_id("rank-heads").click()
    expect(page.get_by_test_id("rank-row").first).to_be_visible()
    expect(sheet).to_have_attribute("aria-expanded", "false")


COLOURS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""


def test_the_difference_of_a_head_that_is_off_keeps_its_weights_and_says_why(
    open_page: "Callable[..., Page]", model: checkpoint.Checkpoint
) -> None:
    """The words lie over the hatched cells: also over a sheet they are seen, and the page does not move."""
    page = open_page(viewport={"width": 1440, "height": 900})
    open_page_at(page, view="attention", drawer="rank", river__shown="on")
    page.get_by_test_id("head-eye").click()
    expect(page.get_by_test_id("head-eye")).to_have_attribute("data-off", "true")
    assert serious(page, "[data-testid=head-eye]", rules="colours") == []
    page.evaluate("scrollTo(0, 200)")
    scrolled = page.evaluate("scrollY")
    assert scrolled > 100
    page.get_by_test_id("compare-difference").evaluate("button => button.click()")
    drawn(page)
    expect(page.locator(".card-both")).to_have_text("unchanged")
    said = page.get_by_test_id("unchanged")
    expect(said).to_contain_text("The weights are unchanged: what this head writes is set to 0.")
    assert page.evaluate("scrollY") == scrolled
    page.evaluate("scrollTo(0, 0)")
    words, sheet = said.bounding_box(), page.locator(".drawers").bounding_box()
    assert words is not None
    assert sheet is not None
    assert words["y"] + words["height"] < sheet["y"], "the sheet hides it"
    weights = traced(model).tensors[NAME][HEAD]
    for row, numbers in enumerate(cells(page, "difference")):
        assert numbers[: row + 1] == pytest.approx(weights[row, : row + 1].tolist(), abs=1e-6)
    assert serious(page, ".unchanged-note", rules="colours") == []
    small = page.locator("canvas[data-testid=head]:visible").first.evaluate(COLOURS)
    assert small > 3, "the small pictures keep their weights, too"


def test_undo_ends_the_comparison(page: "Page") -> None:
    page.goto(link({"text": TEXT, "view": "attention"}))
    drawn(page)
    page.get_by_test_id("switch-causal").click()
    page.get_by_test_id("compare-difference").click()
    expect(page.locator("[data-panel=opened] [data-testid=matrix]:visible")).not_to_have_count(1)
    page.get_by_test_id("edit-undo").click()
    wait_for_run(page, "run.masks?.causal !== false")
    expect(page.locator("[data-panel=opened] [data-testid=matrix]:visible")).to_have_count(1)
    assert "compare" not in page.url


def test_generation_reads_the_sentence_without_pads(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_page_at(page, pad=2, drawer="generation")
    page.get_by_test_id("gen-step").click()
    run = wait_for_run(page, "run.input?.token_ids")
    drawn(page)
    assert run["input"]["token_ids"][:-1] == model.tokenizer.encode(TEXT)
    assert "reads the sentence without the PADs" in page.get_by_test_id("gen-note").inner_text()
    newest = page.locator("[data-testid=tree-node][aria-current]")
    assert page.locator("[data-testid=token].q").get_attribute("data-id") == newest.get_attribute("data-id")


def test_the_mask_is_a_picture_of_its_reasons(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_page_at(page, pad=2, attention__step="masked", query=0, key=1)
    ids, name = model.tokenizer.encode(TEXT), "layers.0.attn.mask"
    mask = trace(model, ids, [name], pad=Padding(2)).tensors[name][0]
    hidden = [[cell is None for cell in row] for row in cells(page, "masked")]
    assert hidden == (mask != 0).tolist()
    legend = page.locator("[data-testid=legend]:visible").inner_text()
    for reasons in ("causal", "padding", "causal + padding"):
        assert reasons in legend
    assert "PAD₁, PAD₂ have no allowed key" in page.get_by_test_id("blind").inner_text()
    readout = page.locator("[data-matrix=masked] ~ [data-testid=readout]").inner_text()
    assert "causal mask" in readout
    assert "padding mask" in readout

    page.get_by_test_id("attention-step").press("ArrowRight")
    page.wait_for_selector("[data-matrix=weights]")
    drawn(page)
    says = page.get_by_test_id("attention-says")
    assert says.locator("math").text_content() == "e−∞"  # set as a formula
    assert "= 0, so a forbidden key gets no weight" in says.inner_text()
    assert cells(page, "weights")[:2] == [[None] * (len(ids) + 2)] * 2
    assert "zeros" in page.get_by_test_id("blind").inner_text()


def test_numbers_of_a_long_text_say_that_they_are_rounded(page: "Page") -> None:
    open_page_at(page, text=" ".join([TEXT] * 8), compare="on")
    assert "≈" in page.get_by_test_id("moved-head").first.inner_text()
    assert "float16" in page.locator(".compare-heads").inner_text()


def test_the_list_of_heads_keeps_the_keyboards_place(page: "Page") -> None:
    open_page_at(page, compare="on")
    head = page.get_by_test_id("moved-head").nth(1)
    place = [head.get_attribute(f"data-{name}") for name in ("layer", "head")]
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"layer={place[0]}&head={place[1]}"))
    drawn(page)
    assert page.evaluate("document.activeElement.dataset.focus") == f"head self {place[0]} {place[1]}"


def test_nothing_overflows(page: "Page") -> None:
    open_page_at(page, pad=3, padding=False, causal=False, compare="on")
    assert overflows(page, (360, 1440)) == []


# --- the pencil ------------------------------------------------------------------------------------------------------


def under_pencil(page: "Page", row: int, col: int, name: str = "weights") -> tuple[float, float]:
    """The middle of a cell of a matrix of the open head, in pixels of the page."""
    box, n = page.locator(f"[data-matrix={name}] .sheet").bounding_box(), len(cells(page, name))
    assert box
    return box["x"] + (col + 0.5) * box["width"] / n, box["y"] + (row + 0.5) * box["height"] / n


def test_a_pencil_hides_cells_in_the_picture_and_shows_them_again(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_page_at(page, query=7, key=1)
    frame, pencil = page.locator("[data-matrix=weights]"), page.get_by_test_id("pencil")
    place = frame.locator(".sheet").bounding_box()
    page.mouse.click(*under_pencil(page, 6, 2))  # without it a click chooses
    chosen = page.locator("[data-matrix=weights] ~ [data-testid=readout][data-query='6'][data-key='2']")
    chosen.wait_for()
    page.keyboard.press("e")
    expect(pencil).to_have_attribute("aria-pressed", "true")
    assert frame.locator(".sheet").bounding_box() == place, "the cells stay where they are"

    asked: list[str] = []
    page.on("request", lambda request: request.url.endswith("/api/trace") and asked.append(request.url))
    page.mouse.move(*under_pencil(page, 6, 7))  # a later key
    expect(frame.locator(".hovertext")).to_contain_text("Click or drag to allow it")
    page.mouse.move(*under_pencil(page, 7, 1))
    expect(frame.locator(".hovertext")).to_contain_text("Click or drag to hide it")
    page.mouse.down()
    page.mouse.move(*under_pencil(page, 7, 3))
    expect(frame.locator("text.struck")).to_have_count(3)  # the old weights
    assert cells(page, "weights")[7][1:4] == [None, None, None]
    assert not asked, "only at the end of the stroke"
    page.mouse.up()
    run = wait_for_run(page, "run.interventions?.length === 3")
    drawn(page)
    wheres = [one["where"] for one in run["interventions"]]
    at = {"attention": "self", "layer": LAYER, "role": "mask", "head": HEAD, "query": 7}
    assert wheres == [at | {"key": key} for key in (1, 2, 3)]
    before = traced(model).tensors[NAME][HEAD][7]
    left = before.clone()
    left[1:4] = 0
    shown = torch.tensor([cell or 0 for cell in cells(page, "weights")[7]])
    torch.testing.assert_close(shown, left / left.sum(), atol=1e-6, rtol=1e-4)
    expect(chosen).to_be_attached()  # stays chosen
    assert "hidden by you" in page.locator("[data-testid=legend]:visible").inner_text()

    frame.press("ArrowDown")
    page.locator("[data-testid=readout][data-query='7'][data-key='2']").wait_for()
    frame.press("Enter")
    run = wait_for_run(page, "run.interventions.length === 2")
    assert [one["where"]["key"] for one in run["interventions"]] == [1, 3]


def test_at_the_mask_a_click_chooses_and_only_a_second_one_or_a_drag_hides(page: "Page") -> None:
    open_page_at(page, query=7, key=1, attention__step="masked")
    cell, pencil = under_pencil(page, 6, 2, "masked"), page.get_by_test_id("pencil")
    page.mouse.move(*cell)
    expect(page.locator("[data-matrix=masked] .hovertext")).to_contain_text("Click twice or drag to hide it")
    page.mouse.click(*cell)
    page.locator("[data-matrix=masked] ~ [data-testid=readout][data-query='6'][data-key='2']").wait_for()
    assert "interventions" not in page.url
    page.mouse.click(*cell)
    wait_for_run(page, "run.interventions?.length === 1")
    drawn(page)
    page.mouse.move(*under_pencil(page, 5, 1, "masked"))
    page.mouse.down()
    page.mouse.move(*under_pencil(page, 5, 3, "masked"))
    page.mouse.up()
    wait_for_run(page, "run.interventions?.length === 4")
    expect(pencil).to_have_attribute("aria-pressed", "false")  # the line of tools is as at any step
    expect(page.get_by_test_id("scope-all")).to_be_hidden()


def test_a_stroke_is_taken_back_and_a_token_hides_its_column(page: "Page", model: checkpoint.Checkpoint) -> None:
    """Escape while drawing leads nowhere; what is hidden is set against zero after the softmax."""
    open_page_at(page, query=7, key=1, attention__pencil="on")
    frame = page.locator("[data-matrix=weights]")
    page.mouse.move(*under_pencil(page, 7, 1))
    page.mouse.down()
    page.mouse.move(*under_pencil(page, 7, 3))
    expect(frame.locator("text.struck")).to_have_count(3)
    page.keyboard.press("Escape")
    expect(frame.locator("text.struck")).to_have_count(0)
    page.mouse.up()
    assert "interventions" not in page.url
    expect(page.get_by_test_id("pencil")).to_be_visible()

    page.get_by_test_id("token").nth(2).click(modifiers=["Shift"])
    (column,) = wait_for_run(page, "run.interventions?.length === 1")["interventions"]
    assert column["where"] == {"attention": "self", "layer": LAYER, "role": "mask", "head": HEAD, "key": 2}
    drawn(page)
    page.locator(".inspector-more > summary").click()
    zeroed = page.locator('[data-step="zeroed"]')
    row = traced(model).tensors[NAME][HEAD][7]
    expect(zeroed).to_contain_text(f"sums to {float(1 - row[2]):.3f}")
    expect(zeroed.get_by_test_id("check")).to_have_attribute("data-agrees", "true")
    page.get_by_test_id("token").nth(2).click(modifiers=["Shift"])
    wait_for_run(page, "!run.interventions")


def test_with_a_pad_a_cell_had_the_weight_of_its_tokens_and_the_pads_had_none(
    page: "Page", model: checkpoint.Checkpoint
) -> None:
    """The PAD moves every row and key: what a cell had before is that of its two tokens, not that of the same place."""
    open_page_at(page, view="attention", pad=1, padding=False, query=9, key=8, river__shown="on")
    says = page.get_by_test_id("river-says")
    expect(says).to_contain_text(re.compile(r" attends (more )?to "))  # more, once what was before is here
    expect(says).not_to_contain_text("NaN")
    expect(page.get_by_test_id("arithmetic-value")).to_have_text(re.compile(r"\d"))
    page.get_by_test_id("compare-before").click()
    drawn(page)
    page.get_by_test_id("compare-after").click()  # the run before is here now
    before = float(traced(model).tensors[NAME][HEAD][8][7])
    expect(page.get_by_test_id("arithmetic-was")).to_have_text(f"{before:.4f}")
    page.locator("[data-matrix=weights]").focus()
    page.keyboard.press("Home")
    page.locator("[data-testid=readout][data-key='0']").wait_for()
    expect(page.get_by_test_id("arithmetic-was")).to_have_count(0)


def test_a_pencil_hides_a_row_by_its_label_and_allows_a_later_key_in_every_layer(page: "Page") -> None:
    open_page_at(page, query=7, key=1, attention__pencil="on")
    frame, pencil = page.locator("[data-matrix=weights]"), page.get_by_test_id("pencil")
    box = frame.locator(".sheet").bounding_box()
    assert box
    page.keyboard.down("Shift")
    page.mouse.click(box["x"] - 20, under_pencil(page, 7, 0)[1])
    page.keyboard.up("Shift")
    (row,) = wait_for_run(page, "run.interventions?.length === 1")["interventions"]
    assert row["where"] == {"attention": "self", "layer": LAYER, "role": "mask", "head": HEAD, "query": 7}
    expect(page.get_by_test_id("blind")).to_contain_text("has no allowed key")
    frame.press("Shift+Enter")
    wait_for_run(page, "!run.interventions")
    drawn(page)
    expect(page.get_by_test_id("blind")).to_be_hidden()

    page.get_by_test_id("scope-all").click()
    page.mouse.click(*under_pencil(page, 5, 6))  # a later key
    (later,) = wait_for_run(page, "run.interventions?.length === 1")["interventions"]
    assert (later["where"]["layer"], later["allow"], later["lifts"]) == (None, True, ["causal"])
    page.reload()
    drawn(page)
    assert (cells(page, "weights")[5][6] or 0) > 0
    expect(pencil).to_have_attribute("aria-pressed", "false")  # who comes back reads first


def test_an_edit_that_cannot_be_is_set_aside_and_says_why_at_its_chip(page: "Page", page_errors: list[str]) -> None:
    good, bad = (
        {"kind": "mask", "where": {"layer": LAYER, "head": HEAD, "query": query, "key": 1}, "allow": False}
        for query in (3, 99)
    )
    run = {"input": {"text": TEXT}, "interventions": [bad, good]}
    page.goto(link({"run": json.dumps(run), "layer": LAYER, "head": HEAD}))
    drawn(page)
    expect(page.get_by_test_id("banner")).to_contain_text("Edit 1 is switched off. There is no token 99; the last")
    page.get_by_test_id("edits-list").click()
    chip = page.get_by_test_id("edit-chip").filter(has=page.get_by_test_id("edit-problem"))
    expect(chip).to_contain_text("There is no token 99")
    expect(chip.get_by_role("checkbox")).not_to_be_checked()
    assert cells(page, "weights")[3][1] is None
    assert wait_for_run(page, "run.interventions?.length === 1")["interventions"] == [good]
    chip.get_by_test_id("edit-remove").click()
    expect(page.get_by_test_id("banner")).to_be_hidden()

    below = {**bad, "where": {**bad["where"], "query": -1}}
    run = {"input": {"text": TEXT}, "interventions": [{"kind": "explode", "where": {"layer": 0}}, below]}
    page.goto(link({"run": json.dumps(run), "layer": LAYER, "head": HEAD}))
    expect(page.get_by_test_id("banner")).to_contain_text("Edit 2 is switched off. where.query: Input should be")
    expect(page.get_by_test_id("edit-chip").first).to_contain_text("explode · layer 0")
    page_errors.clear()  # the browser reports the 4xx


def test_the_formula_is_changed_from_its_menu_and_by_the_eye_of_a_part(
    page: "Page", model: checkpoint.Checkpoint
) -> None:
    """The menu beside the masks, the eye of an open FFN and its key, the word of an attention over the river."""
    page.goto(link({"text": TEXT, "view": "ffn", "layer": LAYER, "river__shown": "on"}))
    drawn(page)
    chips, eye, says = (page.get_by_test_id(name) for name in ("edit-chip", "ffn-eye", "river-says"))
    eye.click()
    row = re.compile(f"FFN of layer {LAYER}: output set to")
    how = page.get_by_test_id("edit-how")
    expect(chips).to_have_text(row)
    expect(says).to_contain_text(f"The FFN of layer {LAYER} is off.")
    tap = next(ffn.added.tap for ffn in model.description.readout.ffns if ffn.layer == LAYER)
    edited = trace(model, model.tokenizer.encode(TEXT), ["logits"], edit={tap: AblateHead()})
    never = torch.tensor(model.tokenizer.never_sampled)
    best = edited.tensors["logits"][-1].index_fill(0, never, -torch.inf).softmax(-1).max()
    expect(says).to_contain_text(brief_percent(float(best)))
    page.get_by_test_id("edits-list").click()
    how.select_option("mean")  # over stored windows, in its place
    expect(page.get_by_test_id("edits-list")).to_contain_text(f"FFN of layer {LAYER} = mean")
    assert wait_for_run(page, "run.interventions?.[0].to === 'mean'")["interventions"][0]["where"]["role"] == "out"
    drawn(page)
    how.select_option("zero")  # the list stayed open under the pointer
    expect(page.get_by_test_id("edits-list")).to_contain_text(f"FFN of layer {LAYER} off")
    page.get_by_test_id("compare-difference").click()  # its own units have not changed: what it writes has
    expect(page.locator("[data-station=ffn] .formula")).to_contain_text("after − before")
    expect(page.locator("[data-station=ffn] .map-legend")).to_have_text("Nothing changed here.")
    page.get_by_test_id("compare-after").click()
    eye.focus()
    page.keyboard.press("o")
    expect(chips).to_have_count(0)

    open_tools(page)
    page.get_by_test_id("formula-menu").click()
    page.get_by_test_id("switch-positions-used").click()
    expect(chips).to_have_text(re.compile("positions off"))
    page.get_by_test_id("switch-norms-frozen").click()
    for name in ("switch-root", "temperature-T2", "window-w8", "window-w4"):  # the last one in the place of the other
        page.get_by_test_id(name).click()
    page.keyboard.press("Escape")
    scores = ["√d off", "temperature 2", "window of 4 tokens"]
    said = ["positions off", "LayerNorm frozen", *(f"{one} · all layers" for one in scores)]
    expect(chips.locator(".edit-words")).to_have_text(said)
    page.reload()
    drawn(page)
    expect(chips.locator(".edit-words")).to_have_text(said)  # the link has them, in their order

    page.goto(link({"text": TEXT, "layer": LAYER, "head": HEAD}))
    drawn(page)
    matrix_shown(page.locator('[data-matrix="weights"]'))
    open_tools(page)
    page.get_by_test_id("formula-menu").click()
    page.get_by_test_id("temperature-T4").click()
    expect(chips).to_have_text(re.compile(f"temperature 4 · head {LAYER}·{HEAD}"))
    expect(page.locator(".check.bad, .check-mark.bad")).to_have_count(0)


def test_in_a_window_of_one_each_token_sees_itself_alone(page: "Page") -> None:
    page.goto(link({"text": TEXT, "layer": LAYER, "head": HEAD}))
    drawn(page)
    open_tools(page)
    page.get_by_test_id("formula-menu").click()
    page.get_by_test_id("window-w1").click()
    expect(page.get_by_test_id("edit-chip")).to_have_text(re.compile(f"window of 1 token · head {LAYER}·{HEAD}"))
    drawn(page)
    own = matrix_shown(page.locator('[data-matrix="weights"]'))["z"]
    assert own == [[1 if row == col else None for col in range(len(own))] for row in range(len(own))]
