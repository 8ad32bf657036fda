"""The open head: every number in its matrices is the Python trace's, and can be read, chosen and compared."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.trace import Masks, trace
from tests.browser.helpers import all_heads, drawn, link, matrix_shown, names_shown, to_station

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TEXT = "May the force be with you."
STORY = "Once upon a time there was a little girl named Lily. She loved to play in the park with her red ball. "
LAYER, HEAD = 3, 5
CAUSAL = "forbidden: the key comes after the query (causal mask)"
READ_OUT = "row => document.querySelector('[data-matrix=weights] ~ [data-testid=readout]').dataset.query === `${row}`"

pytestmark = pytest.mark.warm


@pytest.fixture(scope="module")
def model() -> checkpoint.Checkpoint:
    return checkpoint.load(checkpoint.ZOO / "stories-gpt", "cpu")


def head_of(model: checkpoint.Checkpoint, text: str, tap: str, *, causal: bool = True) -> Tensor:
    """One tensor, from Python, of the head that these tests open."""
    name = f"layers.{LAYER}.attn.{tap}"
    return trace(model, model.tokenizer.encode(text), [name], use=Masks(causal=causal)).tensors[name][HEAD]


def labels_of(model: checkpoint.Checkpoint, text: str) -> list[str]:
    """The labels of the tokens of a text without line breaks."""
    return [token.text.replace(" ", "·") for token in model.tokenizer.tokens(model.tokenizer.encode(text))]


def names_of(model: checkpoint.Checkpoint, text: str) -> list[str]:
    """What its tokens are called in a sentence: as read, punctuation in quotes."""
    words = [token.text.strip() for token in model.tokenizer.tokens(model.tokenizer.encode(text))]
    return [word if re.search(r"\w", word) else f"“{word}”" for word in words]


def written(weight: Tensor) -> str:
    """A weight as the page writes it: four significant digits."""
    return f"{weight.item():#.4g}"


def open_head(page: "Page", text: str = TEXT, **state: Any) -> None:
    page.goto(link({"text": text, "layer": LAYER, "head": HEAD} | state))
    drawn(page)


def matrix(page: "Page", name: str) -> "Locator":
    return page.locator(f'[data-testid="matrix"][data-matrix="{name}"]')


def readout(page: "Page", name: str = "weights") -> "Locator":
    return matrix(page, name).locator("xpath=..").get_by_test_id("readout")


def hovered(page: "Page") -> "Locator":
    return matrix(page, "weights").locator(".hovertext")


def legend(page: "Page") -> "Locator":
    return page.locator("[data-testid=legend]:visible").first


def picture(page: "Page", name: str) -> dict[str, Any]:
    """What a matrix holds and draws."""
    return matrix_shown(matrix(page, name))


def labels(page: "Page", name: str, axis: str) -> list[str]:
    """The visible labels of the rows or columns."""
    return matrix(page, name).locator(f".{axis}-label").all_text_contents()


def box(page: "Page", name: str, mark: str) -> list[float]:
    """A mark on the cells: its first row and column and how many it covers; the numbers need not be whole."""
    found = matrix(page, name).evaluate(
        """(frame, mark) => {
          const cells = frame.querySelector('.sheet').getBoundingClientRect();
          const one = frame.querySelector(`rect.${mark.replace(' ', '.')}`).getBoundingClientRect();
          return [one.y - cells.y, one.x - cells.x, one.height, one.width];
        }""",
        mark,
    )
    cell = picture(page, name)["cell"]
    return [found[0] / cell["h"], found[1] / cell["w"], found[2] / cell["h"], found[3] / cell["w"]]


def colours(page: "Page", name: str, shape: Sequence[int], across: float = 0.5, down: float = 0.5) -> Any:
    """The canvas's colour at one point of each cell, [row col rgba]; 0.5 is the middle."""
    return matrix(page, name).evaluate(
        """(frame, [rows, cols, across, down]) => {
          const sheet = frame.querySelector('.sheet');
          const pen = sheet.getContext('2d');
          const [w, h] = [sheet.width / cols, sheet.height / rows];
          const at = (row, col) => pen.getImageData(Math.floor((col + across) * w), Math.floor((row + down) * h), 1, 1);
          const one = (row, col) => [...at(row, col).data];
          return Array.from({ length: rows }, (_, row) => Array.from({ length: cols }, (_, col) => one(row, col)));
        }""",
        [*shape, across, down],
    )


def mixed(stops: list[str], place: float) -> list[int]:
    """A ramp's colour, linear between its stops."""
    colour = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops])
    at = np.linspace(0, 1, len(stops))
    return [round(float(np.interp(place, at, channel))) for channel in colour.T]


def point(page: "Page", name: str, shape: Sequence[int], row: int, col: int) -> tuple[float, float]:
    """The middle of a cell on the screen."""
    area = matrix(page, name).locator(".sheet")
    area.scroll_into_view_if_needed()
    place = area.bounding_box()
    assert place
    return place["x"] + place["width"] * (col + 0.5) / shape[1], place["y"] + place["height"] * (row + 0.5) / shape[0]


def same(shown: list[list[float | None]], expected: Tensor, forbidden: Tensor | None = None) -> None:
    """Null exactly in forbidden cells, the trace's number in all others."""
    assert [len(row) for row in shown] == [expected.shape[1]] * expected.shape[0]
    for row, cells in enumerate(shown):
        for col, cell in enumerate(cells):
            if forbidden is not None and forbidden[row, col]:
                assert cell is None, f"row {row}, column {col} is forbidden"
            else:
                assert cell == pytest.approx(expected[row, col].item(), rel=1e-5, abs=1e-5), f"row {row}, column {col}"


# --- every number is the model's ------------------------------------------------------------------------------------


def test_weights_are_the_traces(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_head(page)
    pattern, mask = head_of(model, TEXT, "pattern"), head_of(model, TEXT, "mask")

    shown = picture(page, "weights")
    same(shown["z"], pattern, mask)
    assert shown["range"] == [0, 1]
    allowed = [weight for row, reasons in zip(pattern, mask, strict=True) for weight in row[reasons == 0].tolist()]
    numbers = ["1.00" if text == "1.0" else text for text in shown["numbers"]]  # in a narrow cell
    assert numbers == [re.sub(r"^0\.", ".", f"{weight:.2f}") for weight in allowed]
    assert shown["sums"] == [f"{total:.3f}" for total in pattern.sum(-1).tolist()] == ["1.000"] * len(pattern)
    assert page.locator("[data-testid=opened-title]:visible").first.inner_text() == f"Head {LAYER}·{HEAD}"


def test_a_cell_has_the_colour_of_its_weight_and_its_number_in_it(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_head(page)
    pattern, mask = head_of(model, TEXT, "pattern"), head_of(model, TEXT, "mask")

    stops = picture(page, "weights")["colours"]
    quarter, middle = (colours(page, "weights", pattern.shape, across, 0.25) for across in (0.25, 0.5))
    for row, col in (mask == 0).nonzero().tolist():
        assert quarter[row][col][:3] == pytest.approx(mixed(stops, pattern[row, col].item()), abs=1), (row, col)
        assert middle[row][col] == quarter[row][col], "a cell has one colour"
    inked = {
        (row, col): {tuple(colours(page, "weights", pattern.shape, x / 40, 0.5)[row][col]) for x in range(10, 31)}
        for row, col in [(0, 0), (4, 2)]
    }
    assert all(len(found) > 2 for found in inked.values()), "it has a number"
    assert all(tone[3] == 255 for row in quarter for tone in row[:1])


@pytest.mark.cold  # everything that the page loads
def test_opening_heads_loads_no_library(page: "Page") -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_head(page)
    all_heads(page)
    page.locator('[data-testid="head"][data-layer="1"][data-head="2"]').click()
    page.wait_for_url(re.compile("layer=1"))
    to_station(page, "qkv")
    page.wait_for_selector('[data-station="qkv"] [data-testid="matrix"][aria-busy="false"]')
    to_station(page, "attention")
    page.get_by_test_id("step-qk").click()
    page.wait_for_selector('[data-matrix="qk"][aria-busy="false"]')
    page.wait_for_load_state("networkidle")
    assert [url for url in asked if "plotly.min.js" in url] == []

    to_station(page, "prediction")
    page.get_by_test_id("all-tokens").click()
    page.wait_for_selector('[data-station="prediction"] .main-svg')
    assert len([url for url in asked if "plotly.min.js" in url]) == 1, "only bars need it"


def test_a_cell_says_its_number(page: "Page", model: checkpoint.Checkpoint) -> None:
    pattern = head_of(model, TEXT, "pattern")
    names = names_of(model, TEXT)
    open_head(page, query=2, key=1)

    assert readout(page).inner_text() == f"query {names[2]}, key {names[1]}: weight {written(pattern[2, 1])}"
    assert float(readout(page).get_attribute("data-value") or "nan") == pytest.approx(pattern[2, 1].item(), abs=1e-9)

    page.mouse.move(*point(page, "weights", pattern.shape, 5, 3))
    page.wait_for_function(READ_OUT, arg=5)
    assert readout(page).inner_text() == f"query {names[5]}, key {names[3]}: weight {written(pattern[5, 3])}"
    assert f"weight {written(pattern[5, 3])}" in "".join(hovered(page).all_text_contents())
    assert page.locator(".marker:visible").all_inner_texts() == [names[5], names[3]]

    page.mouse.move(5, 5)
    page.wait_for_function(READ_OUT, arg=2)
    assert page.locator(".marker:visible").count() == 0


def test_forbidden_cells_are_empty_hatched_and_say_why(page: "Page", model: checkpoint.Checkpoint) -> None:
    mask, names = head_of(model, TEXT, "mask"), names_of(model, TEXT)
    open_head(page, query=1, key=4)

    assert readout(page).inner_text() == f"query {names[1]}, key {names[4]}: {CAUSAL}"
    tones = colours(page, "weights", mask.shape)
    hatched = [
        {tuple(colours(page, "weights", mask.shape, x / 20, 0.5)[row][col]) for x in range(2, 19)}
        for row, col in [(0, 3), (2, 6)]
    ]
    assert all(len(found) > 2 and any(tone[3] == 0 for tone in found) for found in hatched), (
        "lines with nothing between them"
    )
    assert all(tones[row][col][3] == 255 for row, col in (mask == 0).nonzero().tolist())
    expect(matrix(page, "weights").locator("text.over-hatching")).to_have_text("hidden by the causal mask")
    assert "hatched" not in legend(page).inner_text(), "it is said once"
    page.mouse.move(*point(page, "weights", mask.shape, 0, 3))
    hovered(page).wait_for()
    assert CAUSAL in "".join(hovered(page).all_text_contents())

    open_head(page, causal=False)
    assert all(cell is not None for row in picture(page, "weights")["z"] for cell in row)
    assert all(tone[3] == 255 for row in colours(page, "weights", mask.shape, 0.3, 0.2) for tone in row)
    assert "forbidden" not in legend(page).inner_text()


def test_scores_are_the_traces_and_finite(page: "Page", model: checkpoint.Checkpoint) -> None:
    scores = head_of(model, TEXT, "scores")
    open_head(page, attention__step="scaled", query=1, key=4)

    shown = picture(page, "scores")
    same(shown["z"], scores)
    assert legend(page).inner_text().split("\n") == ["colour within each row: lowest", "highest"]
    stops, tones = shown["colours"], colours(page, "scores", scores.shape, 0.25, 0.25)
    for row, values in enumerate(scores):
        places = (values - values.min()) / (values.max() - values.min())
        for col, place in enumerate(places.tolist()):
            assert tones[row][col][:3] == pytest.approx(mixed(stops, place), abs=1), "a row has the whole ramp"
    shown_score = readout(page, "scores").inner_text().replace("\u2212", "-")
    said = re.search(r"score (-?[\d.]+), but the mask will forbid it: the key comes after", shown_score)
    assert said
    assert float(said[1]) == pytest.approx(scores[1, 4].item(), rel=1e-4)


def test_the_mask_adds_minus_infinity_to_the_scores(page: "Page", model: checkpoint.Checkpoint) -> None:
    scores, mask = head_of(model, TEXT, "scores"), head_of(model, TEXT, "mask")
    open_head(page, attention__step="masked", query=1, key=4)

    shown = picture(page, "masked")
    same(shown["z"], scores, mask)
    hidden = [text == "−∞" for text in shown["numbers"]]
    assert hidden == (mask != 0).flatten().tolist()
    assert readout(page, "masked").inner_text().endswith("forbidden, + −∞: the key comes after the query (causal mask)")
    assert "causal + −∞" in legend(page).inner_text()


def test_the_slider_walks_from_the_dot_products_to_the_weights(page: "Page", model: checkpoint.Checkpoint) -> None:
    q, k = head_of(model, TEXT, "q"), head_of(model, TEXT, "k")
    open_head(page, query=3, key=1)
    slider = page.get_by_test_id("attention-step")
    before = matrix(page, "weights").locator(".sheet").bounding_box()
    for name in ("masked", "scores", "qk"):
        slider.press("ArrowLeft")
        page.wait_for_selector(f'[data-matrix="{name}"][aria-busy="false"]')
        assert readout(page, name).get_attribute("data-key") == "1", "the same cell stays chosen"
        assert matrix(page, name).locator(".sheet").bounding_box() == before, "the cells stay where they are"
    torch.testing.assert_close(torch.tensor(picture(page, "qk")["z"]), q @ k.T, atol=1e-4, rtol=1e-4)
    assert slider.get_attribute("aria-valuetext") == "QKᵀ, the dot products"
    page.wait_for_url(re.compile("attention.step=qk"))
    slider.press("End")
    page.wait_for_selector('[data-matrix="weights"][aria-busy="false"]')
    page.wait_for_url(re.compile("^((?!attention.step).)*$"))


def test_queries_keys_and_values_are_the_traces(page: "Page", model: checkpoint.Checkpoint) -> None:
    open_head(page, view="qkv", query=2, key=1)

    for name, row in [("q", 2), ("k", 1), ("v", 1)]:
        tensor, shown = head_of(model, TEXT, name), picture(page, name)
        same(shown["z"], tensor)
        assert box(page, name, "chosen row") == pytest.approx([row, 0, 1, tensor.shape[1]], abs=0.2), "its row is lit"
        value = float(readout(page, name).inner_text().rsplit(" ", 1)[1].replace("\u2212", "-"))
        assert value == pytest.approx(tensor[row, 0].item(), rel=1e-4)

    first = head_of(model, TEXT, "q")
    matrix(page, "q").focus()
    page.keyboard.press("ArrowRight")  # another dimension: no other panel shows it
    page.wait_for_function(
        "() => document.querySelector('[data-matrix=q] ~ [data-testid=readout]').dataset.col === '1'"
    )
    assert "dimension 1" in readout(page, "q").inner_text()
    assert float(readout(page, "q").get_attribute("data-value") or "nan") == pytest.approx(first[2, 1].item(), abs=1e-5)
    page.keyboard.press("ArrowUp")
    page.wait_for_url(re.compile("query=1(&|#|$)"))


@pytest.mark.parametrize(("view", "names"), [("qkv", ["q", "k", "v"]), ("av", ["z", "av-v"])])
def test_matrices_that_share_their_labels_have_their_rows_at_one_height(
    page: "Page", view: str, names: list[str]
) -> None:
    open_head(page, STORY, view=view)
    boxes = [matrix(page, name).locator(".sheet").bounding_box() for name in names]
    assert len({(box["y"], box["height"]) for box in boxes if box}) == 1
    assert len({box["x"] for box in boxes if box}) == len(names), "side by side"


def test_before_and_after_are_two_traces(page: "Page", model: checkpoint.Checkpoint) -> None:
    before, mask = head_of(model, TEXT, "pattern"), head_of(model, TEXT, "mask")
    after = head_of(model, TEXT, "pattern", causal=False)
    open_head(page, query=2, key=1, causal=False)
    page.get_by_test_id("compare-difference").click()
    page.wait_for_url(re.compile("compare="))
    drawn(page)

    same(picture(page, "before")["z"], before, mask)
    same(picture(page, "after")["z"], after)
    assert picture(page, "before")["range"] == picture(page, "after")["range"]
    leak = after[2][mask[2] > 0].sum().item()
    gained = after[2] - before[2]
    words = page.get_by_test_id("row-change").inner_text()
    assert words.startswith(f"Row {names_of(model, TEXT)[2]}: without the mask, {100 * leak:.1f}")
    least = int(gained.argmin())
    assert f"{written(before[2, least])} → {written(after[2, least])}" in words

    page.mouse.click(*point(page, "after", after.shape, 5, 6))
    page.wait_for_url(re.compile("query=5&key=6"))
    drawn(page)
    assert readout(page, "before").inner_text().endswith(CAUSAL)
    assert readout(page, "after").inner_text().endswith(f"weight {written(after[5, 6])}")

    open_head(page, compare="on", causal=False)
    same(picture(page, "before")["z"], before, mask)
    same(picture(page, "after")["z"], after)


# --- labels ---------------------------------------------------------------------------------------------------------


def test_a_token_that_occurs_twice_has_two_rows(page: "Page", model: checkpoint.Checkpoint) -> None:
    text = "the cat and the dog and the bird"
    pattern, mask = head_of(model, text, "pattern"), head_of(model, text, "mask")
    open_head(page, text)

    same(picture(page, "weights")["z"], pattern, mask)
    tokens = labels_of(model, text)
    assert len(set(tokens)) < len(tokens)
    assert labels(page, "weights", "row") == names_shown(tokens)
    assert labels(page, "weights", "col") == names_shown(tokens)


@pytest.mark.fresh  # it changes the page
def test_labels_are_never_markup(page: "Page") -> None:
    hostile = ["<b>x</b>", "&amp;", "<br>", "$x$", "%{x}", "<a href='https://example.org'>a</a>", "&#60;"]
    open_head(page)
    page.evaluate(
        """async (labels) => {
          const { drawMatrix } = await import('/static/chart/matrix/matrix.js');
          const { weightScale } = await import('/static/chart/matrix/scale.js');
          const root = document.body.insertBefore(document.createElement('div'), document.body.firstChild);
          const n = labels.length;
          drawMatrix(root, {
            id: 'hostile', label: 'test', values: new Float32Array(n * n).fill(1 / n), shape: [n, n], forbidden: null,
            rows: { labels, title: labels[0], role: 'q' }, cols: { labels, title: labels[2], role: 'k' },
            scale: weightScale(), cellText: () => labels[0], hover: (row, col) => [labels[row], labels[col]],
            describe: (row, col) => [labels[row], labels[col]], chosen: { row: 0, col: 2, span: 'cell', role: 'q' },
            onChoose() {}, square: true, sums: true, filename: 'test',
          });
        }""",
        hostile,
    )
    page.wait_for_selector('[data-matrix="hostile"][aria-busy="false"]')

    for axis in ("row", "col"):
        shown = [text.rstrip("…") for text in labels(page, "hostile", axis)]
        assert all(full.startswith(text) for text, full in zip(shown, hostile, strict=True)), shown
        assert "<b>x</b>" in shown
    assert matrix(page, "hostile").locator("a[href], a[*|href]").count() == 0
    assert matrix(page, "hostile").locator(".title").first.text_content() == "<br>"
    page.mouse.move(*point(page, "hostile", [len(hostile)] * 2, 5, 6))
    page.wait_for_selector('[data-matrix="hostile"] .hovertext')
    assert hostile[5] in "".join(matrix(page, "hostile").locator(".hovertext").all_text_contents())
    assert page.locator(".marker:visible").all_inner_texts() == [hostile[5], hostile[6]]


def test_typed_markup_appears_as_it_was_typed(page: "Page", model: checkpoint.Checkpoint) -> None:
    text = "<b>x</b> &amp; <br> $x$"
    open_head(page, text)

    shown = re.sub("[₀-₉“”·]", "", "".join(labels(page, "weights", "row")))
    assert shown == text.replace(" ", ""), "as it is read, besides quotes and numbers"
    strip = page.locator("[data-testid=token] .text").evaluate_all("all => all.map((one) => one.textContent)")
    assert "".join(strip).replace("·", " ") == text


# --- choosing -------------------------------------------------------------------------------------------------------


def test_arrow_keys_move_the_choice(page: "Page", model: checkpoint.Checkpoint) -> None:
    pattern = head_of(model, TEXT, "pattern")
    open_head(page, query=2, key=1)
    frame = matrix(page, "weights")
    frame.focus()

    for key, query_key in [("ArrowDown", (3, 1)), ("ArrowRight", (3, 2)), ("ArrowUp", (2, 2)), ("Home", (2, 0))]:
        page.keyboard.press(key)
        row, col = query_key
        page.wait_for_url(re.compile(f"query={row}&key={col}(&|#|$)"))
        drawn(page)
        assert readout(page).inner_text().endswith(f"weight {written(pattern[row, col])}")
        assert readout(page).get_attribute("aria-live") == "polite"
        assert box(page, "weights", "chosen") == pytest.approx([row, col, 1, 1], abs=0.1)
        bold = frame.locator(".row-label[font-weight='700']").all_text_contents()
        assert bold == [labels(page, "weights", "row")[row]], "the chosen row's label is highlighted"
    page.keyboard.press("ArrowLeft")  # the first column: it stays
    assert page.evaluate("document.activeElement.dataset.testid") == "matrix"
    assert "key=0" in page.url


def test_a_click_chooses_and_drives_every_panel(page: "Page", model: checkpoint.Checkpoint) -> None:
    n = len(labels_of(model, TEXT))
    open_head(page, query=2, key=1)
    page.mouse.click(*point(page, "weights", [n, n], 6, 4))
    page.wait_for_url(re.compile("query=6&key=4"))
    drawn(page)

    assert readout(page).get_attribute("data-query") == "6"
    page.get_by_test_id("step-scaled").click()
    page.wait_for_selector('[data-matrix="scores"][aria-busy="false"]')
    assert readout(page, "scores").get_attribute("data-query") == "6"
    assert readout(page, "scores").get_attribute("data-key") == "4"


@pytest.mark.cold  # it counts calls of canvas methods
def test_hover_redraws_nothing(page: "Page", model: checkpoint.Checkpoint) -> None:
    n = len(labels_of(model, TEXT))
    open_head(page)
    page.evaluate("""() => {
      window.redraws = 0;
      const counted = (name) => {
        const real = CanvasRenderingContext2D.prototype[name];
        CanvasRenderingContext2D.prototype[name] = function (...all) {
          window.redraws++;
          return real.apply(this, all);
        };
      };
      ['putImageData', 'drawImage', 'fillRect', 'fillText'].forEach(counted);
      const overlay = document.querySelector('[data-matrix=weights] .matrix-plot > .overlay');
      new MutationObserver(() => window.redraws++).observe(overlay, { childList: true, subtree: true });
    }""")
    for step in range(n):
        page.mouse.move(*point(page, "weights", [n, n], step, step))
        page.wait_for_function(READ_OUT, arg=step)
    assert page.evaluate("window.redraws") == 0


def test_a_cell_is_found_and_said_at_once_zoomed_or_not(page: "Page", model: checkpoint.Checkpoint) -> None:
    pattern = head_of(model, STORY, "pattern")
    open_head(page, STORY, query=12, key=6)
    for _ in range(2):
        view = picture(page, "weights")["view"]
        x, y = point(page, "weights", [view["rows"], view["cols"]], 2, 1)
        said = page.evaluate(
            """([clientX, clientY]) => {
              const move = new PointerEvent('pointermove', { bubbles: true, clientX, clientY });
              document.elementFromPoint(clientX, clientY).dispatchEvent(move);
              return document.querySelector('[data-matrix=weights] > .hovertext').textContent;
            }""",
            [x, y],
        )
        row, col = view["row"] + 2, view["col"] + 1
        assert said.endswith(f"weight {written(pattern[row, col])}"), (row, col)
        sheet, words = (matrix(page, "weights").locator(one).bounding_box() for one in (".sheet", ".hovertext"))
        assert sheet
        assert words
        assert words["y"] >= sheet["y"] + sheet["height"], "it covers no cell"
        page.mouse.move(5, 5)
        matrix(page, "weights").get_by_role("button").nth(2).focus()
        page.keyboard.press("Enter")
        drawn(page)


def test_what_a_cell_says_is_not_cut_in_a_narrow_window(page: "Page") -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    open_head(page, STORY, query=12, key=6)
    matrix(page, "weights").locator(".sheet").scroll_into_view_if_needed()
    view = picture(page, "weights")["view"]
    page.mouse.move(*point(page, "weights", [view["rows"], view["cols"]], 5, 2))
    words = matrix(page, "weights").locator(".hovertext")
    expect(words).to_be_visible()
    assert words.evaluate("(words) => words.scrollWidth <= words.clientWidth"), words.inner_text()


# --- sizes, colours, failures ---------------------------------------------------------------------------------------


def test_one_token(page: "Page") -> None:
    open_head(page, "One")
    shown = picture(page, "weights")

    assert shown["z"] == [[1]]
    assert shown["numbers"] == ["1.00"]
    assert shown["sums"] == ["1.000"]
    assert labels(page, "weights", "row") == ["One"]


def test_many_tokens_have_as_many_labels_as_fit_and_more_when_zoomed(
    page: "Page", model: checkpoint.Checkpoint
) -> None:
    text = (STORY * 9).strip()
    ids = model.tokenizer.encode(text)
    assert 180 < len(ids) <= model.config.max_seq_len
    tokens = names_shown(labels_of(model, text))
    open_head(page, text, query=101, key=57)

    scrolls_in_its_place(page, tokens)
    page.keyboard.press("0")
    shown = picture(page, "weights")
    same(shown["z"], head_of(model, text, "pattern"), head_of(model, text, "mask"))
    for axis, chosen in [("row", 101), ("col", 57)]:
        named = labels(page, "weights", axis)
        assert 10 < len(named) < 60
        assert tokens[chosen] in named
        assert is_in_order(named, tokens)
    assert shown["numbers"] is None

    buttons = matrix(page, "weights").get_by_role("button")
    assert [button.get_attribute("aria-label") for button in buttons.all()] == [
        "Save as PNG",
        "Save as SVG",
        "Zoom in on the chosen cell",
        "Zoom out",
        "Show the whole matrix (or double-click)",
    ]
    for _ in range(math.ceil(math.log2(len(ids) / 18))):
        buttons.nth(2).focus()
        page.keyboard.press("Enter")
    zoomed = picture(page, "weights")
    assert zoomed["numbers"]
    view = zoomed["view"]
    seen = range(view["col"], view["col"] + view["cols"])
    assert 57 in seen
    assert labels(page, "weights", "col") == [tokens[i] for i in seen], "all labels of the visible part"
    pattern = head_of(model, text, "pattern")
    tones = colours(page, "weights", [view["rows"], view["cols"]], 0.2, 0.2)
    for row, col in [(0, 0), (view["rows"] - 1, 2)]:
        weight = pattern[view["row"] + row, view["col"] + col].item()
        assert tones[row][col][:3] == pytest.approx(mixed(zoomed["colours"], weight), abs=1)

    buttons.nth(4).focus()
    page.keyboard.press("Enter")
    assert picture(page, "weights")["view"] == {"row": 0, "col": 0, "rows": len(ids), "cols": len(ids)}


def scrolls_in_its_place(page: "Page", tokens: list[str]) -> None:
    """What is chosen is in sight, with all labels and rows that can be read; wheel and map move it, and keys bring it
    back. In the end query 101, key 57 is chosen again."""
    scroller, small = page.locator(".matrix-scroller").first, page.get_by_test_id("matrix-map").first

    def rows() -> list[str]:
        return labels(page, "weights", "row")

    box, of_map = scroller.bounding_box(), small.bounding_box()
    assert box
    assert of_map
    seen = rows()
    assert box["height"] / len(seen) >= 19
    first = next(i for i in range(len(tokens)) if tokens[i : i + len(seen)] == seen)
    assert first <= 101 < first + len(seen)
    assert of_map["x"] + of_map["width"] <= box["x"]
    assert of_map["y"] + of_map["height"] <= box["y"]
    page.mouse.move(box["x"] + 60, box["y"] + 60)
    page.mouse.wheel(0, -10_000)
    expect(matrix(page, "weights").locator(".row-label").first).to_have_text(tokens[0])
    assert tokens[101] not in rows()
    small.click(position={"x": of_map["width"] / 2, "y": of_map["height"] - 1})
    expect(matrix(page, "weights").locator(".row-label").last).to_have_text(tokens[-1])
    matrix(page, "weights").focus()
    for key, chosen in [("ArrowRight", 58), ("ArrowLeft", 57)]:
        page.keyboard.press(key)
        expect(matrix(page, "weights").locator("rect.chosen")).to_have_count(1)
        page.wait_for_url(f"**key={chosen}**")
    assert tokens[101] in rows()


def is_in_order(some: list[str], of: list[str]) -> bool:
    """Whether `some` is a subsequence of `of`."""
    rest = iter(of)
    return all(one in rest for one in some)


@pytest.mark.fresh  # another test may leave a zoom
def test_a_drag_comes_closer_and_a_double_click_shows_the_whole(page: "Page") -> None:
    open_head(page, STORY, query=2, key=1)
    n = len(picture(page, "weights")["z"])
    start, end = (point(page, "weights", [n, n], *cell) for cell in ((8, 1), (16, 9)))
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    assert matrix(page, "weights").locator(".zoom-band").is_visible()
    page.mouse.move(*end, steps=3)
    page.mouse.up()
    assert picture(page, "weights")["view"] == {"row": 8, "col": 1, "rows": 9, "cols": 9}
    assert "query=2" in page.url, "a drag does not choose a cell"

    page.mouse.dblclick(*start)
    assert picture(page, "weights")["view"] == {"row": 0, "col": 0, "rows": n, "cols": n}


@pytest.mark.fresh  # another test may leave a zoom
def test_the_wheel_comes_closer_with_ctrl_and_scrolls_without(page: "Page") -> None:
    open_head(page, STORY)
    n = len(picture(page, "weights")["z"])
    page.mouse.move(*point(page, "weights", [n, n], 12, 6))
    page.mouse.wheel(0, -100)
    assert picture(page, "weights")["view"]["rows"] == n
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    page.wait_for_function("n => document.querySelectorAll('[data-matrix=weights] .row-label').length < n", arg=n)
    view = picture(page, "weights")["view"]
    assert view["rows"] < n
    assert view["row"] <= 12 < view["row"] + view["rows"]
    matrix(page, "weights").focus()
    page.keyboard.press("0")
    assert picture(page, "weights")["view"]["rows"] == n


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_legend_has_the_colours_of_the_cells(open_page: "Callable[..., Page]", scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    open_head(page)
    for name in ["weights", "scores"]:
        page.get_by_test_id({"weights": "step-weights", "scores": "step-scaled"}[name]).click()
        page.wait_for_selector(f'[data-matrix="{name}"][aria-busy="false"]')
        stops = picture(page, name)["colours"]
        ramp = page.locator("[data-station=attention] .ramp")
        gradient = ramp.evaluate("ramp => getComputedStyle(ramp).backgroundImage")
        legend = [tuple(map(int, rgb)) for rgb in re.findall(r"rgb\((\d+), (\d+), (\d+)\)", gradient)]
        assert legend == [tuple(bytes.fromhex(stop[1:])) for stop in stops]
    assert page.evaluate("document.documentElement.dataset.theme") == scheme


def test_on_a_phone(open_page: "Callable[..., Page]", model: checkpoint.Checkpoint) -> None:
    page = open_page(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, device_scale_factor=3)
    pattern = head_of(model, TEXT, "pattern")
    open_head(page, compare="on", query=2, key=1)

    assert page.evaluate("document.documentElement.scrollWidth") == 360, "nothing overflows"
    assert matrix(page, "before").locator(".sheet").evaluate("sheet => sheet.width / sheet.clientWidth") == 3, "sharp"
    after = head_of(model, TEXT, "pattern", causal=False)
    page.touchscreen.tap(*point(page, "before", pattern.shape, 5, 3))
    page.wait_for_url(re.compile("query=5&key=3"))
    drawn(page)
    assert readout(page, "before").inner_text().endswith(f"weight {written(pattern[5, 3])}")
    assert readout(page, "after").inner_text().endswith(f"weight {written(after[5, 3])}")


CAR = "Tom lost his red car. Tom was sad. Mom found the red"


@pytest.mark.fresh
@pytest.mark.parametrize(
    ("size", "more", "n", "least"),
    [
        ((1440, 900), " car.", 16, 29),
        ((1280, 720), "", 14, 24),
        ((1440, 900), " car. Then she gave it to Tom. He", 24, 19),
        ((1280, 720), " car. Then she gave it to Tom. He", 24, 15),
    ],
)
def test_the_rows_of_a_head_are_high_and_few_of_them_are_seen_at_once(
    page: "Page", model: checkpoint.Checkpoint, size: tuple[int, int], more: str, n: int, least: int
) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    open_head(page, CAR + more, view="attention", **{"river.shown": "on"})
    page.get_by_test_id("arithmetic").wait_for()
    assert len(labels_of(model, CAR + more)) == n == len(picture(page, "weights")["z"])
    assert picture(page, "weights")["cell"]["h"] >= least
    sheet = matrix(page, "weights").locator(".sheet").bounding_box()
    summary = page.locator(".arithmetic + details > summary").bounding_box()
    assert sheet
    assert summary
    assert summary["y"] + summary["height"] <= size[1], "the arithmetic is seen without scrolling"
    assert sheet["y"] + sheet["height"] <= size[1], "and so is the whole matrix, or as much as is seen of it"
    shown = picture(page, "weights")
    assert shown["view"]["row"] + shown["view"]["rows"] == n, "the chosen row is in view"
    assert len(shown["numbers"]) >= n, "and has its numbers"
    fonts = (
        matrix(page, "weights")
        .locator(".number")
        .evaluate_all("all => all.map((one) => Number(one.getAttribute('font-size')))")
    )
    assert all(font >= 11 for font in fonts)


@pytest.mark.fresh
def test_the_names_of_the_columns_stay_in_sight_while_the_page_scrolls(page: "Page") -> None:
    """Each over its column, below what stays itself; a pointer on them means no cell below them."""
    page.set_viewport_size({"width": 1280, "height": 720})
    open_head(page, CAR + " car. Then she gave it to Tom.", view="attention")
    page.get_by_test_id("arithmetic").wait_for()
    shown = matrix(page, "weights")
    names, n = shown.locator(".col-label"), len(picture(page, "weights")["z"])
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    sheet = shown.locator(".sheet").bounding_box()
    path = page.locator(".path").bounding_box()
    head = shown.locator(".matrix-head").bounding_box()
    assert sheet
    assert path
    assert head
    assert sheet["y"] < path["y"] + path["height"], "its first rows are out of sight"
    assert head["y"] == pytest.approx(path["y"] + path["height"], abs=1)
    expect(names).to_have_count(n)
    for place in range(n):
        name = names.nth(place).bounding_box()
        assert name
        assert name["y"] >= path["y"] + path["height"] - 1
        middle = sheet["x"] + sheet["width"] * (place + 0.5) / n
        assert name["x"] - 2 <= middle <= name["x"] + name["width"] + 2
    at = sheet["x"] + sheet["width"] / 2
    page.mouse.move(at, head["y"] + head["height"] + 30)
    expect(shown.locator(".hovertext")).to_be_visible()
    page.mouse.move(at, head["y"] + head["height"] - 8)
    expect(shown.locator(".hovertext")).to_be_hidden()


def test_a_finger_chooses_among_the_keys_of_a_row(
    open_page: "Callable[..., Page]", model: checkpoint.Checkpoint
) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    open_head(page, view="attention", query=4, key=1)
    keys = page.get_by_test_id("row-keys").locator("button")
    assert keys.count() == 5, "those that the row may attend to"
    boxes = [key.bounding_box() for key in keys.all()]
    assert all(box and min(box["width"], box["height"]) >= 44 for box in boxes)
    keys.nth(3).tap()
    page.wait_for_url("**key=3**")
    weight = head_of(model, TEXT, "pattern")[4, 3]
    assert keys.nth(3).get_attribute("aria-pressed") == "true"
    assert keys.nth(3).inner_text().split() == [names_of(model, TEXT)[3], f"{weight:.2f}".removeprefix("0")]
    cells = matrix(page, "weights").locator(".sheet").bounding_box()
    tools = matrix(page, "weights").locator(".matrix-buttons").bounding_box()
    assert cells
    assert tools
    assert tools["y"] + tools["height"] <= cells["y"], "in the corner between both kinds of names"
    assert tools["x"] + tools["width"] <= cells["x"]
    card, ways = (page.locator(one).bounding_box() for one in (".arithmetic", "[data-station=attention] .says-row"))
    assert card
    assert ways
    assert cells["y"] + cells["height"] < card["y"] < cells["y"] + cells["height"] + 200 < ways["y"], (
        "first its arithmetic"
    )


@pytest.mark.fresh
@pytest.mark.japanese
def test_japanese(page: "Page", model: checkpoint.Checkpoint) -> None:
    pattern, names = head_of(model, TEXT, "pattern"), names_of(model, TEXT)
    open_head(page, query=2, key=1, lang="ja")

    assert readout(page).inner_text() == f"クエリ {names[2]}、キー {names[1]}：重み {written(pattern[2, 1])}"
    assert matrix(page, "weights").locator(".title").all_text_contents() == ["Σ"], "the labels say the rest"
    titles = page.evaluate("""async frame => {
      const { picturesIn } = await import('/static/chart/pictures.js');
      const [{ size }] = picturesIn(document.querySelector('[data-matrix=weights]').parentElement);
      return [size.colTitle, size.rowTitle];
    }""")
    assert titles == ["キー：見られる側のトークン →", "← クエリ：見る側のトークン"], "a file has them"


@pytest.mark.cold  # it blocks the first load of the library
def test_a_missing_library_is_reported_and_loaded_again(page: "Page", page_errors: list[str]) -> None:
    page.route("**/plotly.min.js", lambda route: route.abort())
    page.goto(link({"text": TEXT, "view": "prediction", "prediction.axis": "log"}))
    alert = page.locator(".matrix-error")
    alert.wait_for()
    assert "plotly.js could not be loaded from static/vendor/plotly.min.js" in alert.inner_text()

    page.unroute("**/plotly.min.js")
    alert.get_by_role("button").click()
    page.wait_for_selector(".bar-picture .main-svg")
    assert page.locator(".matrix-error").count() == 0
    page_errors.clear()


def test_a_picture_can_be_saved(page: "Page", tmp_path: Path) -> None:
    open_head(page)
    for button, ending in [(0, "png"), (1, "svg")]:
        with page.expect_download() as download:
            matrix(page, "weights").get_by_role("button").nth(button).focus()
            page.keyboard.press("Enter")
        assert download.value.suggested_filename == f"chumoku-layer{LAYER}-head{HEAD}-weights.{ending}"
        download.value.save_as(tmp_path / ending)
    drawing = ElementTree.parse(tmp_path / "svg").getroot()
    cells = drawing.findall(".//{*}rect[@class='cell']")
    shown = picture(page, "weights")
    assert len(cells) == sum(value is not None for row in shown["z"] for value in row), "forbidden cells have none"
    assert [one.text for one in drawing.findall(".//{*}text[@class='number']")] == shown["numbers"]
    png = (tmp_path / "png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == 2 * int(drawing.attrib["width"])


def test_rows_sum_to_one_in_float32(model: checkpoint.Checkpoint) -> None:
    """The sums in the margin hold in the trace itself."""
    pattern = head_of(model, STORY, "pattern")
    torch.testing.assert_close(pattern.sum(-1), torch.ones(len(pattern)), atol=1e-5, rtol=0)
