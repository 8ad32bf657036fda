"""A model of another kind (`tests.toys.traceable`) on the page: no norm, no residual connection, no FFN, no positions,
no unembedding, no PAD. Every station that is offered and every step of the walk is drawn; export and links work."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import flaws, link, offered, open_more, open_tools, settled, to_station, to_step
from tests.toys.models import BIGRAMS as TEXT

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm

STATIONS = {"tokens", "embedding", "attention", "prediction"}
STEPS = ["in.tokens", "in.embed", "attn.v", "attn.role-mask", "attn.role-share", "attn.role-attn_out", "out.answer"]


@pytest.fixture(scope="module")
def app_url(toys_url: str) -> str:
    return toys_url


def show(page: "Page", view: str, **more: object) -> None:
    page.goto(link({"text": TEXT, "model": "toy", "view": view} | more))
    whole(page)


def whole(page: "Page", lacks: Sequence[str] = ()) -> None:
    settled(page)
    assert [flaw.partition(":")[0] for flaw in flaws(page)] == [*lacks]


def walk(page: "Page") -> None:
    """Open each station that is offered."""
    assert offered(page) == STATIONS
    open_tools(page)
    expect(page.get_by_test_id("tool-cost")).to_be_visible()  # which a saved trace says it lacks
    page.keyboard.press("Escape")
    for view in STATIONS:
        to_station(page, view)
        whole(page)
        expect(page.locator(f'[data-station="{view}"]')).to_be_visible()


def test_every_station_that_is_offered_opens(page: "Page") -> None:
    show(page, "tokens")
    walk(page)


def test_every_step_of_the_walk_opens(page: "Page") -> None:
    show(page, "computation", computation__step=STEPS[0])
    steps = page.get_by_test_id("walk-step")
    assert [step.get_attribute("data-step") for step in steps.all()] == STEPS
    for step in STEPS:
        to_step(page, step)
        page.wait_for_selector(f'[data-step="{step}"][aria-current="step"]')
        whole(page)


def test_what_is_saved_opens_again(page: "Page", tmp_path: Path) -> None:
    show(page, "attention")
    open_more(page)
    page.get_by_test_id("export").click()
    with page.expect_download() as numbers:
        page.get_by_test_id("export-csv").first.click()
    rows = Path(numbers.value.path()).read_text("utf-8-sig").splitlines()
    assert [float(cell) for cell in rows[-1].split(",")[1:]] == [0] * (len(TEXT) - 1) + [1], "it looks at the newest"
    with page.expect_download() as saved:
        page.get_by_test_id("export-safetensors").click()
    file = tmp_path / "toy.safetensors"
    saved.value.save_as(file)
    page.get_by_test_id("file-input").set_input_files(file)
    expect(page.get_by_test_id("file-banner")).to_contain_text("toy")
    whole(page)
    walk(page)
    open_tools(page)
    page.get_by_test_id("tool-labels").click()
    whole(page, ["This needs the model itself, and so the server"])  # the label of its head


def test_its_layer_is_read_and_its_head_labelled(page: "Page") -> None:
    show(page, "prediction", drawer="labels", **{"prediction.tab": "layers"})
    expect(page.get_by_text("read as the model reads its last one")).to_be_visible()
    expect(page.get_by_test_id("lens-gap")).to_have_attribute("data-gap", "0")
    expect(page.get_by_test_id("label-counts")).to_contain_text("1 of 1 heads shows a known pattern")


def test_a_link_opens_the_same(page: "Page") -> None:
    show(page, "embedding", query=4, **{"embedding.tab": "swap"})
    expect(page.locator('[data-part="sum"]')).to_be_visible()  # its positions cannot be swapped
    show(page, "computation", computation__step="attn.v", query=4)
    shown = page.get_by_test_id("computation-sum").get_attribute("data-value")
    page.reload()
    expect(page.get_by_test_id("computation-sum")).to_have_attribute("data-value", shown or "")


def test_its_river_has_streams_without_lines_and_says_why(page: "Page") -> None:
    """It does not report what its attention moves. Nothing of that is asked for."""
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    show(page, "model", **{"river.shown": "on"})
    expect(page.get_by_test_id("river")).to_be_visible()
    expect(page.get_by_test_id("river-waits")).to_have_text(re.compile("does not report .* so there are no lines"))
    drawn = """async (canvas) => {
      const { bands: [{ rows }], lines, squares } = (await import('/static/river/board.js')).sceneOf(canvas);
      return [rows.length, lines.filter(({ own }) => !own).length, squares.length];
    }"""
    assert page.get_by_test_id("river").evaluate(drawn) == [len(TEXT), 0, 1]
    page.get_by_test_id("station-list").select_option("attention")
    expect(page.get_by_test_id("head").first).to_be_visible()
    expect(page.get_by_test_id("river")).to_be_visible()
    expect(page.get_by_test_id("river-waits")).to_be_hidden()
    page.get_by_test_id("crumb-model").click()
    expect(page.get_by_test_id("river-waits")).to_be_visible()
    whole(page)
    assert not [one for one in asked if one.endswith("/route")]
