"""A mechanism that the page does not know: it opens, says what it lacks, explains its numbers and can be exported.

Neither toy (`tests.toys.mechanism`) has q, k, scores or pattern;
`gated-mean` shows weights under another name, `hidden-mean` none.
"""

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import all_heads, flaws, link, offered, open_more, open_tools, settled, to_station

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm

TEXT = "A toy has no scores."
ALWAYS = ["tokens", "embedding", "ffn", "residual", "prediction"]
TOOLS = ["training", "cost"]
STATIONS = {"toy-gated-mean": {*ALWAYS, "attention"}, "toy-hidden-mean": set(ALWAYS)}


@pytest.fixture(scope="module")
def app_url(toys_url: str) -> str:
    return toys_url


def show(page: "Page", model: str, view: str, **more: object) -> None:
    page.goto(link({"text": TEXT, "model": model, "view": view} | more))
    settled(page)


@pytest.mark.parametrize("model", STATIONS)
def test_stations_are_offered_where_their_roles_are(page: "Page", model: str) -> None:
    show(page, model, "tokens")
    assert offered(page) == STATIONS[model]
    for view in [*STATIONS[model], *TOOLS]:
        if view in TOOLS:
            open_tools(page)
            page.get_by_test_id(f"tool-{view}").click()
        else:
            to_station(page, view)
        settled(page)
        expect(page.locator(f'[data-station="{view}"]')).to_be_visible()
        assert flaws(page) == []


def test_heads_are_drawn_from_the_overview_or_the_panel_says_that_there_is_none(page: "Page") -> None:
    for model, drawn in (("toy-gated-mean", True), ("toy-hidden-mean", False)):
        show(page, model, "computation", computation__step="attn.role-mean")
        expect(page.get_by_test_id("no-overview")).to_have_count(0 if drawn else 1)
        all_heads(page)
        heads = page.get_by_test_id("head").all()
        inked = [head.evaluate("c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(Boolean)")
                 for head in heads]  # fmt: skip
        assert inked == [drawn] * len(heads)


def test_a_role_of_its_own_is_a_step_of_the_walk_with_the_equation_that_is_stated(page: "Page") -> None:
    show(page, "toy-gated-mean", "computation", computation__step="attn.role-mean")
    expect(page.get_by_test_id("computation-formula")).to_contain_text("mean")
    check = page.get_by_test_id("computation-sum").get_by_test_id("check")
    ours, model = (float(check.get_attribute(f"data-{name}") or "nan") for name in ("ours", "model"))
    assert ours == pytest.approx(model, abs=1e-5)
    assert ours != 0


@pytest.mark.fresh  # only while the page loads is a link kept inside what its model has
def test_a_link_to_a_station_that_a_mechanism_lacks_opens_another(page: "Page") -> None:
    show(page, "toy-hidden-mean", "attention", attention__step="scaled", layer=1, head=1)
    tab = page.locator('[role="tab"][aria-selected="true"]')
    expect(tab).to_be_visible()
    assert tab.get_attribute("data-view") in STATIONS["toy-hidden-mean"]


def test_a_link_reproduces_the_picture(page: "Page") -> None:
    show(page, "toy-gated-mean", "attention", layer=1, head=1, query=4, key=2)
    said = page.locator('[data-station="attention"]').get_by_test_id("readout")
    before = said.inner_text()
    assert before
    page.reload()
    expect(said).to_have_text(before)
    expect(page.get_by_test_id("opened-title")).to_have_text("Head 1·1")


@pytest.mark.parametrize("model", STATIONS)
def test_a_saved_trace_says_by_itself_what_its_tensors_are(page: "Page", model: str, tmp_path: Path) -> None:
    show(page, model, "computation", computation__step="attn.role-mean")
    open_more(page)
    page.get_by_test_id("export").click()
    with page.expect_download() as saved:
        page.get_by_test_id("export-safetensors").click()
    file = tmp_path / "toy.safetensors"
    saved.value.save_as(file)
    assert metadata(file)["description"]["attentions"][0]["kind"] == model.removeprefix("toy-")
    number = page.get_by_test_id("computation-sum").get_attribute("data-value")

    page.get_by_test_id("file-input").set_input_files(file)
    expect(page.get_by_test_id("file-banner")).to_contain_text(model)
    settled(page)
    assert page.get_by_test_id("computation-sum").get_attribute("data-value") == number
    assert STATIONS[model] == offered(page)
    open_tools(page)
    for view in TOOLS:
        expect(page.get_by_test_id(f"tool-{view}")).to_be_visible()


def test_its_numbers_are_taken_away_as_csv(page: "Page") -> None:
    show(page, "toy-gated-mean", "attention")
    open_more(page)
    page.get_by_test_id("export").click()
    with page.expect_download() as saved:
        page.get_by_test_id("export-csv").first.click()
    rows = Path(saved.value.path()).read_text("utf-8-sig").splitlines()
    shares = [float(cell) for cell in rows[-1].split(",")[1:]]
    assert sum(shares) == pytest.approx(1, abs=1e-5)


def metadata(file: Path) -> dict:  # type: ignore[type-arg]
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["chumoku"])  # type: ignore[no-any-return]


DRAWN = """async (canvas) => {
  const { sceneOf } = await import('/static/river/board.js');
  const { bands: [{ rows, labelled, columns }], squares, more, width, height } = sceneOf(canvas);
  const start = performance.now();
  document.querySelector('[data-testid=river-scrub]').value = 500;
  document.querySelector('[data-testid=river-scrub]').dispatchEvent(new Event('input'));
  const frame = performance.now() - start;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const labels = [...labelled].map(({ y }) => y).sort((a, b) => a - b);
  const gaps = labels.slice(1).map((y, i) => y - labels[i]);
  return {
    frame,
    layers: columns.length,
    tokens: rows.at(-1).to,
    heads: squares.length,
    left: more.map(({ n }) => n),
    smallest: Math.min(...squares.map((one) => Math.min(one.width, one.height))),
    outside: squares.filter((one) => one.x < 0 || one.x + one.width > width || one.y + one.height > height).length,
    apart: Math.min(...gaps),
    ink: data.filter((part, i) => i % 4 === 3 && part > 0).length,
  };
}"""


def test_a_river_of_twelve_layers_of_twelve_heads_and_256_tokens_is_readable(page: "Page") -> None:
    page.goto(f"/?view=model&model=toy-tall&text={'abcdefgh' * 32}")
    page.wait_for_selector('body[data-state="ready"]')
    drawn = page.get_by_test_id("river").evaluate(DRAWN)
    assert (drawn["layers"], drawn["tokens"]) == (12, 256)
    assert drawn["heads"] == 12 * 3  # of each layer the three most decisive
    assert drawn["left"] == [9] * 12
    assert drawn["smallest"] >= 40  # with its number beside it
    assert drawn["outside"] == 0
    assert drawn["apart"] >= 13, "of 12 pixels"
    assert drawn["ink"] > 20_000
    assert drawn["frame"] < 1000  # one moment of Watch, on a busy machine; it takes about 20 ms


def test_a_translator_of_one_direction_says_what_to_type(page: "Page") -> None:
    page.goto("/?" + urlencode({"model": "toy-translator", "text": "猫が好きです。"}))
    settled(page)
    note = page.get_by_test_id("notes")
    expect(note).to_have_text("This model translates from English into Japanese. Type a sentence in English.")
    assert page.get_by_test_id("target-switch").is_hidden()
