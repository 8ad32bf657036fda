"""A picture in the sentence's place: drawn, taken, hidden; what is shown is the Python trace's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO
from chumoku.model.pictures.examples import Example, read_examples
from chumoku.model.trace import Padding, Trace, trace
from tests.browser.helpers import overflows, serious_in_both_themes, settled, wait_for_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm

VIT = checkpoint.load(ZOO / "digits-vit")
BLANK = [[0] * 8 for _ in range(8)]
PATTERNS = [VIT.description.attention("self").tap("pattern", layer) for layer in range(3)]


def examples() -> list[Example]:
    assert VIT.config.picture is not None
    return read_examples(ZOO / "digits-vit", VIT.config.picture, 10)


def traced(pixels: list[list[int]], *names: str, **how: Any) -> Trace:
    assert VIT.config.picture is not None
    return trace(VIT, VIT.config.picture.ids(pixels), [*names, "logits"], **how)


def answer(pixels: list[list[int]], **how: Any) -> list[float]:
    probabilities: list[float] = traced(pixels, **how).tensors["logits"].double().softmax(-1).tolist()
    return probabilities


def open_picture(page: Page, pixels: list[list[int]], query: str = "", **pad: object) -> None:
    run = {"model": "digits-vit", "input": {"pixels": pixels}} | ({"pad": pad} if pad else {})
    page.goto(f"/?model=digits-vit&{query}#run={quote(json.dumps(run))}")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("board").wait_for()


def shown(page: Page) -> list[float]:
    settled(page)
    return [float(bar.get_attribute("data-probability") or "nan") for bar in page.get_by_test_id("class").all()]


def middle(page: Page, row: int, column: int) -> tuple[float, float]:
    """The middle of a pixel of the board, in the window."""
    box = page.get_by_test_id("board").bounding_box()
    assert box is not None
    return box["x"] + box["width"] * (column + 0.5) / 8, box["y"] + box["height"] * (row + 0.5) / 8


def test_a_link_with_pixels_shows_the_model_s_own_answer(page: Page) -> None:
    one = examples()[3]
    open_picture(page, one.pixels)
    assert shown(page) == pytest.approx(answer(one.pixels), abs=1e-5)
    about = page.get_by_test_id("picture-about")
    about.get_by_text("4 of 360").wait_for()
    assert f"digit is {one.label}." in about.inner_text()
    assert not page.get_by_test_id("sentence").is_visible()


def test_tokens_are_patches_with_a_name(page: Page) -> None:
    open_picture(page, examples()[3].pixels)
    tokens = page.get_by_test_id("token")
    assert tokens.count() == 17
    assert "patch 3 (row 0, column 3)" in (tokens.nth(4).get_attribute("aria-label") or "")
    shades = (
        tokens.nth(2).locator("rect").evaluate_all("all => all.map((one) => Number(one.getAttribute('fill-opacity')))")
    )
    assert shades == [x / 16 for row in examples()[3].pixels[:2] for x in row[2:4]]


def test_the_menu_opens_a_picture_and_leads_back_to_a_text(page: Page) -> None:
    page.goto("/#text=The+cat+sat.")
    page.wait_for_selector('body[data-state="ready"]')
    page.locator(".model-button").click()
    page.get_by_role("option", name="digits-vit").click()
    page.get_by_test_id("board").wait_for()
    assert shown(page) == pytest.approx(answer(examples()[0].pixels), abs=1e-5)
    page.locator(".model-button").click()
    page.get_by_role("option", name="stories-gpt").click()
    page.get_by_test_id("sentence").wait_for()
    settled(page)
    assert page.get_by_test_id("sentence").input_value() != ""
    assert not page.get_by_test_id("board").is_visible()


def test_a_stroke_is_read_as_it_is_drawn(page: Page) -> None:
    open_picture(page, BLANK)
    page.mouse.move(*middle(page, 1, 4))
    page.mouse.down()
    page.mouse.move(*middle(page, 6, 4), steps=8)
    page.mouse.up()
    settled(page)
    pixels = wait_for_run(page, "run.input.pixels[6][4]")["input"]["pixels"]
    assert [row[4] for row in pixels] == [pytest.approx(5, abs=2), *[16] * 6, pytest.approx(5, abs=2)]
    assert all(row[0] == row[7] == 0 for row in pixels)
    assert shown(page) == pytest.approx(answer(pixels), abs=1e-5)
    assert "Your own picture" in page.get_by_test_id("picture-about").inner_text()


@pytest.mark.fresh  # the board's cell stays
def test_a_digit_can_be_drawn_and_erased_with_the_keyboard(page: Page) -> None:
    open_picture(page, BLANK)
    board = page.get_by_test_id("board")
    board.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", " ", "ArrowRight", "Enter", "ArrowDown", " ", "Delete"):
        page.keyboard.press(key)
    pixels = wait_for_run(page, "run.input.pixels.flat().filter(Boolean).length === 2")["input"]["pixels"]
    assert {(r, c): x for r, row in enumerate(pixels) for c, x in enumerate(row) if x} == {(2, 1): 16, (2, 2): 16}
    assert "row 3, column 2, level 0" in (page.get_by_test_id("picture-said").text_content() or "")


def test_the_next_picture_is_the_next_one_that_it_never_saw(page: Page) -> None:
    open_picture(page, examples()[3].pixels)
    page.get_by_test_id("picture-another").click()
    page.get_by_test_id("picture-about").get_by_text("5 of 360").wait_for()
    assert shown(page) == pytest.approx(answer(examples()[4].pixels), abs=1e-5)


def test_a_hidden_patch_changes_the_class_and_comes_back(page: Page) -> None:
    pixels = examples()[3].pixels
    open_picture(page, pixels)
    page.mouse.click(*middle(page, 3, 3))  # a picture is there: a click hides
    page.get_by_test_id("picture-about").get_by_text("1 patch is hidden").wait_for()
    assert shown(page) == pytest.approx(answer(pixels, pad=Padding(hidden=(6,))), abs=1e-5)
    assert wait_for_run(page, "run.pad")["pad"] == {"hidden": [6]}
    assert "hidden" in (page.get_by_test_id("token").nth(6).get_attribute("aria-label") or "")
    page.get_by_test_id("board").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    page.get_by_test_id("picture-about").get_by_text("2 patches are hidden").wait_for()
    assert shown(page) == pytest.approx(answer(pixels, pad=Padding(hidden=(6, 7))), abs=1e-5)
    page.get_by_test_id("picture-show").click()
    wait_for_run(page, "!run.pad")
    assert shown(page) == pytest.approx(answer(pixels), abs=1e-5)


def test_an_own_picture_begins_with_all_its_patches(page: Page) -> None:
    """Those that were hidden of another one are hidden again after Back."""
    pixels = examples()[3].pixels
    open_picture(page, pixels, hidden=[6, 7])
    settled(page)
    page.get_by_test_id("picture-draw").click()
    page.mouse.click(*middle(page, 0, 0))
    page.get_by_test_id("picture-about").get_by_text("Your own picture.", exact=True).wait_for()
    own = wait_for_run(page, "!run.pad")
    assert "pad" not in own
    assert shown(page) == pytest.approx(answer(own["input"]["pixels"]), abs=1e-5)
    page.go_back()
    page.get_by_test_id("picture-about").get_by_text("2 patches are hidden").wait_for()
    assert shown(page) == pytest.approx(answer(pixels, pad=Padding(hidden=(6, 7))), abs=1e-5)


def test_what_is_hidden_of_an_own_picture_stays_hidden(page: Page) -> None:
    open_picture(page, BLANK, hidden=[6])
    page.mouse.click(*middle(page, 7, 7))
    settled(page)
    assert wait_for_run(page, "run.input.pixels[7][7]")["pad"] == {"hidden": [6]}


def test_the_river_of_a_picture_ends_with_the_first_screen(open_page: Callable[..., Page]) -> None:
    """In a low window the heads may reach below it, but not the patches and the best guess."""
    page = open_page(viewport={"width": 1440, "height": 900})
    open_picture(page, examples()[3].pixels, "view=model")
    settled(page)
    river = page.get_by_test_id("river")
    assert river.evaluate("(one) => one.getBoundingClientRect().bottom") <= 900
    page.set_viewport_size({"width": 1280, "height": 720})
    settled(page)
    heads = river.evaluate("""async (canvas) => {
      const { squares } = (await import('/static/river/board.js')).sceneOf(canvas);
      return canvas.getBoundingClientRect().top + Math.min(...squares.map(({ y }) => y));
    }""")
    assert heads <= 720 - 40


@pytest.mark.parametrize("size", [(1440, 900), (1280, 720)])
def test_a_large_picture_stands_next_to_the_river(open_page: Callable[..., Page], size: tuple[int, int]) -> None:
    page = open_page(viewport=dict(zip(("width", "height"), size, strict=True)))
    open_picture(page, examples()[3].pixels, "view=model")
    settled(page)
    board, river, side = (
        box
        for name in ("board", "river", "picture-about")
        if (box := page.get_by_test_id(name).bounding_box()) is not None
    )
    assert board["width"] >= 300
    assert board["x"] + board["width"] < river["x"]
    assert abs(board["y"] - river["y"]) < 24
    assert side["y"] + side["height"] <= size[1]
    assert river["y"] + river["height"] <= size[1]


def test_on_a_phone_the_picture_is_above_the_river(open_page: Callable[..., Page]) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    open_picture(page, examples()[3].pixels, "view=model")
    settled(page)
    board, river = (page.get_by_test_id(name).bounding_box() for name in ("board", "river"))
    assert board
    assert river
    assert board["width"] >= 180
    assert board["y"] + board["height"] < river["y"] < 844 - 200


def test_the_open_head_s_weights_glow_over_the_picture(page: Page) -> None:
    """In the whole model, those of the head of the last layer whose [CLS] attends most to one patch."""
    pixels = examples()[3].pixels
    patterns = traced(pixels, *PATTERNS).tensors

    def glowing() -> list[float]:
        settled(page)
        board = page.get_by_test_id("board")
        depths = board.locator(".glow").evaluate_all("all => all.map((one) => Number(one.getAttribute('opacity')))")
        return [depth / max(depths) for depth in depths]

    def expected(layer: int, head: int) -> list[float]:
        row = patterns[PATTERNS[layer]][head, 0, 1:]
        return (row / row.max()).tolist()

    open_picture(page, pixels, "view=model")
    strongest = int(patterns[PATTERNS[2]][:, 0, 1:].amax(-1).argmax())
    assert glowing() == pytest.approx(expected(2, strongest), abs=0.02)
    assert f"head 2·{strongest}" in page.get_by_test_id("picture-glow").inner_text()
    assert page.locator(".patch-shares").inner_text().strip() == "", "bytes are not written as numbers"
    open_picture(page, pixels, "view=attention&layer=1&head=2")
    page.locator(".patch-shares span:not(:empty)").first.wait_for()
    assert glowing() == pytest.approx(expected(1, 2), abs=0.002)
    shares = page.locator(".patch-shares > div").all_inner_texts()
    row = patterns[PATTERNS[1]][2, 0, 1:].tolist()
    assert [share.replace("\u2009", " ").replace("\u202f", " ") for share in shares] == [
        f"{weight * 100:.0f} %" if weight >= 0.05 else "" for weight in row
    ]


@pytest.mark.fresh
def test_a_model_of_digits_opens_with_one(page: Page) -> None:
    page.goto("/?model=digits-vit")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("picture-about").get_by_text("1 of 360").wait_for()


def test_a_link_with_hidden_patches_hides_them(page: Page) -> None:
    pixels = examples()[7].pixels
    open_picture(page, pixels, hidden=[5, 11])
    assert shown(page) == pytest.approx(answer(pixels, pad=Padding(hidden=(5, 11))), abs=1e-5)


def test_before_and_after_are_with_and_without_the_hidden_patches(page: Page) -> None:
    pixels = examples()[3].pixels
    open_picture(page, pixels, "river.shown=off&compare=on", hidden=[6, 7])
    settled(page)
    about = page.locator("[data-panel=compare]").inner_text()
    assert "0 patches hidden: as in training" in about
    assert "2 patches hidden" in about


def test_a_finger_draws_and_the_page_does_not_scroll(open_page: Callable[..., Page]) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True)
    open_picture(page, BLANK, "view=model")
    board, box, now = page.get_by_test_id("board"), None, {}
    while box != now:  # the sentence above it grows once the effects are measured
        page.wait_for_timeout(500)
        box, now = now, board.bounding_box() or {}
    page.touchscreen.tap(*middle(page, 4, 4))
    settled(page)
    pixels = wait_for_run(page, "run.input.pixels[4][4]")["input"]["pixels"]
    assert pixels[4][4] == 16
    assert page.get_by_test_id("board").evaluate("(board) => getComputedStyle(board).touchAction") == "none"


def test_every_head_s_look_is_over_the_picture(page: Page) -> None:
    """[CLS]'s by default, any patch's once it is chosen; the deepest colour is the largest weight."""
    pixels = examples()[3].pixels
    open_picture(page, pixels)
    run = traced(pixels, *PATTERNS)
    for query in (0, 7):
        if query:
            page.get_by_test_id("token").nth(query).click()
            page.get_by_role("heading", name="Where patch 6 (row 1, column 2) looks").wait_for()
        settled(page)
        for cell in page.get_by_test_id("cls-row").all():
            layer, head = (int(cell.get_attribute(f"data-{name}") or -1) for name in ("layer", "head"))
            row = run.tensors[PATTERNS[layer]][head, query, 1:]
            depths = cell.locator(".weight").evaluate_all(
                "all => all.map((one) => Number(one.getAttribute('fill-opacity')))"
            )
            full = float(row.max()) / max(depths)
            assert depths == pytest.approx([float(x) / full for x in row], abs=0.02)


def test_shares_are_rolled_out_over_the_picture(page: Page) -> None:
    pixels = examples()[3].pixels
    open_picture(page, pixels)
    figures = page.get_by_test_id("rolled").locator("figure")
    figures.first.wait_for()
    assert [one.inner_text().strip() for one in figures.all()] == ["through layer 2", "layers 1 to 2", "layers 0 to 2"]
    assert figures.first.locator(".weight").count() == 16


@pytest.mark.parametrize(
    "view",
    [
        "tokens",
        "embedding",
        "qkv",
        "attention",
        "av",
        "ffn",
        "residual",
        "prediction",
        "training",
        "cost",
        "computation",
    ],
)
def test_every_station_shows_a_picture_and_calls_none_a_sentence(page: Page, view: str) -> None:
    """Nor in what is read aloud. The card of words, the lessons and the start page speak of sentences."""
    problems: list[str] = []
    page.on("response", lambda one: problems.append(f"{one.status} {one.url}") if one.status >= 400 else None)
    open_picture(page, examples()[3].pixels, f"compare=on&view={view}", hidden=[6])
    settled(page)
    assert problems == []
    assert page.locator(".panel-error").count() == 0
    said = page.evaluate(
        """() => [document.body.innerText, ...[...document.querySelectorAll("[aria-label], [title]")]
          .flatMap((one) => one.checkVisibility() ? [one.ariaLabel, one.title] : [])].join("\\n")"""
    )
    assert [line for line in said.split("\n") if "sentence" in line.lower()] == []


def test_the_river_has_patches_for_words_and_can_be_cut(page: Page) -> None:
    pixels = examples()[3].pixels
    open_picture(page, pixels, "view=model")
    page.get_by_test_id("cut-looks").wait_for()
    before = answer(pixels)
    page.get_by_test_id("cut-looks").click()
    settled(page)
    run = wait_for_run(page, "run.interventions?.length")
    assert run["interventions"]
    assert before[examples()[3].label] > 0.5


def test_a_saved_trace_of_a_picture_opens(page: Page, tmp_path: Path) -> None:
    pixels = examples()[3].pixels
    open_picture(page, pixels, "river.shown=off", hidden=[6])
    body = {"model": "digits-vit", "pixels": pixels, "pad": {"hidden": [6]}, "want": ["*"], "describe": True}
    saved = page.request.post("/api/trace", data=body)
    assert saved.ok, saved.text()
    path = tmp_path / "zero.safetensors"
    path.write_bytes(saved.body())
    page.get_by_test_id("file-input").set_input_files(path)
    page.get_by_test_id("file-banner").wait_for()
    assert shown(page) == pytest.approx(answer(pixels, pad=Padding(hidden=(6,))), abs=1e-5)
    ink = (
        page.get_by_test_id("board")
        .locator(".pixel")
        .evaluate_all("all => all.map((one) => Number(one.style.opacity))")
    )
    assert ink == [x / 16 for row in pixels for x in row]
    assert not page.get_by_test_id("picture-another").is_visible()


@pytest.mark.japanese
def test_japanese_says_the_same(open_page: Callable[..., Page]) -> None:
    page = open_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    open_picture(page, examples()[3].pixels, "lang=ja")
    page.get_by_test_id("picture-about").get_by_text("360 枚のうち 4 枚目").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert "パッチ 3（0 行 3 列）" in (page.get_by_test_id("token").nth(4).get_attribute("aria-label") or "")


def test_pictures_are_for_everyone(page: Page) -> None:
    open_picture(page, examples()[3].pixels, hidden=[6])
    settled(page)
    assert serious_in_both_themes(page, ".sentence", ".main > .picture", ".panel.classes") == []
    assert overflows(page, (360, 390, 1440)) == []
