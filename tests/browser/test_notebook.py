"""An executed notebook in the browser: every picture is drawn, and nothing is requested."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import expect

import chumoku
from tests.browser.helpers import all_heads

ROOT = Path(__file__).parent.parent.parent

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Frame, Page

TEXT = "Lily had a red ball. Mom found the red"
CELLS = [
    "import chumoku\ntrace = chumoku.load('stories-gpt').trace('Lily had a red ball. Mom found the red')\ntrace",
    "chumoku.show(trace)",
    "chumoku.show(trace, view='weights', layer=5, head=5)",
    "minis = [chumoku.load(name).trace(trace.text) for name in ('mini-softmax', 'mini-relative')]",
    "chumoku.compare(*minis)",
]
Open = Callable[..., "Page"]


@pytest.fixture
def opened(without_network: "BrowserContext") -> Iterator[Open]:
    """Opens a file in a browser that has no network: `opened(path, reduced_motion="no-preference")`. Errors, warnings
    and requests fail the test."""
    page = without_network.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("request", lambda one: None if one.url.startswith(("file:", "data:")) else wrong.append(one.url))

    def open_file(path: Path, **media: Any) -> "Page":
        page.emulate_media(**media)
        page.goto(path.as_uri())
        return page

    yield open_file
    page.close()
    assert wrong == []


def drawn(frame: "Page | Frame") -> None:
    frame.wait_for_selector("body.alone[data-state=ready]")


def saved(picture: Any, folder: Path) -> Path:
    path: Path = picture.save(folder / "picture.html")
    return path


@pytest.fixture(scope="module")
def trace() -> chumoku.Trace:
    return chumoku.load("stories-gpt").trace(TEXT)


def test_an_executed_notebook_shows_its_pictures(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a `model.py` of its own, which shadows nothing; each picture in a frame that may only run its scripts."""
    (tmp_path / "model.py").write_text("raise RuntimeError('the notebook’s own')", "utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    (tmp_path / "notebook.html").write_text(f"<!doctype html><meta charset=utf-8>{body}", "utf-8")

    page = opened(tmp_path / "notebook.html")
    frames = page.locator("iframe")
    assert frames.count() == 3
    assert {frame.get_attribute("sandbox") for frame in frames.all()} == {"allow-scripts"}
    for frame in frames.all():
        frame.scroll_into_view_if_needed()
        inner = frame.element_handle().content_frame()
        assert inner is not None
        drawn(inner)
    says = page.frame_locator("iframe").first.get_by_test_id("river-says")
    expect(says).to_contain_text("ball")
    expect(page.get_by_text("<chumoku trace of stories-gpt: 10 tokens, 119 tensors>")).to_be_visible()


def test_the_river_cuts_its_most_decisive_looks_without_a_server(
    opened: Open, trace: chumoku.Trace, tmp_path: Path
) -> None:
    page = opened(saved(chumoku.show(trace), tmp_path))
    drawn(page)
    says, legend = page.get_by_test_id("river-says"), page.get_by_test_id("river-legend")
    expect(legend).to_contain_text("darker: matters more")
    expect(legend).not_to_contain_text("Click")  # other lines would need the model
    before = says.inner_text()
    page.get_by_test_id("cut-looks").click()
    expect(says).to_contain_text("cannot attend to ball")
    promised = before.rsplit("falls to ", 1)[1]
    expect(says).to_contain_text(f"to {promised}")  # what was measured is what the saved run says
    drawn(page)
    expect(legend.get_by_text("Thicker: more information passed on to red₂.")).to_be_visible()
    page.get_by_test_id("river-restore").click()
    expect(says).to_have_text(before)


def test_an_open_head_explains_a_cell_and_opens_another(opened: Open, trace: chumoku.Trace, tmp_path: Path) -> None:
    picture = chumoku.show(trace, "weights", layer=5, head=5, query=9, key=4)
    page = opened(saved(picture, tmp_path), reduced_motion="no-preference")
    assert page.evaluate("matchMedia('(prefers-reduced-motion: no-preference)').matches")
    drawn(page)
    weight = float(trace["layers.5.attn.pattern"][5, 9, 4])
    expect(page.get_by_test_id("opened-title")).to_have_text("Head 5·5")
    expect(page.locator(".readout").first).to_contain_text(f"{weight:.4f}")
    expect(page.locator(".inspector")).to_contain_text(f"the model’s own value: {weight:.4f} ✓")
    all_heads(page)
    page.locator('[data-testid="head"][data-layer="3"][data-head="2"]').click()
    expect(page.get_by_test_id("opened-title")).to_have_text("Head 3·2")
    drawn(page)
    expect(page.get_by_test_id("compare-difference")).to_be_hidden()  # it would need another run


@pytest.mark.parametrize("view", ["scores", "lines", "qkv", "av"])
def test_each_view_is_drawn(opened: Open, trace: chumoku.Trace, view: str, tmp_path: Path) -> None:
    page = opened(saved(chumoku.show(trace, view, layer=2, head=1), tmp_path))
    drawn(page)
    expect(page.locator(".opened")).to_contain_text("Head 2·1")
    assert page.locator(".panel-error").count() == 0


@pytest.mark.parametrize(
    ("model", "text"),
    [("translate-enja", "I like tea."), ("sentiment-encoder", "a warm and funny film"), ("mini-aft-full", TEXT)],
)
@pytest.mark.parametrize("view", ["river", "weights"])
def test_every_family_is_drawn(opened: Open, model: str, text: str, view: str, tmp_path: Path) -> None:
    page = opened(saved(chumoku.show(chumoku.load(model).trace(text), view), tmp_path))
    drawn(page)
    assert page.locator(".panel-error").count() == 0
    assert page.locator(".banner:not([hidden])").count() == 0


def test_a_picture_is_shown_with_its_patches(opened: Open, tmp_path: Path) -> None:
    rows = [[0, 0, 8, 16, 16, 8, 0, 0]] * 8
    page = opened(saved(chumoku.show(chumoku.load("digits-vit").trace(pixels=rows)), tmp_path))
    drawn(page)
    expect(page.get_by_test_id("river-says")).to_contain_text("%")
    assert page.locator(".panel-error").count() == 0


def test_two_runs_stand_side_by_side_under_their_names(opened: Open, trace: chumoku.Trace, tmp_path: Path) -> None:
    edit = [{"kind": "ablate", "where": {"layer": 5, "head": 5}}]
    picture = chumoku.compare(trace, trace.model.trace(TEXT, interventions=edit), names=("as it is", "without 5.5"))
    page = opened(saved(picture, tmp_path))
    drawn(page)
    says = page.get_by_test_id("river-says")
    expect(says).to_have_count(2)
    first, second = (float(text.split("(")[1].split("\u202f")[0].split("%")[0]) for text in says.all_inner_texts())
    assert second < first  # this head looks for “ball”, others do so, too
    names = page.locator(".say").evaluate_all("all => all.map((one) => getComputedStyle(one, '::before').content)")
    assert names == ['"as it is"', '"without 5.5"']


def test_a_tree_of_texts_is_walked_folded_and_compared(opened: Open, tmp_path: Path) -> None:
    gpt = chumoku.load("stories-gpt")
    tree = chumoku.tree(gpt, "Once upon a time there was").write(5, ways=3, seed=20)
    page = opened(saved(chumoku.show(tree), tmp_path))
    drawn(page)
    nodes, texts = page.get_by_test_id("tree-node"), page.get_by_test_id("document-text")
    expect(nodes).to_have_count(len(tree.nodes))
    for branch in tree.branches:
        ids = ".".join(map(str, branch.ids))
        page.locator(f'[data-testid=tree-node][data-text="{ids}"]').click()
        expect(texts).to_have_attribute("data-text", ids)
        expect(texts.locator("small").last).to_have_text(re.compile(f"^{100 * branch.probabilities[-1]:.0f}"))
    page.keyboard.press("ArrowLeft")
    expect(texts).to_have_attribute("data-text", ".".join(map(str, tree.branches[-1].ids[:-1])))
    ends = page.get_by_test_id("tree-end")
    expect(ends).to_have_count(len(tree.branches))
    ends.nth(0).click()
    ends.nth(1).click()
    expect(texts).to_have_count(2)
    page.locator("[data-testid=tree-node].root").click()  # what is shown is never hidden
    page.keyboard.press("-")
    expect(page.get_by_test_id("tree-unfold")).to_have_count(1)


def test_in_japanese_and_dark(opened: Open, trace: chumoku.Trace, tmp_path: Path) -> None:
    page = opened(saved(chumoku.show(trace, lang="ja", theme="dark"), tmp_path))
    drawn(page)
    expect(page.get_by_test_id("river-says")).to_contain_text("の次の予測は")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(int(part) for part in ground[4:-1].split(",")) < 200
