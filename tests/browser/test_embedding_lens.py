"""The stations "embedding + position" and "predictions by layer": they show what model/explain computes."""

import re
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor

from chumoku.model.explain.embeddings import neighbours, position_table
from chumoku.model.explain.lens import Lens
from chumoku.model.explain.swaps import swap_tokens
from chumoku.model.trace import trace
from tests.browser.helpers import drawn, link, loaded, matrix_shown, serious
from tests.shortcuts import logit_lens

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.warm

STORY = "The quick brown fox jumps"
ENGLISH = "The weather is nice today."
REVIEW = "A touching and funny film, but far too long."


def open_station(page: "Page", view: str, **state: Any) -> None:
    page.goto(link({"view": view} | state))
    page.wait_for_selector(f'body[data-state="ready"] [data-station="{view}"]')


def values(page: "Page", name: str) -> Tensor:
    """The contents of a matrix's picture."""
    frame = page.locator(f'[data-matrix="{name}"][aria-busy="false"]')
    return torch.tensor(matrix_shown(frame)["z"])


def open_tab(page: "Page", name: str) -> "Locator":
    page.get_by_test_id(f"embedding-{name}").click()
    part = page.locator(f'[data-part="{name}"]')
    part.wait_for()
    return part


def number(element: "Locator", name: str) -> float:
    return float(element.get_attribute(f"data-{name}") or "nan")


def numbers(page: "Page", testid: str, name: str) -> list[float]:
    found = page.get_by_test_id(testid).evaluate_all("(all, name) => all.map((one) => Number(one.dataset[name]))", name)
    return [float(one) for one in found]


def nearest_is(page: "Page", token: int) -> None:
    page.wait_for_selector(f'li:first-child > [data-testid="neighbour"][data-id="{token}"]')


def same(shown: Tensor, expected: Tensor, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(shown, expected.to(shown.dtype), rtol=tolerance, atol=tolerance)


# --- embedding + position -------------------------------------------------------------------------------------------


def test_a_decoders_embedding(page: "Page") -> None:
    model = loaded("decoder-only")
    ids = model.tokenizer.encode(STORY)
    run = trace(model, ids, ["embedding", "positional", "layers.0.resid_pre"]).tensors

    open_station(page, "embedding", text=STORY, query=2, cell="2.17")
    drawn(page)
    for name, tap in [("embedding", "embedding"), ("positional", "positional"), ("embedding-x", "layers.0.resid_pre")]:
        same(values(page, name), run[tap])
    check = page.get_by_test_id("sum-of-cell").get_by_test_id("check")
    assert number(check, "ours") == number(check, "model") == pytest.approx(run["layers.0.resid_pre"][2, 17].item())
    assert check.get_attribute("data-agrees") == "true"
    assert number(page.get_by_test_id("embedding-all"), "gap") == 0, "every cell is its sum, bit for bit"
    page.locator('[data-matrix="embedding-x"]').press("ArrowRight")
    page.wait_for_url(re.compile(r"cell=2\.18"))

    open_tab(page, "positions")
    drawn(page)
    learned = position_table(model)
    same(values(page, "position-table"), learned.table)
    same(values(page, "position-similarity"), learned.similarity)
    assert "ends there" in page.get_by_test_id("position-beyond").inner_text()
    assert page.get_by_test_id("length-beyond").is_hidden(), "a learned table ends here"

    open_tab(page, "neighbours")
    page.get_by_test_id("neighbour").first.wait_for()
    near = neighbours(model, ids[2], k=12)
    assert numbers(page, "neighbour", "id") == near.ids.tolist()
    assert numbers(page, "neighbour", "cosine") == pytest.approx(near.cosine.tolist())
    assert number(page.get_by_test_id("mean-cosine"), "value") == pytest.approx(near.mean_cosine)
    page.get_by_test_id("neighbour").first.click()
    first = int(near.ids[0])
    nearest_is(page, int(neighbours(model, first).ids[0]))
    page.get_by_test_id("neighbours-back").click()
    nearest_is(page, first)
    assert serious(page, ".opened") == []


def test_a_swap_in_a_decoder(page: "Page") -> None:
    model = loaded("decoder-only")
    ids = model.tokenizer.encode(STORY)
    open_station(page, "embedding", text=STORY, embedding__tab="swap")
    drawn(page)

    page.locator('[data-testid="swap-pick"][data-index="3"]').click()  # 0 and 1 are picked at first; 0 is dropped
    page.wait_for_url(re.compile(r"swap=1\.3"))
    drawn(page)
    on, off = swap_tokens(model, ids, 1, 3)
    verdict = "() => Number(document.querySelector('[data-testid=swap-on]').dataset.largest)"
    page.wait_for_function(f"() => Math.abs(({verdict})() - {on.largest}) < 1e-4")
    for name, run in [("on", on), ("off", off)]:
        same(values(page, f"swap-{name}"), run.stacks[0].change, 1e-4)
    assert not off.order_only, "a causal mask alone conveys order"
    assert "causal mask" in page.get_by_test_id("swap-off").inner_text()
    assert "One token did not change" in page.get_by_test_id("swap-off").inner_text()

    open_station(page, "embedding", text="Hi", embedding__tab="swap")
    page.get_by_text("Swapping needs two different tokens").wait_for()
    open_tab(page, "sum")  # and there is a link back


def test_a_swap_in_an_encoder_only_changes_the_order(page: "Page") -> None:
    model = loaded("encoder-only")
    ids = model.tokenizer.encode(REVIEW)
    open_station(
        page, "embedding", model="sentiment-encoder", text=REVIEW, embedding__tab="swap", embedding__swap="2.4"
    )
    drawn(page)

    on, off = swap_tokens(model, ids, 2, 4)
    same(values(page, "swap-on"), on.stacks[0].change, 1e-4)
    assert off.order_only
    assert number(page.get_by_test_id("swap-off"), "largest") < 1e-4
    assert "Only the order changed" in page.get_by_test_id("swap-off").inner_text()
    assert page.locator('[data-testid="swap-pick"][data-index="0"]').count() == 0, "[CLS] does not move"


def test_a_translators_sinusoid(page: "Page") -> None:
    model = loaded("encoder-decoder")
    taps = ["encoder.embedding", "encoder.positional", "encoder.layers.0.resid_pre"]
    run = trace(model, model.tokenizer.encode(ENGLISH), taps, target=[]).tensors
    open_station(page, "embedding", model="translate-enja", text=ENGLISH)
    drawn(page)
    page.get_by_test_id("embedding-source").click()
    page.wait_for_url(re.compile("attention=encoder"))
    drawn(page)

    for name, tap in zip(["embedding", "positional", "embedding-x"], taps, strict=True):
        same(values(page, name), run[tap])
    assert re.search(r"17\.8885 × .+ \+ .+ = .+ \+ .+ = ", page.get_by_test_id("sum-of-cell").inner_text())
    heads = page.locator("[data-station=embedding] .third-head h2 math").all_text_contents()
    assert ["".join(one.split()) for one in heads] == ["320·E[id]", "P", "X"], "the tap has the factor: √320"

    open_tab(page, "positions")
    drawn(page)
    page.get_by_test_id("length-beyond").click()
    page.wait_for_function("() => document.querySelector('[data-testid=length-beyond]').ariaPressed === 'true'")
    drawn(page)
    table = position_table(model, 256)
    same(values(page, "position-table"), table.table)
    same(values(page, "position-similarity"), table.similarity)
    assert number(page.get_by_test_id("table-gap"), "gap") < 1e-5, "the formula gives the same table"
    assert "the model has never been asked" in page.get_by_test_id("position-beyond").inner_text()


# --- predictions by layer -------------------------------------------------------------------------------------------


def grid_of(page: "Page", lens: Lens) -> None:
    """Every cell has the lens's number."""
    shape = lens.top.shape[:2]
    assert torch.tensor(numbers(page, "lens-cell", "id")).reshape(shape).tolist() == lens.top[..., 0].tolist()
    same(torch.tensor(numbers(page, "lens-cell", "p")).reshape(shape), lens.probability[..., 0])


def rows_of(page: "Page", lens: Lens, at: int) -> None:
    """One position through the layers: the final answer's probability and rank, and the five most likely answers."""
    assert numbers(page, "lens-row", "p") == pytest.approx(lens.final.probability[:, at].tolist(), abs=1e-6)
    assert numbers(page, "lens-row", "rank") == [rank + 1 for rank in lens.final.rank[:, at].tolist()]
    chips = page.locator(".lens-chip").evaluate_all("(all) => all.map((one) => Number(one.dataset.id))")
    assert chips == lens.top[:, at].flatten().tolist()


def test_a_decoder_by_layer(page: "Page") -> None:
    model = loaded("decoder-only")
    text = STORY + " over the lazy dog and then the little girl laughed and laughed until the sun went down."
    lens = logit_lens(model, model.tokenizer.encode(text))
    last = len(lens.rows) - 1
    open_station(page, "prediction", prediction__tab="layers", text=text)
    page.get_by_test_id("lens-row").first.wait_for()

    grid_of(page, lens)
    rows_of(page, lens, last)
    assert number(page.get_by_test_id("lens-gap"), "gap") <= 1e-6, "the last row is the model's own output"
    assert "a logit lens, not the model’s output" in page.locator('[data-station="prediction"]').inner_text()
    box = page.get_by_test_id("lens-grid")
    assert box.evaluate("(box) => box.scrollWidth > box.clientWidth && box.scrollLeft > 0"), "its column is in sight"
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")

    box.press("Home")
    page.wait_for_selector('.lens-table thead .on[data-at="0"]')
    rows_of(page, lens, 0)
    page.wait_for_url("**query=0**")
    assert box.evaluate("(box) => box.scrollLeft") == 0
    box.press("ArrowUp")
    page.wait_for_url(f"**prediction.depth={lens.top.shape[0] - 2}**")
    here = f'tr[data-depth="{lens.top.shape[0] - 2}"] > .here[data-at="0"]'
    page.reload()
    page.wait_for_selector(f".lens-table {here}")
    box.press("ArrowDown")
    page.wait_for_url(lambda url: "prediction.depth" not in url)  # the last depth needs no words
    page.locator(".lens-chip").nth(1).click()
    page.wait_for_url(re.compile(f"answer={int(lens.top[0, 0, 1])}(&|$)"))
    page.locator('.panel[aria-busy="true"]').first.wait_for(state="detached")  # until then its colours are pale
    assert serious(page, ".opened") == []


def test_a_translator_by_layer(page: "Page") -> None:
    model = loaded("encoder-decoder")
    open_station(
        page,
        "prediction",
        prediction__tab="layers",
        model="translate-enja",
        text=ENGLISH,
        target="今日はいい天気だ。",
        attention="encoder",
    )
    page.get_by_test_id("lens-row").first.wait_for()
    target = page.get_by_test_id("target-token").evaluate_all("(all) => all.map((one) => Number(one.dataset.id))")

    lens = logit_lens(model, model.tokenizer.encode(ENGLISH), target=target[1:])
    grid_of(page, lens)
    page.locator('[data-testid="lens-cell"][data-at="1"]').first.click()  # the encoder has no row at that place
    page.wait_for_selector('.lens-table thead .on[data-at="1"]')
    assert "query=1" in page.url
    assert "attention=" not in page.url
    rows_of(page, lens, 1)


def test_a_classifier_by_layer(page: "Page") -> None:
    model = loaded("encoder-only")
    lens = logit_lens(model, model.tokenizer.encode(REVIEW))
    open_station(page, "prediction", prediction__tab="layers", model="sentiment-encoder", text=REVIEW)
    page.get_by_test_id("lens-class").first.wait_for()

    expected = torch.zeros(lens.top.shape[0], 2, dtype=torch.float64)
    expected.scatter_(1, lens.top[:, 0], lens.probability[:, 0])
    assert numbers(page, "lens-class", "p") == pytest.approx(expected.flatten().tolist(), abs=1e-6)
    assert number(page.get_by_test_id("lens-gap"), "gap") <= 1e-6
