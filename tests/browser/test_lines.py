"""Weights as lines, and weights summed to characters and words: every number is the Python trace's."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.trace import trace
from tests.browser.helpers import link, loaded, matrix_shown, open_more, serious

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT = "May the force be with you."
BYTES = "猫が食べる。"
SOURCE, TARGET = "I ate a banana in the morning.", "私は朝にバナナを食べた。"
LAYER, HEAD = 3, 1
Weights = dict[tuple[int, int, int], float]

pytestmark = pytest.mark.warm


@pytest.fixture(scope="module")
def model() -> checkpoint.Checkpoint:
    return checkpoint.load(checkpoint.ZOO / "stories-gpt", "cpu")


def layer_of(model: checkpoint.Checkpoint, text: str = TEXT, tap: str = "pattern") -> Tensor:
    name = f"layers.{LAYER}.attn.{tap}"
    return trace(model, model.tokenizer.encode(text), [name]).tensors[name]


def open_lines(page: "Page", text: str = TEXT, **state: Any) -> None:
    base = {"model": "stories-gpt", "text": text, "layer": LAYER, "head": HEAD, "attention__as": "lines"}
    page.goto(link(base | state))
    drawn(page)


def drawn(page: "Page") -> None:
    page.wait_for_selector('body[data-state="ready"]')
    page.wait_for_selector(".lines-box svg")


def lines(page: "Page", group: str = "all") -> Weights:
    """Each line that is drawn: its head, query and key, and the weight that its opacity shows."""
    found = page.locator(f".lines-box .{group} path").evaluate_all("""paths => paths.map((path) => [
      ...['series', 'query', 'key', 'weight'].map((name) => Number(path.dataset[name])),
      Number(path.getAttribute('stroke-opacity')),
    ])""")
    for series, query, key, weight, opacity in found:
        assert opacity == pytest.approx(min(1, weight), abs=1e-4), (series, query, key)
    return {(int(series), int(query), int(key)): weight for series, query, key, weight, _ in found}


def expected(heads: Sequence[Tensor], forbidden: Tensor | None = None) -> Weights:
    """The allowed weights of 1 % or more."""
    return {
        (series, query, key): weight
        for series, pattern in enumerate(heads)
        for query, row in enumerate(pattern.tolist())
        for key, weight in enumerate(row)
        if weight >= 0.01 and (forbidden is None or not forbidden[query, key])
    }


def same(shown: Weights, weights: Weights) -> None:
    near = {at for at, weight in weights.items() if abs(weight - 0.01) < 1e-5}  # rounding may go either way
    assert shown.keys() - near == weights.keys() - near
    for at, weight in shown.items():
        assert weight == pytest.approx(weights[at], rel=1e-5, abs=1e-6), at


def readout(page: "Page") -> str:
    return page.get_by_test_id("lines-readout").inner_text()


def token(page: "Page", role: str, index: int) -> Any:
    return page.locator(f'[data-testid=line-token][data-role="{role}"][data-index="{index}"]')


# --- lines ------------------------------------------------------------------------------------------------------------


def test_lines_are_the_weights_of_the_head(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_lines(page)
    pattern, mask = layer_of(model)[HEAD], layer_of(model, tap="mask")[0]
    weights = expected([pattern], mask)

    same(lines(page), weights)
    allowed = int((mask == 0).sum())
    note = page.get_by_test_id("lines-note")
    left = allowed - len(weights)
    assert left, "the head has weights that are too small to be drawn"
    assert note.inner_text() == f"Weights below 1\u202f% are not drawn: {left} of {allowed} lines."
    last = len(pattern) - 1
    same(lines(page, "lit"), {at: weight for at, weight in weights.items() if at[1] == last})
    assert f"Head {LAYER}·{HEAD}" in page.locator("[data-testid=opened-title]:visible").first.inner_text()


def test_a_token_is_lit_read_out_and_chosen(page: "Page", model: checkpoint.Checkpoint) -> None:
    pattern = layer_of(model)[HEAD]
    open_lines(page, query=2, key=1)
    row = pattern[5, :6]
    token(page, "q", 5).hover()
    page.wait_for_function("() => document.querySelector('[data-testid=lines-readout]').dataset.index === '5'")
    for weight in row.sort(descending=True).values[:5]:
        assert f"{weight.item():#.4g}" in readout(page)
    assert {query for _, query, _ in lines(page, "lit")} == {5}

    token(page, "k", 1).hover()
    page.wait_for_function("() => document.querySelector('[data-testid=lines-readout]').dataset.role === 'k'")
    assert f"{pattern[1:, 1].max().item():#.4g}" in readout(page)
    assert {key for _, _, key in lines(page, "lit")} == {1}

    token(page, "q", 4).click()
    page.wait_for_url(re.compile("query=4"))
    token(page, "k", 3).click()
    page.wait_for_url(re.compile("query=4&key=3"))
    assert f"{pattern[4, 3].item():#.4g}" in readout(page)

    token(page, "q", 4).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("query=5"))
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.role") == "k"
    page.get_by_test_id("lines-matrix").click()
    page.wait_for_selector('[data-matrix="weights"][aria-busy="false"]')
    assert page.locator('[data-matrix="weights"] ~ [data-testid=readout]').first.get_attribute("data-query") == "5"


def test_several_heads_have_their_colours_and_the_mean_is_the_mean(page: "Page", model: checkpoint.Checkpoint) -> None:
    layer, mask = layer_of(model), layer_of(model, tap="mask")[0]
    open_lines(page, attention__heads="0.3.5")
    same(lines(page), expected([layer[0], layer[3], layer[5]], mask))
    strokes = page.evaluate("""() => {
      const look = (path) => [getComputedStyle(path).stroke, path.getAttribute('stroke-dasharray')].join();
      const series = (i) => [...document.querySelectorAll(`.lines-box path[data-series="${i}"]`)].map(look);
      const legend = [...document.querySelectorAll('[data-testid=lines-legend] .sample path')].map(look);
      return [[0, 1, 2].map((i) => [...new Set(series(i))]), legend];
    }""")
    assert strokes[0] == [[look] for look in strokes[1]]
    assert len(set(strokes[1])) == 3

    page.locator('[data-testid=line-head][data-head="3"]').click()
    page.wait_for_url(re.compile("heads=0.5"))
    page.wait_for_function("() => !document.querySelector('.lines-box [data-series=\"2\"]')")
    same(lines(page), expected([layer[0], layer[5]], mask))

    page.get_by_test_id("lines-mean").click()
    page.wait_for_url(re.compile("heads=mean"))
    page.wait_for_function("() => !document.querySelector('.lines-box [data-series=\"1\"]')")
    same(lines(page), expected([layer.mean(0)], mask))


def test_cross_attention_has_the_source_above(page: "Page") -> None:
    model = loaded("encoder-decoder")
    name = "decoder.layers.1.cross_attn.pattern"
    ids, target = model.tokenizer.encode(SOURCE), model.tokenizer.encode(TARGET)
    pattern = trace(model, ids, [name], target=target).tensors[name][2]
    open_lines(page, SOURCE, model=model.name, target=TARGET, attention="cross", layer=1, head=2)
    page.wait_for_function(
        "n => document.querySelectorAll('[data-testid=line-token][data-role=k]').length === n", arg=len(ids)
    )

    same(lines(page), expected([pattern]))
    source, written = token(page, "k", 0).bounding_box(), token(page, "q", 0).bounding_box()
    assert source["y"] < written["y"]
    assert page.locator('[data-testid=line-token][data-role="q"]').count() == pattern.shape[0]


def test_a_long_sentence_scrolls_in_its_own_box(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 360, "height": 760}, color_scheme="dark")
    open_lines(page, (TEXT + " ") * 6, attention__heads="1.2")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    box = page.locator(".lines-box")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    last = page.locator(".node.q").bounding_box()
    assert last
    assert 0 <= last["x"] <= 360, "the chosen query is in view"
    assert serious(page, ".columns") == []


def test_lines_can_be_taken_away(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_lines(page)
    pattern = layer_of(model)[HEAD]
    open_more(page)
    page.get_by_test_id("export").click()
    texts = {}
    for name in ("svg", "csv", "html"):
        with page.expect_download() as download:
            page.get_by_test_id(f"export-{name}").first.click()
        texts[name] = Path(download.value.path()).read_text("utf-8-sig")
    rows = list(csv.reader(io.StringIO(texts["csv"])))
    numbers = np.array([row[1:] for row in rows[1:]], dtype=np.float32)
    assert numbers == pytest.approx(pattern.numpy(), rel=1e-5, abs=1e-7)
    assert "var(--" not in texts["svg"]
    assert texts["svg"].count("<path") >= len(expected([pattern]))
    assert ">the<" in texts["svg"]
    assert '"kind":"lines"' in texts["html"].replace(" ", "")


# --- characters and words ---------------------------------------------------------------------------------------------


def summed(pattern: Tensor, rows: list[list[int]], cols: list[list[int]]) -> Tensor:
    keys = torch.stack([pattern[:, group].sum(1) for group in cols], 1)
    return torch.stack([keys[group].mean(0) for group in rows])


def test_words_are_sums_of_keys_and_means_of_queries(page: "Page", model: checkpoint.Checkpoint) -> None:
    tokens = [token.text for token in model.tokenizer.tokens(model.tokenizer.encode(TEXT))]
    words: list[list[int]] = []
    for i, text in enumerate(tokens):
        if i == 0 or text.startswith(" ") or text == ".":
            words.append([])
        words[-1].append(i)
    assert len(words) < len(tokens)
    whole = summed(layer_of(model)[HEAD], words, words)
    open_lines(page, attention__unit="words")
    same(lines(page), expected([whole]))

    page.get_by_test_id("lines-matrix").click()
    frame = page.locator('[data-matrix="weights-words"][aria-busy="false"]')
    frame.wait_for()
    shown = matrix_shown(frame)
    for row, cells in enumerate(shown["z"]):
        for col, cell in enumerate(cells):
            if col > row:
                assert cell is None, "all parts are forbidden"
            else:
                assert cell == pytest.approx(whole[row, col].item(), abs=1e-6)
    assert shown["sums"] == ["1.000"] * len(words)
    titles = frame.locator(".title").all_text_contents()
    assert {"key: words (sum over their tokens) →", "← query: words (mean over their tokens)"} <= set(titles)


def test_bytes_of_a_character_are_one_group(page: "Page", model: checkpoint.Checkpoint) -> None:
    tokens = model.tokenizer.tokens(model.tokenizer.encode(BYTES))
    open_lines(page, BYTES, attention__unit="tokens")
    frames = page.get_by_test_id("line-group")
    parts = {token.start for token in tokens if token.partial}
    assert parts, "this text has characters of several tokens"
    assert frames.count() == 2 * len(parts)
    assert frames.locator("text").all_text_contents() == [BYTES[start] for start in sorted(parts)] * 2

    page.get_by_test_id("groups-characters").click()
    page.wait_for_url(re.compile("unit=characters"))
    page.wait_for_function(
        "n => document.querySelectorAll('[data-testid=line-token][data-role=q]').length === n", arg=len(BYTES)
    )
    groups = [[token.index for token in tokens if token.start == start] for start in range(len(BYTES))]
    same(lines(page), expected([summed(layer_of(model, BYTES)[HEAD], groups, groups)]))
