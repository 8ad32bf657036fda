"""The classifier's panels: classes, [CLS]'s rows, and a batch of two: every number is the Python trace's."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch

from chumoku.model import checkpoint
from chumoku.model.trace import Masks, Padding, Trace, trace
from tests.browser.helpers import link, loaded, open_pads, serious_in_both_themes, show_pads

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT = "A wonderful, moving film with a great cast."
SHORT = "Dull."

pytestmark = pytest.mark.warm


@pytest.fixture(scope="module")
def model() -> checkpoint.Checkpoint:
    return loaded("encoder-only")


def traced(model: checkpoint.Checkpoint, text: str, names: list[str], **how: Any) -> Trace:
    return trace(model, model.tokenizer.encode(text), names, **how)


def open_classes(page: "Page", model: checkpoint.Checkpoint, text: str = TEXT, **state: Any) -> None:
    page.goto(link({"model": model.name, "text": text, "layer": 1, "head": 2, "drawer": "batch"} | state))
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("class").first.wait_for()


def probabilities(logits: torch.Tensor) -> list[float]:
    return logits.double().softmax(-1).tolist()


def test_classes_are_the_softmax_of_the_logits(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_classes(page, model)
    logits = traced(model, TEXT, ["logits"]).tensors["logits"].flatten()
    bars = page.get_by_test_id("class")

    names = [bar.get_attribute("data-name") for bar in bars.all()]
    assert names == list(model.config.classes)
    shown = [(float(bar.get_attribute("data-probability") or "nan"), bar.inner_text()) for bar in bars.all()]
    for (probability, text), exact, logit in zip(shown, probabilities(logits), logits.tolist(), strict=True):
        assert probability == pytest.approx(exact, abs=1e-6)
        assert f"{exact * 100:.1f}" in text
        assert f"{abs(logit):.3f}" in text
    widths = page.locator(".class-bars .track > span").evaluate_all(
        "all => all.map((bar) => parseFloat(bar.style.width))"
    )
    assert widths == pytest.approx([100 * exact for exact in probabilities(logits)], abs=1e-3)
    assert "last state of [CLS]" in page.get_by_test_id("class-read").inner_text()
    exact = sorted(zip(probabilities(logits), model.config.classes, strict=True), reverse=True)
    chips = page.get_by_test_id("likely").locator("visible=true")
    assert [chip.get_attribute("data-id") for chip in chips.all()] == [name for _, name in exact]
    for chip, (share, _) in zip(chips.all(), exact, strict=True):
        assert f"{share * 100:.1f}" in (chip.get_attribute("title") or "")
    assert page.get_by_test_id("gen-step").is_hidden(), "a classifier writes nothing"
    assert page.get_by_test_id("answer").locator("visible=true").count() == 0


def test_a_row_of_every_head_opens_it_at_cls(page: "Page", model: checkpoint.Checkpoint) -> None:
    config = model.config
    names = [f"layers.{layer}.attn.pattern" for layer in range(config.n_layer)]
    rows = torch.stack([traced(model, TEXT, names).tensors[name] for name in names])[:, :, 0]
    open_classes(page, model)

    cells = page.get_by_test_id("cls-row")
    assert cells.count() == config.n_layer * config.n_head
    for cell in cells.all():
        row = rows[int(cell.get_attribute("data-layer") or -1), int(cell.get_attribute("data-head") or -1)]
        best = row[int(cell.get_attribute("data-best") or -1)].item()
        assert best == pytest.approx(row.max().item(), abs=1 / 255), "as exactly as 256 steps allow"
        assert (cell.locator("path").get_attribute("d") or "").count("M") == len(row)

    layer, head = config.n_layer - 1, 0
    page.locator(f'[data-testid=cls-row][data-layer="{layer}"][data-head="{head}"]').click()
    page.wait_for_url(re.compile(f"layer={layer}"))
    assert "query=0" in page.url
    page.locator("[data-testid=cls-open]", has_text=f"head {layer}·{head}").wait_for()
    assert f"{rows[layer, head].max().item():#.4g}" in page.get_by_test_id("cls-open").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.head") == "1"


def test_the_menu_of_pads_adds_a_second_sentence(page: "Page", model: checkpoint.Checkpoint) -> None:
    page.goto(link({"model": model.name, "text": TEXT}))
    page.wait_for_selector('body[data-state="ready"]')
    show_pads(page)
    page.get_by_test_id("pads-more").click()
    open_pads(page)
    page.get_by_test_id("pads-second").click()
    page.get_by_test_id("batch-text").wait_for()
    page.get_by_test_id("pads-second").wait_for(state="hidden")


@pytest.mark.parametrize(("first", "second"), [(TEXT, SHORT), (SHORT, TEXT)])
def test_a_batch_agrees_with_single_runs_under_the_padding_mask(
    page: "Page", model: checkpoint.Checkpoint, first: str, second: str
) -> None:
    open_classes(page, model, first)
    page.get_by_test_id("batch-text").fill(second)
    page.wait_for_url(re.compile(r"batch\.text="))
    page.locator('[data-testid=batch-verdict][data-run="unmasked"]').wait_for()

    shorter = [first, second].index(SHORT)
    count = len(model.tokenizer.encode(TEXT)) - len(model.tokenizer.encode(SHORT))
    pad = Padding(count, "right")
    runs = {
        "alone": traced(model, SHORT, ["logits"]),
        "masked": traced(model, SHORT, ["logits"], pad=pad),
        "unmasked": traced(model, SHORT, ["logits"], pad=pad, use=Masks(padding=False)),
    }
    for name, run in runs.items():
        row = page.locator(f'[data-testid=batch-run][data-run="{name}"][data-sentence="{shorter}"]')
        shown = [
            float(cell.get_attribute("data-probability") or "nan") for cell in row.locator("[data-probability]").all()
        ]
        assert shown == pytest.approx(probabilities(run.tensors["logits"].flatten()), abs=1e-6), name
    gaps = {
        name: float(page.locator(f'[data-run="{name}"] [data-gap]').get_attribute("data-gap") or "nan")
        for name in ("masked", "unmasked")
    }
    assert gaps["masked"] <= 1e-5 < gaps["unmasked"]
    verdicts = page.get_by_test_id("batch-verdict")
    assert ["✓" in text for text in verdicts.all_inner_texts()] == [True, False]
    assert "PADs are read like words" in verdicts.last.inner_text()
    longer = page.locator(".member").nth(1 - shorter)
    assert longer.locator("[data-testid=batch-run]").count() == 1, "it needs no PAD"


def test_the_largest_difference_is_that_of_the_tensors(page: "Page", model: checkpoint.Checkpoint) -> None:
    config = model.config
    last = "final_norm.out" if config.norm_order == "pre" else f"layers.{config.n_layer - 1}.resid_post"
    names = [last, *(f"layers.{layer}.attn.pattern" for layer in range(config.n_layer)), "logits"]
    count = len(model.tokenizer.encode(TEXT)) - len(model.tokenizer.encode(SHORT))
    single = traced(model, SHORT, names).tensors
    padded = traced(model, SHORT, names, pad=Padding(count, "right"), use=Masks(padding=False)).tensors
    n = len(single[last])
    gaps = [(padded[last][:n] - single[last]).abs().max()]
    gaps += [(padded[name][:, :n, :n] - single[name]).abs().max() for name in names[1:-1]]
    gaps += [(padded["logits"].softmax(-1) - single["logits"].softmax(-1)).abs().max()]

    open_classes(page, model, TEXT, batch__text=SHORT)
    shown = page.locator('[data-run="unmasked"] [data-gap]').get_attribute("data-gap")
    assert float(shown or "nan") == pytest.approx(max(gap.item() for gap in gaps), rel=1e-4)


@pytest.mark.japanese
def test_on_a_phone_and_for_everyone(open_page: "Callable[..., Page]", model: checkpoint.Checkpoint) -> None:
    page = open_page(viewport={"width": 360, "height": 780})
    open_classes(page, model, TEXT, batch__text=SHORT, lang="ja", drawer=None)
    assert serious_in_both_themes(page, "[data-panel=classes]") == []
    page.goto(link({"model": model.name, "text": TEXT, "drawer": "batch", "batch__text": SHORT, "lang": "ja"}))
    page.locator('[data-testid=batch-verdict][data-run="unmasked"]').wait_for()  # a sheet over the rest of the page
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert serious_in_both_themes(page, "[data-panel=batch]") == []


def test_other_families_have_no_classes(page: "Page") -> None:
    page.goto(link({"model": "stories-gpt", "text": TEXT}))
    page.wait_for_selector('body[data-state="ready"]')
    assert page.locator('[data-panel="classes"], [data-panel="batch"]').locator("visible=true").count() == 0
