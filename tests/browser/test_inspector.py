"""The inspector: Python recomputes each line, and each result is shown beside the model's own tensor."""

import math
import re
from typing import TYPE_CHECKING, Any

import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.attribution.logit_attribution import contributions
from chumoku.model.trace import Masks, Trace, trace
from tests.browser.helpers import link

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.warm

TEXT = "May the force be with you."
TARGET = "バナナを食べました。"
LAYER, HEAD = 1, 2
NAMES = ("stories-gpt", "translate-enja", "sentiment-encoder")


@pytest.fixture(scope="module")
def models() -> dict[str, checkpoint.Checkpoint]:
    return {name: checkpoint.load(checkpoint.ZOO / name, "cpu") for name in NAMES}


def run(model: checkpoint.Checkpoint, *taps: str) -> Trace:
    target = model.tokenizer.encode(TARGET) if model.config.family == "encoder-decoder" else None
    return trace(model, model.tokenizer.encode(TEXT), list(taps), target=target)


def explained(page: "Page", model: checkpoint.Checkpoint, **state: Any) -> "Locator":
    """The inspector at a cell, once everything it needs has arrived."""
    target = {"target": TARGET} if model.config.family == "encoder-decoder" else {}
    start = {"model": model.name, "text": TEXT, "layer": LAYER, "head": HEAD}
    page.goto(link(start | target | state))
    page.wait_for_selector('body[data-state="ready"]')
    drawn = '[data-panel="inspector"][aria-busy="false"] [data-explanation]:not([hidden]) [data-step]'
    page.wait_for_selector(drawn, state="attached")
    inspector = page.locator('[data-panel="inspector"] [data-explanation]:not([hidden])')
    fold = inspector.locator("details:not([open]) > summary")
    if fold.count():
        fold.click()
    expect(inspector.locator(".check.bad")).to_have_count(0)  # every number agrees with the model's own
    assert inspector.get_by_test_id("check").count() > 0
    return inspector


def line(inspector: "Locator", step: str) -> str:
    text = inspector.locator(f'[data-step="{step}"] .inspector-line').inner_text().replace("\u2212", "-")
    return re.sub(r"(?<=\d),(?=\d{3})", "", text)


def number(text: str) -> float:
    """The last number in a line, before the check."""
    return float(re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text.split(" the model’s", maxsplit=1)[0])[-1])


def check(inspector: "Locator", step: str) -> tuple[float, float]:
    """The browser's number, and the model's own beside it."""
    said = inspector.locator(f'[data-step="{step}"]').get_by_test_id("check")
    return float(said.get_attribute("data-ours") or "nan"), float(said.get_attribute("data-model") or "nan")


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_is_explained_term_by_term(page: "Page", models: dict[str, checkpoint.Checkpoint], name: str) -> None:
    model = models[name]
    path = model.description.attentions[-1].roles["z"].taps[LAYER].removesuffix(".z")
    taps = run(model, *(f"{path}.{part}" for part in ("q", "k", "v", "scores", "pattern", "z", "attn_out"))).tensors
    q, k, v, scores, pattern, z = (taps[f"{path}.{part}"][HEAD] for part in ("q", "k", "v", "scores", "pattern", "z"))
    inspector = explained(page, model, query=3, key=1)

    dot = (q[3] @ k[1]).item()
    assert number(line(inspector, "dot")) == pytest.approx(dot, abs=6e-3)
    products = q[3] * k[1]
    most = int(products.abs().argmax())
    assert f"dimension {most}, " in inspector.locator('[data-step="dot"] .term-said').inner_text()
    assert check(inspector, "scaled") == pytest.approx((dot / math.sqrt(q.shape[1]), scores[3, 1].item()), abs=1e-4)
    assert line(inspector, "mask").startswith("+ M = 0, allowed")
    allowed = slice(4) if model.description.attentions[-1].causal else slice(None)
    assert number(line(inspector, "exp").split(" over ")[0]) == pytest.approx(
        scores[3, allowed].exp().sum().item(), rel=1e-3
    )
    assert check(inspector, "weight") == pytest.approx((pattern[3, 1].item(),) * 2, abs=1e-6)

    part = pattern[3, 1] * v[1]
    w_o = model.model.state_dict()[f"{path}.w_o.weight"]
    d = q.shape[1]
    moved = (w_o[:, HEAD * d : (HEAD + 1) * d] @ part).norm().item()
    assert number(line(inspector, "moves")) == pytest.approx(moved, rel=2e-3)
    share = (part @ z[3] / z[3].square().sum()).item()
    shown = inspector.locator(".figures dd").nth(1).inner_text().replace("\u2212", "-")
    if "<" in shown:  # "< 0.1 %": too little to write
        assert 0 < 100 * share < 0.1
    else:
        assert float(re.sub(r"[^\d.-]", "", shown)) == pytest.approx(100 * share, abs=0.06)


@pytest.mark.fresh
@pytest.mark.parametrize("size", [(1440, 900), (1280, 720)], ids=["1440", "1280"])
def test_the_arithmetic_is_seen_at_once_and_each_line_is_the_models(
    page: "Page", models: dict[str, checkpoint.Checkpoint], size: tuple[int, int]
) -> None:
    model = models["stories-gpt"]
    path = f"layers.{LAYER}.attn"
    taps = run(model, *(f"{path}.{part}" for part in ("q", "k", "scores", "pattern"))).tensors
    q, k, scores, pattern = (taps[f"{path}.{part}"][HEAD] for part in ("q", "k", "scores", "pattern"))
    page.set_viewport_size({"width": size[0], "height": size[1]})
    start = {"model": model.name, "text": TEXT, "layer": LAYER, "head": HEAD, "query": 3, "key": 1}
    page.goto(link(start | {"view": "attention"}))
    page.wait_for_selector('body[data-state="ready"]')
    card = page.get_by_test_id("arithmetic")
    lines = {
        one.get_attribute("data-line") or "": one.locator("output").inner_text().replace("\u2212", "-")
        for one in card.locator(".card-line").all()
    }
    assert list(lines) == ["q", "k", "dot", "scaled", "mask", "exp", "weight", "part", "moves", "logit"]
    assert number(lines["dot"]) == pytest.approx((q[3] @ k[1]).item(), abs=6e-3)
    assert number(lines["scaled"]) == pytest.approx(scores[3, 1].item(), abs=6e-3)
    above, below = (float(one) for one in lines["exp"].split("÷"))
    assert above / below == pytest.approx(pattern[3, 1].item(), rel=2e-3)
    assert number(lines["weight"]) == pytest.approx(pattern[3, 1].item(), rel=1e-3)
    checks = card.get_by_test_id("check")
    assert [one.get_attribute("data-agrees") for one in checks.all()] == ["true", "true"]
    for fold in (card, card.locator("xpath=following-sibling::details/summary")):
        box = fold.bounding_box()
        assert box
        assert box["y"] + box["height"] <= size[1], "it is seen without scrolling"
    high = card.evaluate("card => card.offsetHeight")
    page.locator(".dock").get_by_role("button", name="KV cache").click()
    close = page.get_by_test_id("close-drawer")
    expect(close).to_be_visible()
    close.click()
    expect(close).to_be_hidden()
    assert card.evaluate("card => card.offsetHeight") == high, "as high as before the drawer opened"
    handle = page.locator(".inspector-more > summary")
    place = handle.evaluate(TOP_LEFT)
    handle.click()
    expect(page.locator('[data-step="dot"]')).to_be_in_viewport(ratio=1)
    expect(card.locator(".card-lines")).to_be_hidden()
    assert handle.evaluate(TOP_LEFT) == place, "it stays under the pointer"
    handle.click()
    expect(card.locator(".card-lines")).to_be_visible()
    assert handle.evaluate(TOP_LEFT) == place


TOP_LEFT = "(one) => [one.getBoundingClientRect().left, one.getBoundingClientRect().top]"


GHOSTS = """lines => lines.filter((line) => line.querySelector('.card-was, path.was:not([d=""])'))
    .map((line) => line.dataset.line)"""


def test_every_line_that_an_edit_changed_keeps_what_it_was(
    page: "Page", models: dict[str, checkpoint.Checkpoint]
) -> None:
    """Without the causal mask the layers below change q and k too; a cell that is hidden leaves them."""
    model, path = models["stories-gpt"], f"layers.{LAYER}.attn"
    ids, taps = model.tokenizer.encode(TEXT), [f"{path}.{part}" for part in ("q", "k", "scores", "pattern")]
    both = [trace(model, ids, taps, use=Masks(causal=causal)).tensors for causal in (True, False)]
    dots = [(one[f"{path}.q"][HEAD][3] @ one[f"{path}.k"][HEAD][1]).item() for one in both]
    page.set_viewport_size({"width": 1280, "height": 720})
    start = {"model": model.name, "text": TEXT, "layer": LAYER, "head": HEAD, "query": 3, "key": 1}
    page.goto(link(start | {"view": "attention", "causal": False, "river__shown": "on"}))
    page.wait_for_selector('body[data-state="ready"]')
    lines = page.locator("[data-explanation=weight] .card-line")
    expect(lines.locator("path.was:not([d=''])")).to_have_count(5)  # q, k, q·k, the row's weights, a·v
    dot = page.locator("[data-line=dot] output").inner_text().replace("\u2212", "-")
    assert [float(one) for one in dot.split()[1:]] == pytest.approx(dots, abs=6e-3)
    scaled = page.locator("[data-line=scaled] output").inner_text().replace("\u2212", "-")
    scores = [one[f"{path}.scores"][HEAD][3, 1].item() for one in both]
    assert [float(one) for one in scaled.split()] == pytest.approx(scores, abs=6e-3)
    # Not + M, which allowed it before, nor the logit, which is that of another answer.
    assert lines.evaluate_all(GHOSTS) == ["q", "k", "dot", "scaled", "exp", "weight", "part"]

    # In the difference, the card says which weights of the row moved most, and all of it is seen at once.
    page.get_by_test_id("compare-difference").click()
    moved = page.get_by_test_id("row-moved")
    expect(moved).to_be_in_viewport(ratio=1)
    gaps = (both[1][f"{path}.pattern"] - both[0][f"{path}.pattern"])[HEAD][3]
    said = re.findall(r"[+-]\d\.\d\d", moved.inner_text().replace("\u2212", "-"))
    assert [float(one) for one in said] == pytest.approx([gaps.max().item(), gaps.min().item()], abs=6e-3)
    expect(page.locator("[data-line=dot] output")).to_have_text(re.compile(" → "))
    # And of all heads the one that moved most, as the list below says: a press shows it.
    gist = page.get_by_test_id("gist")
    expect(gist).to_be_in_viewport(ratio=1)
    most = page.get_by_test_id("moved-head").first
    name = f"{most.get_attribute('data-layer')}·{most.get_attribute('data-head')}"
    share = f"{100 * float(most.get_attribute('data-moved') or 0):.0f}"
    expect(gist).to_have_text(re.compile(rf"^Of all heads, {name} changed most \({share}\s%\)"))
    gist.click()
    expect(most).to_be_in_viewport(ratio=1)


def test_a_quotient_that_is_not_known_is_not_said_to_be_as_before(page: "Page") -> None:
    """The scores of a model with distances are more than q and k, and only those are here of the run before."""
    page.goto(link({"model": "mini-relative", "text": TEXT, "layer": 1, "causal": False, "compare": "on"}))
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.locator("[data-line=exp] output")).to_have_text(re.compile(r"before: unknown.*→ [\d.]+ ÷ [\d.]+", re.S))
    expect(page.locator("[data-line=weight] output")).to_have_text(re.compile("→"))


def test_a_head_is_named_with_its_attention_where_a_model_has_several(page: "Page") -> None:
    where = {"model": "translate-enja", "text": "She sold her car.", "view": "attention", "layer": 1, "head": 3}
    page.goto(link(where | {"attention": "cross", "river__shown": "on"}))
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("head-eye").click()
    says = page.get_by_test_id("river-says")
    expect(says).to_contain_text("Head cross 1·3 is off: it writes nothing.")
    expect(says.get_by_test_id("heads-on")).to_have_text("Switch head cross 1·3 on")


def test_a_forbidden_cell_says_why_it_is_zero(page: "Page", models: dict[str, checkpoint.Checkpoint]) -> None:
    inspector = explained(page, models["stories-gpt"], query=1, key=4, attention__step="masked")
    assert line(inspector, "mask") == "+ M = -∞, forbidden: the key comes after the query (causal mask)"
    assert check(inspector, "weight") == (0, 0)
    assert inspector.locator('[data-step="mask"]').evaluate("step => step.classList.contains('lit')")


def test_the_terms_can_be_read_one_by_one(page: "Page", models: dict[str, checkpoint.Checkpoint]) -> None:
    model = models["stories-gpt"]
    q, k = (run(model, f"layers.{LAYER}.attn.{part}").tensors[f"layers.{LAYER}.attn.{part}"][HEAD] for part in "qk")
    inspector = explained(page, model, query=3, key=1)
    bars, said = (inspector.locator(f'[data-step="dot"] {part}') for part in ("svg", ".term-said"))
    bars.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    words = said.inner_text().replace("\u2212", "-")
    figures = re.fullmatch(r"(?:largest: )?dimension 1, q ([+-][\d.]+) × k ([+-][\d.]+) = ([+-][\d.]+)", words)
    assert figures, words
    expected = [q[3, 1], k[1, 1], q[3, 1] * k[1, 1]]
    assert [float(one) for one in figures.groups()] == pytest.approx([x.item() for x in expected], abs=6e-4)
    slider = inspector.get_by_role("slider", name=re.compile("products of q and k"))
    values = [slider.get_attribute(f"aria-value{part}") for part in ("min", "now", "max")]
    assert values == ["0", "1", str(q.shape[1] - 1)]
    assert slider.get_attribute("aria-valuetext") == said.inner_text()


@pytest.mark.parametrize("name", NAMES[:2])
def test_an_element_of_z(page: "Page", models: dict[str, checkpoint.Checkpoint], name: str) -> None:
    model = models[name]
    tap = model.description.attentions[-1].tap("z", LAYER)
    z = run(model, tap).tensors[tap][HEAD]
    inspector = explained(page, model, view="av", query=3, cell="3.5")
    assert check(inspector, "sum") == pytest.approx((z[3, 5].item(),) * 2, abs=1e-5)


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_unit_and_what_drives_it(page: "Page", models: dict[str, checkpoint.Checkpoint], name: str) -> None:
    model = models[name]
    prefix = model.description.readout.prefix
    ffn = f"{prefix}layers.{LAYER}.ffn"
    taps = run(model, f"{ffn}.pre", f"{ffn}.post").tensors
    for unit in (7, int(taps[f"{ffn}.post"][3].argmax())):
        inspector = explained(page, model, view="ffn", query=3, unit_id=unit)
        assert check(inspector, "bias") == pytest.approx((taps[f"{ffn}.pre"][3, unit].item(),) * 2, abs=1e-5)
        assert check(inspector, "activation") == pytest.approx((taps[f"{ffn}.post"][3, unit].item(),) * 2, abs=1e-5)
    column = model.model.state_dict()[f"{ffn}.w_2.weight"][:, unit]
    assert number(line(inspector, "writes")) == pytest.approx(
        (taps[f"{ffn}.post"][3, unit] * column.norm()).item(), rel=2e-3
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_layer_norm(page: "Page", models: dict[str, checkpoint.Checkpoint], name: str) -> None:
    model = models[name]
    prefix = model.description.readout.prefix
    norm = f"{prefix}layers.{LAYER}.ffn_residual.norm"
    taps = run(model, f"{norm}.input", f"{norm}.out").tensors
    inspector = explained(page, model, view="residual", residual__tab="norms", query=3)
    page.get_by_test_id("norm-choice").select_option("ffn")
    x, out = taps[f"{norm}.input"][3].double(), taps[f"{norm}.out"][3]
    d = int(x.abs().argmax())
    said = [float(one) for one in re.findall(r"-?\d+\.\d+(?:e-\d+)?", line(inspector, "mean"))]
    assert said == pytest.approx([x.mean().item(), x.var(correction=0).item()], rel=2e-3, abs=1e-4)
    assert check(inspector, "out") == pytest.approx((out[d].item(),) * 2, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_logit_is_the_sum_of_what_was_written(
    page: "Page", models: dict[str, checkpoint.Checkpoint], name: str
) -> None:
    model = models[name]
    logits: Tensor = run(model, "logits").tensors["logits"]
    if model.config.family == "encoder-only":
        row, logit, tab = None, logits, "layers"
    else:
        row = 3 if model.config.family == "decoder-only" else len(logits) - 2  # a typed END predicts nothing
        logit, tab = logits[row], "token"
    ids = model.tokenizer.encode(TEXT)
    inspector = explained(
        page, model, view="prediction", prediction__tab=tab, prediction__all="on", query=3 if row is None else row
    )
    answer = int(inspector.get_by_test_id("answer-choice").input_value())
    ours, own = check(inspector, "sum")
    assert own == pytest.approx(logit[answer].item(), abs=1e-4)
    target = model.tokenizer.encode(TARGET) if model.config.family == "encoder-decoder" else None
    terms = contributions(model, ids, answer, row=row, target=target).terms
    values = sorted((term.value for term in terms), key=abs, reverse=True)
    shown = [
        float(one)
        for one in inspector.get_by_test_id("contribution").evaluate_all("all => all.map(e => e.dataset.value)")
    ]
    assert shown[:-1] == pytest.approx(values[:12], abs=1e-4)
    assert shown[-1] == pytest.approx(sum(values[12:]), abs=1e-4)
    assert ours == pytest.approx(sum(values), abs=1e-4)
    assert torch.isfinite(logit).all()
