"""Export and import: every file is saved to disk, and its numbers are the Python trace's."""

import base64
import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
import safetensors.numpy
from playwright.sync_api import expect

from tests.browser.helpers import all_heads, link, open_more, serious, serious_in_both_themes, settled, to_station
from tests.browser.shared_page import PATIENCE_MS

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

    from chumoku.model.checkpoint import Checkpoint
    from chumoku.model.trace import Trace

TEXT = "The cat sat on the mat."
MASKED = {"attention__step": "masked"}
HOSTILE = '=1+1 <script>alert(1)</script>, "a" & b'
LAYER, HEAD = 2, 5
AT = f"layers.{LAYER}.attn"
SVG = "{http://www.w3.org/2000/svg}"

pytestmark = pytest.mark.warm


@pytest.fixture(scope="module")
def checkpoint() -> "Checkpoint":
    from chumoku.model import checkpoint

    return checkpoint.load(checkpoint.ZOO / "stories-gpt")


@pytest.fixture(scope="module")
def traced(checkpoint: "Checkpoint") -> "Trace":
    return run(checkpoint, TEXT)


def run(checkpoint: "Checkpoint", text: str) -> "Trace":
    from chumoku.model.taps import tap_dims
    from chumoku.model.trace import trace

    return trace(checkpoint, checkpoint.tokenizer.encode(text), list(tap_dims(checkpoint.model)))


def numbers(traced: "Trace", name: str) -> np.ndarray:
    """One head's tensor."""
    return traced.tensors[f"{AT}.{name}"][HEAD].numpy()


def show(page: "Page", text: str = TEXT, **query: object) -> None:
    page.goto(link({"text": text, "layer": LAYER, "head": HEAD, **query}))
    settled(page)


def save(page: "Page", item: str, folder: Path) -> Path:
    """Choose an item of the export menu; returns the downloaded file."""
    panel = page.get_by_test_id("export-panel")
    if panel.is_hidden():
        page.wait_for_selector(".station:not([hidden]) :is(.overlay, .main-svg, .token-table)")
        open_more(page)
        page.get_by_test_id("export").click()
    with page.expect_download() as download:
        page.get_by_test_id(f"export-{item}").first.click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    expect(page.get_by_test_id("export-said")).to_contain_text(path.name)
    return path


def drawn(page: "Page") -> list[list[float]]:
    """The numbers of the pictures in the open station, as the page has them."""
    pictures: list[list[float]] = page.evaluate("""async () => {
      const { picturesIn } = await import('/static/chart/pictures.js');
      const pictures = picturesIn(document.querySelector('[data-panel=opened] > .station:not([hidden])'));
      return pictures.map(({ content }) => [...content.values]);
    }""")
    return pictures


def read_csv(path: Path) -> list[list[str]]:
    text = path.read_bytes().decode("utf-8-sig")
    assert "\r\n" in text
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def matrix_of(rows: list[list[str]]) -> np.ndarray:
    return np.array([row[1:] for row in rows[1:]], dtype=np.float32)


# --- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "view", "state"),
    [("pattern", "weights", {}), ("scores", "scores", {"attention__step": "scaled"})],
)
def test_csv_is_the_tensor(
    page: "Page", traced: "Trace", tmp_path: Path, name: str, view: str, state: dict[str, str]
) -> None:
    show(page, **state)
    path = save(page, "csv", tmp_path)
    assert path.name == f"chumoku-stories-gpt-layer{LAYER}-head{HEAD}-{view}.csv"
    rows = read_csv(path)
    labels = page.get_by_test_id("token").locator(".text").all_text_contents()
    assert rows[0][1:] == labels
    assert [row[0] for row in rows[1:]] == labels
    written = matrix_of(rows)
    assert written.flatten().tolist() == drawn(page)[0], "to the last bit"
    np.testing.assert_allclose(written, numbers(traced, name).astype(np.float32), rtol=0, atol=1e-5)


def test_csv_of_the_masked_scores_says_what_softmax_gets(page: "Page", traced: "Trace", tmp_path: Path) -> None:
    show(page, **MASKED)
    path = save(page, "csv", tmp_path)
    assert path.name == f"chumoku-stories-gpt-layer{LAYER}-head{HEAD}-masked.csv"
    written, mask = matrix_of(read_csv(path)), numbers(traced, "mask")
    expected = np.where(mask == 0, numbers(traced, "scores"), -np.inf)
    np.testing.assert_allclose(written, expected, rtol=0, atol=1e-5)


def test_csv_of_q_k_and_v(page: "Page", traced: "Trace", tmp_path: Path) -> None:
    show(page, view="qkv")
    page.wait_for_function("() => document.querySelectorAll('.third .overlay').length >= 3")
    open_more(page)
    page.get_by_test_id("export").click()
    items = page.get_by_test_id("export-csv")
    assert items.all_inner_texts() == ["CSV: Q", "CSV: K", "CSV: V"]
    for i, name in enumerate("qkv"):
        with page.expect_download() as download:
            items.nth(i).click()
        download.value.save_as(tmp_path / name)
        written = matrix_of(read_csv(tmp_path / name))
        assert written.flatten().tolist() == drawn(page)[i], "to the last bit"
        np.testing.assert_allclose(written, numbers(traced, name), rtol=0, atol=1e-5)


def test_csv_of_hostile_tokens(page: "Page", tmp_path: Path) -> None:
    show(page, HOSTILE)
    path = save(page, "csv", tmp_path)
    rows = read_csv(path)
    labels = page.get_by_test_id("token").locator(".text").all_text_contents()
    assert labels[0].startswith("=")
    assert rows[0][1] == f"'{labels[0]}", "a spreadsheet must not read it as a formula"
    assert not any(re.match(r"[=+\-@]", cell) for cell in rows[0] + [row[0] for row in rows])
    assert [cell.removeprefix("'") for cell in rows[0][1:]] == labels


@pytest.mark.parametrize("suffix", ["safetensors", "npz"])
def test_trace_file_and_its_six_lines(
    page: "Page", checkpoint: "Checkpoint", traced: "Trace", tmp_path: Path, suffix: str
) -> None:
    show(page)
    path = save(page, suffix, tmp_path)
    code = page.get_by_test_id("snippet").inner_text()
    assert len(code.strip().splitlines()) == 6
    arrays = safetensors.numpy.load_file(path) if suffix == "safetensors" else dict(np.load(path))
    assert traced.tensors.keys() == arrays.keys() - {"__metadata__"}
    for name, tensor in traced.tensors.items():
        np.testing.assert_allclose(arrays[name], tensor.numpy(), rtol=0, atol=1e-5)

    check = "import numpy\nnumpy.save('seen.npy', weights)\nassert about['text'] == " + json.dumps(TEXT)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{code}\n{check}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "cat" in done.stdout
    np.testing.assert_allclose(np.load(tmp_path / "seen.npy"), numbers(traced, "pattern"), rtol=0, atol=1e-6)


def test_snippet_is_copied(open_page: "Callable[..., Page]") -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    show(page)
    open_more(page)
    page.get_by_test_id("export").click()
    page.get_by_test_id("copy-snippet").click()
    expect(page.get_by_test_id("copy-snippet")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.get_by_test_id("snippet").inner_text()


# --- pictures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state", [{"view": "qkv"}, MASKED, {"view": "prediction", "prediction.all": "on"}, {"view": "tokens"}]
)
def test_png_and_svg(page: "Page", tmp_path: Path, state: dict[str, str]) -> None:
    show(page, HOSTILE, **state)
    svg = save(page, "svg", tmp_path).read_text("utf-8")
    assert "<script" not in svg
    assert "script&gt;" in svg
    assert "stories-gpt" in svg
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [node for node in root.iter() if "script" in node.tag or {"onerror", "onload"} & node.attrib.keys()]
    if state == MASKED:
        assert svg.count('stroke-width="1.2"') == 1, "the hatching is in it"
        assert "Head 2·5" in svg
    if state.get("view") == "prediction":
        page.keyboard.press("Escape")
        with page.expect_download() as download:
            page.locator("[data-title='Save as SVG']").locator("visible=true").first.click(force=True)
        download.value.save_as(tmp_path / "own.svg")
        own = (tmp_path / "own.svg").read_text("utf-8")
        assert "stories-gpt" in own, "the picture's own button gives it the same caption"
    png = save(page, "png", tmp_path).read_bytes()
    assert png.startswith(b"\x89PNG")
    assert b"Description\0\0\0\0\0" in png[:200], "its words are in the file, too"
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    size = re.search(r'<svg[^>]* width="(\d+)" height="(\d+)"', svg)
    assert size
    assert (width, height) == (2 * int(size[1]), 2 * int(size[2]))


def test_the_planes_of_rotary_positions_are_saved_with_their_numbers(page: "Page", tmp_path: Path) -> None:
    """As they are drawn, without the page's styles, with the curve of longer texts; turned as the model turns them."""
    show(page, model="mini-rotary", view="rotation", layer=1, head=2, query=5, key=2)
    open_more(page)
    page.get_by_test_id("export").click()
    svg = save(page, "svg", tmp_path).read_text("utf-8")
    root = ElementTree.fromstring(svg)
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [f"{i}, {i + 16}" for i in range(16)] == [text for text in texts if text and re.fullmatch(r"\d+, \d+", text)]
    arrows = [
        node for node in root.iter("{http://www.w3.org/2000/svg}line") if "dasharray: 3px, 2px" in node.get("style", "")
    ]
    assert len(arrows) == 32, "dashed before the rotation: a query and a key in each plane"
    assert len({re.search("stroke: ([^;]+);", node.get("style", ""))[1] for node in arrows}) == 2  # type: ignore[index]
    assert "currentcolor" not in svg
    assert save(page, "png", tmp_path).read_bytes().startswith(b"\x89PNG")
    saved = save(page, "html", tmp_path).read_text("utf-8")
    assert saved.count('class="plot"') == saved.count('class="plot" id="picture-') == 2
    assert len(saved) < 500_000, "without plotly.js"

    from chumoku.model import checkpoint
    from chumoku.model.trace import trace

    rotary = checkpoint.load(checkpoint.ZOO / "mini-rotary")
    names = [f"layers.1.attn.{name}" for name in ("q", "q_rotated", "k", "k_rotated")]
    q, turned_q, k, turned_k = trace(rotary, rotary.tokenizer.encode(TEXT), names).tensors.values()
    table = matrix_of(read_csv(save(page, "csv", tmp_path)))
    for i in range(16):
        pairs = [x[2, at, [i, i + 16]].numpy() for x, at in ((q, 5), (turned_q, 5), (k, 2), (turned_k, 2))]
        angles = [at * 10_000 ** (-2 * i / 32) for at in (5, 2)]
        assert table[i] == pytest.approx(np.concatenate([[angles[0]], *pairs[:2], [angles[1]], *pairs[2:]]), abs=1e-5)


def test_the_map_of_all_ffn_units_is_saved(page: "Page", checkpoint: "Checkpoint", tmp_path: Path) -> None:
    """As an image, for its cells are smaller than a pixel; beside the page of 64 units, with its own numbers."""
    from chumoku.model.trace import trace

    show(page, view="ffn", unit_id=100)
    page.locator("[data-station=ffn] [data-part=page] > summary").click()
    page.wait_for_selector("[data-matrix=ffn-post] .overlay")
    svg = save(page, "svg", tmp_path).read_text("utf-8")
    names = [node.text for node in ElementTree.fromstring(svg).iter(SVG + "text")]
    assert {"All 1,024 units", f"layers.{LAYER}.ffn.post"} <= set(names)
    assert svg.count("<image") == 1
    assert len(re.findall('class="band"', svg)) == 1, "the units below are framed"
    rows = read_csv(save(page, "csv", tmp_path))
    assert rows[0][1:] == [str(unit) for unit in range(1024)]
    name = f"layers.{LAYER}.ffn.post"
    expected = trace(checkpoint, checkpoint.tokenizer.encode(TEXT), [name]).tensors[name]
    np.testing.assert_allclose(matrix_of(rows), expected.numpy(), rtol=0, atol=1e-5)


def test_the_matrices_of_the_walk_are_saved(page: "Page", traced: "Trace", tmp_path: Path) -> None:
    """Q Kᵀ = QKᵀ as it is drawn, with its signs and the row and column of the chosen element, and each as numbers."""
    show(page, view="computation", query=4, key=2, **{"computation.step": "attn.scores", "computation.way": "all"})
    page.wait_for_selector("[data-testid=computation-result] canvas")
    open_more(page)
    page.get_by_test_id("export").click()
    items = page.get_by_test_id("export-csv")
    expect(items).to_have_text(["CSV: Q_5", "CSV: K_5ᵀ", "CSV: Q_5K_5ᵀ"])
    q, k = numbers(traced, "q"), numbers(traced, "k")
    for i, expected in enumerate((q, k.T, q @ k.T)):
        with page.expect_download() as download:
            items.nth(i).click()
        assert download.value.suggested_filename == f"chumoku-stories-gpt-layer2-head5-scores-{'abc'[i]}.csv"
        download.value.save_as(tmp_path / str(i))
        np.testing.assert_allclose(matrix_of(read_csv(tmp_path / str(i))), expected, rtol=1e-4, atol=1e-3)
    with page.expect_download() as download:
        page.get_by_test_id("export-svg").first.click()
    assert download.value.suggested_filename == "chumoku-stories-gpt-layer2-head5-attn.scores.svg"
    download.value.save_as(tmp_path / "svg")
    drawn = ElementTree.parse(tmp_path / "svg").getroot()
    texts = [node.text for node in drawn.iter(SVG + "text")]
    assert "Head 2·5 · Q_5 × K_5ᵀ = Q_5K_5ᵀ" in texts
    assert {"Q_5", "× K_5ᵀ", "= Q_5K_5ᵀ"} <= set(texts)
    sizes = [(len(q), q.shape[1]), (k.shape[1], len(k)), (len(q), len(k))]
    cells = [sum(node.get("class") == "cell" for node in one.iter()) for one in pictures(drawn)]
    assert cells == [rows * cols for rows, cols in sizes]
    lit = [next(node for node in one.iter() if node.get("class") == "lit") for one in pictures(drawn)]
    [row, column, element] = [tuple(float(node.get(side) or 0) for side in ("width", "height")) for node in lit]
    assert row[0] == pytest.approx(32 * element[0])
    assert column[1] == pytest.approx(32 * element[1])
    assert save(page, "png", tmp_path).read_bytes().startswith(b"\x89PNG")


def pictures(drawn: ElementTree.Element) -> list[ElementTree.Element]:
    return [node for node in drawn.iter(SVG + "g") if node.get("class") == "matrix"]


def test_what_softmax_gets_in_the_walk_is_minus_infinity_where_it_is_forbidden(
    page: "Page", traced: "Trace", tmp_path: Path
) -> None:
    show(page, view="computation", **{"computation.step": "attn.softmax"})
    page.wait_for_selector("[data-testid=computation-result] canvas")
    open_more(page)
    page.get_by_test_id("export").click()
    written = []
    for i in range(2):
        with page.expect_download() as download:
            page.get_by_test_id("export-csv").nth(i).click()
        download.value.save_as(tmp_path / str(i))
        written.append(matrix_of(read_csv(tmp_path / str(i))))
    scores = np.where(numbers(traced, "mask") == 0, numbers(traced, "scores"), -np.inf)
    np.testing.assert_allclose(written[0], scores, rtol=0, atol=1e-5)
    np.testing.assert_allclose(written[1], numbers(traced, "pattern"), rtol=0, atol=1e-5)


def test_png_has_hatching_and_colours(page: "Page", tmp_path: Path) -> None:
    """The first cell, with weight 1, has the ramp's last colour; forbidden cells have lines."""
    show(page)
    png = save(page, "png", tmp_path).read_bytes()
    full = page.evaluate("async () => (await import('/static/chart/theme.js')).rampColour('weights', 1)")
    hatch = [int("d3cebf"[i : i + 2], 16) for i in (0, 2, 4)]
    weight_one, hatched = page.evaluate(
        """async ([data, full, hatch]) => {
          const image = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]));
          const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
          context.drawImage(image, 0, 0);
          const { data: rgba } = context.getImageData(0, 0, image.width, image.height);
          const near = (at, colour, off) => colour.every((value, i) => Math.abs(rgba[at + i] - value) <= off);
          const counts = [0, 0];
          for (let at = 0; at < rgba.length; at += 4) {
            counts[0] += near(at, [...full].slice(0, 3), 0);
            counts[1] += near(at, hatch, 2);
          }
          return counts;
        }""",
        [base64.b64encode(png).decode(), full, hatch],
    )
    assert weight_one > 1000
    assert hatched > 1000


def test_overview_png_and_svg(page: "Page", tmp_path: Path) -> None:
    show(page)
    svg = save(page, "heads-svg", tmp_path).read_text("utf-8")
    assert re.findall(r"<text[^>]*>(\d)</text>", svg) == [*map(str, range(8)), *map(str, range(6))]
    assert "<image" in svg
    png = save(page, "heads-png", tmp_path).read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000


def test_the_river_is_saved_as_it_is_drawn(page: "Page", tmp_path: Path) -> None:
    # Effects arrive one by one, and a line that turns out to matter joins the lines that are drawn one by one.
    # The sentence offers what to hide once all are there.
    page.goto("/?view=model&text=" + TEXT)
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("cut-looks").wait_for()
    open_more(page)
    page.get_by_test_id("export").click()
    svg = save(page, "river-svg", tmp_path).read_text("utf-8")
    picture = ElementTree.fromstring(svg)
    texts = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"layer 0", "layer 5", "cat", "sat", "mat"} <= set(texts)
    curves = [
        node
        for node in picture.iter("{http://www.w3.org/2000/svg}path")
        if re.fullmatch(r"M[^MC]*C[^MC]*", node.get("d", ""))
    ]
    shown = page.get_by_test_id("river").evaluate("""async (canvas) => {
      const { lines } = (await import('/static/river/board.js')).sceneOf(canvas);
      return lines.filter(({ own, shown }) => own || shown).length;
    }""")
    assert len(curves) == shown, "a path for each line that is drawn one by one"
    png = save(page, "river-png", tmp_path).read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 50_000


# --- a file that opens without the app ------------------------------------------------------------------------------


@pytest.fixture
def offline(without_network: "BrowserContext") -> "Iterator[Callable[[Path], Page]]":
    """Open a saved HTML file without a network."""
    asked: list[str] = []
    said: list[str] = []
    page = without_network.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text))

    def offline(path: Path, **media: Any) -> "Page":
        page.emulate_media(**media)
        page.goto(path.as_uri())
        page.wait_for_function("() => [...document.querySelectorAll('.plot')].every((plot) => plot.dataset.drawn)")
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
        assert len([url for url in asked if url.startswith("file:")]) == 1
        assert said == []
        return page

    yield offline
    page.close()
    assert said == []


@pytest.mark.parametrize(
    ("view", "names", "motion"),
    [("attention", ["pattern"], "reduce"), ("qkv", ["q", "k", "v"], "no-preference")],
)
def test_offline_html(
    page: "Page", offline: Any, traced: "Trace", tmp_path: Path, view: str, names: list[str], motion: str
) -> None:
    show(page, view=view)
    path = save(page, "html", tmp_path)
    live, link = drawn(page), page.url
    saved = offline(path, reduced_motion=motion)
    assert saved.evaluate("motion => matchMedia(`(prefers-reduced-motion: ${motion})`).matches", motion)
    for i, name in enumerate(names):
        cells = saved.evaluate("i => JSON.parse(document.getElementById('data').textContent).pictures[i].values", i)
        expected, values = numbers(traced, name).astype(float), live[i]
        if name == "pattern":  # forbidden cells are hatched
            n = len(expected)
            values = [x if at % n <= at // n else None for at, x in enumerate(values)]
            expected[np.triu_indices(n, 1)] = np.nan
        assert cells == values, "to the last bit"
        np.testing.assert_allclose(np.array(cells, dtype=float).reshape(expected.shape), expected, rtol=0, atol=1e-5)
        painted = saved.locator(f"#picture-{i} .cells .cell").count()
        assert painted == np.isfinite(expected).sum(), "one rectangle for each allowed cell"
    assert saved.locator("math").count() == len(names)
    assert saved.get_by_text("stories-gpt").count() == 1
    assert saved.locator("a").get_attribute("href") == link
    assert path.stat().st_size < 1_000_000, "without a library"
    plot = saved.locator(".plot").first
    box = plot.locator(".cells").bounding_box() or {}
    labels = plot.locator(".row-label").count()
    saved.mouse.move(box["x"] + 10, box["y"] + 10)
    expect(plot.locator(".hovertext")).to_be_visible()
    said = plot.locator(".hovertext").inner_text().replace("\u2212", "-").split()[-1]
    assert float(said) == pytest.approx(live[0][0], rel=1e-3), "the text of the first cell"
    saved.mouse.down()
    saved.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    saved.mouse.up()
    assert plot.locator(".row-label").count() < labels
    saved.mouse.dblclick(box["x"] + 10, box["y"] + 10)
    assert plot.locator(".row-label").count() == labels


def test_offline_html_keeps_markup_as_text(page: "Page", offline: Any, tmp_path: Path) -> None:
    show(page, HOSTILE + " </script><img src=x onerror=alert(1)>")
    path = save(page, "html", tmp_path)
    saved = offline(path)
    assert saved.locator(".sentence").inner_text() == HOSTILE + " </script><img src=x onerror=alert(1)>"
    assert saved.locator("img[onerror], main script").count() == 0
    assert path.read_text("utf-8").count("<script") == 2


def test_where_the_predictions_picture_is_folded_the_menu_says_so(page: "Page") -> None:
    show(page, view="prediction")
    open_more(page)
    page.get_by_test_id("export").click()
    expect(page.get_by_text("Open all tokens: their bars can be saved.")).to_be_visible()
    expect(page.get_by_test_id("export-png")).to_have_count(0)


def test_offline_html_of_the_prediction(page: "Page", offline: Any, tmp_path: Path) -> None:
    show(page, view="prediction", **{"prediction.axis": "linear"})
    before = page.get_by_test_id("candidate").evaluate_all("rows => rows.map((row) => Number(row.dataset.before))")
    saved = offline(save(page, "html", tmp_path))
    assert saved.evaluate("() => document.querySelector('.plot').data[0].x")[: len(before)] == before


# --- opening --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace that `chumoku trace` wrote."""
    from typer.testing import CliRunner

    from chumoku.app.cli import cli

    path = tmp_path_factory.mktemp("trace") / "cat.safetensors"
    result = CliRunner().invoke(cli, ["trace", TEXT, "-o", str(path)])
    assert result.exit_code == 0, result.output
    return path


def open_file(page: "Page", path: Path) -> None:
    page.get_by_test_id("file-input").set_input_files(path)
    page.wait_for_function("name => (document.body.dataset.traced ?? '').includes(name)", arg=path.name)
    settled(page)


def seen(page: "Page") -> dict[str, Any]:
    """Every number that the page shows of a trace."""
    out: dict[str, Any] = {"numbers": []}
    to_station(page, "attention")
    for step in ("qk", "scaled", "masked", "weights", "qkv"):
        if step == "qkv":
            to_station(page, "qkv")
        else:
            page.get_by_test_id(f"step-{step}").click()
            page.wait_for_selector(f"[data-station=attention][data-step={step}] .matrix-plot .overlay")
        settled(page)
        settled(page)
        out["numbers"] += drawn(page)
    all_heads(page)
    out["heads"] = page.get_by_test_id("head").evaluate_all(
        """heads => heads.map((head) =>
          [...head.getContext('2d').getImageData(0, 0, head.width, head.height).data])"""
    )
    out["tokens"] = page.get_by_test_id("token").all_text_contents()
    out["candidates"] = page.get_by_test_id("candidate").evaluate_all(
        "rows => rows.map((row) => [row.dataset.id, row.querySelector('.tokname').textContent])"
    )
    out["chances"] = page.get_by_test_id("candidate").evaluate_all(
        "rows => rows.map((row) => [Number(row.dataset.before), Number(row.dataset.after)])"
    )
    return out


def test_an_opened_file_shows_what_the_server_shows(page: "Page", file: Path) -> None:
    show(page, drawer="generation")
    live = seen(page)
    assert len(live["candidates"]) == len(live["chances"]) > 0
    show(page, "Another sentence", drawer="generation")
    open_file(page, file)
    assert "cat.safetensors" in page.get_by_test_id("file-banner").inner_text()
    assert page.get_by_test_id("sentence").input_value() == TEXT
    again = seen(page)
    np.testing.assert_allclose(again.pop("chances"), live.pop("chances"), rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.concatenate(again.pop("numbers")), np.concatenate(live.pop("numbers")), atol=1e-5)
    np.testing.assert_allclose(again.pop("heads"), live.pop("heads"), rtol=0, atol=4)  # one step of 256
    assert again == live
    assert page.evaluate("new URLSearchParams(location.hash.slice(1)).get('text')") == "Another sentence"
    page.get_by_test_id("back-to-live").click()
    page.wait_for_function("() => JSON.parse(document.body.dataset.traced).text === 'Another sentence'")
    settled(page)
    assert page.get_by_test_id("file-banner").is_hidden()
    assert page.get_by_test_id("sentence").input_value() == "Another sentence"
    assert page.get_by_test_id("sentence").is_editable()
    # A file that is opened in a lesson leads back to what the lesson covered.
    page.get_by_test_id("lessons-button").click()
    page.locator('[data-testid="lesson-item"][data-lesson="attention"]').click()
    page.wait_for_function("() => (document.body.dataset.traced ?? '').includes('Tom lost')")
    open_file(page, file)
    page.get_by_test_id("back-to-live").click()
    page.wait_for_function("() => JSON.parse(document.body.dataset.traced).text === 'Another sentence'")


def test_an_exported_file_opens_again(page: "Page", tmp_path: Path) -> None:
    show(page, causal=False)
    live = page.locator('[data-testid="readout"]:visible').first.get_attribute("data-value")
    path = save(page, "safetensors", tmp_path)
    page.goto("/")
    open_file(page, path)
    expect(page.get_by_test_id("all-heads").first).to_be_visible()  # the start page made room
    all_heads(page)
    page.locator(f'[data-testid="head"][data-layer="{LAYER}"][data-head="{HEAD}"]').click()
    settled(page)
    assert page.locator('[data-testid="readout"]:visible').first.get_attribute("data-value") == live


@pytest.mark.fresh  # for Back, and to hear every request
def test_a_file_is_read_only(page: "Page", file: Path) -> None:
    show(page, "Another sentence", drawer="generation")
    asked: list[str] = []
    open_file(page, file)
    page.on("request", lambda request: asked.append(request.url))
    assert not page.get_by_test_id("sentence").is_editable()
    assert page.locator('[data-control="masks"]').evaluate("part => part.inert")
    assert page.locator('[data-panel="generation"]').evaluate("part => part.inert")
    assert page.locator(".locked-note").count() == 1
    assert "Go back to live" in (page.locator('[data-control="masks"]').get_attribute("title") or "")
    for part in (".dock", '[data-control="masks"]', '[data-testid="edit"]'):
        assert page.locator(part).is_hidden(), part
    before = page.evaluate("document.body.dataset.traced")
    page.get_by_test_id("candidate").first.click(force=True)  # it is aria-disabled
    all_heads(page)
    page.locator('[data-testid="head"][data-layer="4"][data-head="1"]').click()
    settled(page)
    assert page.locator('[data-testid="opened-title"]').first.inner_text() == "Head 4·1"
    assert page.evaluate("document.body.dataset.traced") == before
    assert [url for url in asked if "/api/" in url] == []
    page.go_back()
    page.wait_for_function("() => JSON.parse(document.body.dataset.traced).text === 'Another sentence'")


def test_a_dropped_file_opens(page: "Page", file: Path) -> None:
    show(page, "Another sentence", drawer="generation")
    hand = page.evaluate_handle("() => Object.assign(document.createElement('input'), { type: 'file' })").as_element()
    assert hand
    hand.set_input_files(file)  # a real file keeps megabytes out of the browser's protocol
    hand.evaluate("""hand => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([hand.files[0]], 'dropped.safetensors'));
      const event = (name) => new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true });
      document.body.dispatchEvent(event('dragover'));
      document.body.dispatchEvent(event('drop'));
    }""")
    page.wait_for_function("() => document.body.dataset.traced.includes('dropped.safetensors')")
    settled(page)
    assert page.get_by_test_id("drop").is_hidden()


def rewritten(file: Path, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]) -> bytes:
    """The same trace with something changed in it."""
    with safetensors.safe_open(file, "np") as opened:
        meta = json.loads(opened.metadata()["chumoku"])
        arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (no iterator)
    change(meta, arrays)
    return safetensors.numpy.save(arrays, {"chumoku": json.dumps(meta)})


def not_finite(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    arrays[f"{AT}.scores"][0, 0, 0] = np.nan


def other_shape(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    arrays[f"{AT}.q"] = np.ascontiguousarray(arrays[f"{AT}.q"][:, :-1])


def without_a_layer(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    del arrays["layers.1.attn.pattern"]


def test_broken_files_are_refused(page: "Page", file: Path, tmp_path: Path) -> None:
    good = file.read_bytes()
    bad = {
        "picture.png": (b"\x89PNG\r\n\x1a\n" + b"\0" * 200, "not a trace of Chumoku"),
        "empty": (b"", "not a trace of Chumoku"),
        "foreign": (safetensors.numpy.save({"a": np.zeros(3, np.float32)}), "not a trace of Chumoku"),
        "cut": (good[: len(good) // 2], "is incomplete"),
        "json": (good[:8] + b"[" + good[9:], "damaged"),
        "version": (rewritten(file, lambda meta, _: meta.update(version=9)), "version 9"),
        "nan": (rewritten(file, not_finite), f"{AT}.scores holds a number that is not finite"),
        "shapes": (rewritten(file, other_shape), f"{AT}.q"),
        "part": (rewritten(file, without_a_layer), "only some of the layers"),
        "tokens": (rewritten(file, lambda meta, _: meta["tokens"].pop()), "do not match"),
        "many.npz": (b"PK\3\4" + b"\0" * 50, ".npz"),
        "large": (b"\0" * (100 * 10**6 + 1), "larger than 100 MB"),
    }
    show(page)
    before = [page.url, page.evaluate("document.body.dataset.traced"), page.get_by_test_id("sentence").input_value()]
    for name, (content, words) in bad.items():
        (tmp_path / name).write_bytes(content)
        page.get_by_test_id("file-input").set_input_files(tmp_path / name)
        problem = page.get_by_test_id("file-problem")
        expect(problem).to_contain_text(f"“{name}”")
        expect(problem).to_contain_text(words)
    after = [page.url, page.evaluate("document.body.dataset.traced"), page.get_by_test_id("sentence").input_value()]
    assert after == before
    assert page.get_by_test_id("sentence").is_editable()


def without_logits(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    del arrays["logits"]


def from_elsewhere(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    meta.update(model="my own", predictions=[])


def test_a_file_without_logits_says_so(page: "Page", file: Path, tmp_path: Path) -> None:
    path = tmp_path / "silent.safetensors"
    path.write_bytes(rewritten(file, without_logits))
    show(page, drawer="generation")
    open_file(page, path)
    expect(page.locator('[data-panel="next_token"] .panel-lacks')).to_contain_text("no logits")
    assert page.locator('[data-panel="opened"] .panel-lacks').count() == 0


def test_axe_on_an_opened_file_and_a_refused_one(page: "Page", file: Path, tmp_path: Path) -> None:
    show(page)
    open_file(page, file)
    expect(page.get_by_test_id("file-banner")).to_be_visible()
    found = {"page": serious(page, rules="others"), "banner": serious_in_both_themes(page, ".files")}
    (tmp_path / "bad.npz").write_bytes(b"PK")
    page.get_by_test_id("file-input").set_input_files(tmp_path / "bad.npz")
    expect(page.get_by_test_id("file-problem")).to_contain_text("bad.npz")
    open_more(page)
    page.get_by_test_id("export").click()
    found["problem"] = serious_in_both_themes(page, ".files")
    found["menu"] = serious_in_both_themes(page, "[data-part=export]")
    assert {state: what for state, what in found.items() if what} == {}


def test_a_model_that_the_server_does_not_have(page: "Page", file: Path, tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    path.write_bytes(rewritten(file, from_elsewhere))
    show(page, drawer="generation")
    open_file(page, path)
    assert "my own" in page.get_by_test_id("file-banner").inner_text()
    names = page.get_by_test_id("candidate").locator(".tokname").all_inner_texts()
    ids = page.get_by_test_id("candidate").evaluate_all("rows => rows.map((row) => row.dataset.id)")
    assert len(ids) == len(names) == 6
    assert any(name == f"#{token_id}" for name, token_id in zip(names, ids, strict=True)), names


# --- the menu -------------------------------------------------------------------------------------------------------


def test_menu_by_keyboard(page: "Page") -> None:
    show(page)
    page.wait_for_selector(".station:not([hidden]) .overlay")  # without a picture there is nothing to save
    open_more(page)
    button = page.get_by_test_id("export")
    button.focus()
    page.keyboard.press("ArrowDown")
    panel = page.get_by_test_id("export-panel")
    expect(panel).to_be_visible()
    assert button.get_attribute("aria-expanded") == "true"
    expect(page.get_by_test_id("export-png")).to_be_focused()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.testid") == "export-svg"
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    assert page.evaluate("document.activeElement.dataset.testid") == "export"


def test_without_a_sentence_there_is_only_opening(page: "Page") -> None:
    page.goto("/")
    page.wait_for_selector('body[data-state="empty"]')
    open_more(page)
    page.get_by_test_id("export").click()
    expect(page.get_by_test_id("export-panel")).to_contain_text("type a sentence")
    with page.expect_file_chooser():
        page.get_by_test_id("open-file").click()


@pytest.mark.fresh  # it makes the server unreachable
def test_a_failure_is_shown_in_the_menu(page: "Page", page_errors: list[str]) -> None:
    show(page)
    page.route("**/api/trace", lambda route: route.abort())
    open_more(page)
    page.get_by_test_id("export").click()
    page.get_by_test_id("export-npz").click()
    expect(page.get_by_test_id("export-said")).to_contain_text("Not saved")
    page_errors.clear()  # the browser's own words about the lost request


def test_on_a_phone(open_page: "Callable[..., Page]", file: Path) -> None:
    page = open_page(viewport={"width": 360, "height": 740})
    show(page)
    page.get_by_test_id("more").click()
    open_more(page)
    page.get_by_test_id("export").click()
    box = page.get_by_test_id("export-panel").bounding_box() or {}
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    open_file(page, file)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
