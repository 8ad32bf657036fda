"""Figures for papers and for viewers that run no scripts: drawn by matplotlib from the same trace, as SVG, PDF or PNG.

What the page draws as a picture of weights is drawn here with its colours, hatching and words. Text stays text.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from chumoku.app.http.pages import Translate, translator
from chumoku.app.notebook.figure_parts import (
    EDGE,
    below_title,
    cells,
    legend,
    number_texts,
    numbers,
    plot,
    pooled,
    write,
)
from chumoku.app.notebook.figure_style import Palette, Theme, inches_of, label_of, palette, shortened, styled
from chumoku.app.notebook.model import Trace
from chumoku.app.page_files import STATIC
from chumoku.model.attribution.summaries import How, rollout, summarised
from chumoku.model.describe import Attention
from chumoku.model.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Numbers = NDArray[Any]
FORMATS = ("svg", "pdf", "png")
WIDEST, HIGHEST = 60.0, 60.0
"""Inches: larger ones are a slip, in centimetres say, and take gigabytes."""
MANY = 4096
"""With more cells than this, a figure has them as an image."""
IN_A_HEAD, IN_A_MATRIX = 72, 480
"""The most cells along a side of a small picture and of a matrix: each has a pixel or more."""
SMALLEST = 6.0
"""The size of the smallest labels, in points; of a longer text only some are written."""
THIN = 0.01
"""Weights below this are no line, as on the page."""


@dataclass(frozen=True, repr=False)
class Figure:
    """A figure of a trace. Notebooks show it as a PNG; `savefig` writes it."""

    trace: Trace
    view: str
    attention: Attention
    layer: int | None
    head: int | None
    how: How
    lang: Literal["en", "ja"]
    theme: Theme

    def savefig(self, path: str | PathLike[str], *, width: float | None = None, dpi: float = 300) -> Path:
        """Writes the figure as .svg, .pdf or .png, `width` inches wide (None: as wide as it reads well).

        Raises `ValueError` for another ending, or for a width that is not between 1 and `WIDEST`.
        """
        place = Path(path)
        if place.suffix.lower().removeprefix(".") not in FORMATS:
            raise ValueError(f"a figure is .svg, .pdf or .png, got {place.name!r}")
        write_whole(place, self.drawn(place.suffix.lower().removeprefix("."), width, dpi))
        return place

    def drawn(self, form: str, width: float | None = None, dpi: float = 150) -> bytes:
        if width is not None and not 1 <= width <= WIDEST:
            raise ValueError(f"a figure is from 1 to {WIDEST:g} inches wide, got {width!r}")
        if find_spec("matplotlib") is None:
            raise ValueError("figures need matplotlib: pip install -c constraints.txt -e '.[figures]'")
        with styled():
            from matplotlib.figure import Figure as Canvas

            plan = PLANS[self.view](Drawing(self))
            wide = width or plan.width
            canvas = Canvas(figsize=(wide, min(max(plan.height(wide), 1.5), HIGHEST)))
            canvas.set_facecolor(palette(self.theme).colour("panel"))
            plan.draw(canvas)
            # Without a date the same figure is the same file.
            date = {"svg": "Date", "pdf": "CreationDate"}.get(form)
            about = {"Title": plan.title, **({date: None} if date else {})}
            file = io.BytesIO()
            canvas.savefig(file, format=form, dpi=dpi, metadata=about, facecolor=canvas.get_facecolor())
        return file.getvalue()

    def _repr_png_(self) -> bytes:
        return self.drawn("png")

    def __repr__(self) -> str:
        return f"<chumoku figure: {self.view} of {self.trace.model.name}>"


COMES = "…"
"""The place of the next token."""


class Drawing:
    """What a figure needs of its trace: weights, masks, labels, words."""

    def __init__(self, figure: Figure) -> None:
        self.figure, self.trace, self.attention = figure, figure.trace, figure.attention
        self.colours: Palette = palette(figure.theme)
        self.t: Translate = translator(STATIC / "i18n", figure.lang)

    @property
    def layer(self) -> int:
        """The chosen layer, or the last."""
        return self.attention.n_layer - 1 if self.figure.layer is None else self.figure.layer

    def tensor(self, role: str, layer: int) -> Any:
        """A `head query key` tensor of a layer."""
        return self.trace[self.attention.roles[role].taps[layer]]

    def weights(self, layer: int) -> Any:
        assert self.attention.overview is not None
        return self.tensor(self.attention.overview, layer).float()

    def every_weight(self) -> Any:
        """[layer head query key]."""
        import torch

        return torch.stack([self.weights(layer) for layer in range(self.attention.n_layer)])

    def forbidden(self, layer: int) -> Numbers | None:
        """[head query key], True where a mask forbids the key; None without a mask."""
        if "mask" not in self.attention.roles:
            return None
        found: Numbers = self.tensor("mask", layer).numpy() != 0
        return found

    def labels(self, side: str) -> list[str]:
        tokens = self.trace.metadata["tokens" if side == "source" else "target_tokens"]
        return [label_of(token) for token in tokens]

    @property
    def rows(self) -> list[str]:
        """As on the page (static/model/written.js): in cross-attention with what each row writes, "START ⇒ 駅"."""
        labels = self.labels(self.attention.queries)
        if not (self.attention.queries == "target" and self.attention.keys != "target"):
            return labels
        return [f"{label} ⇒ {written}" for label, written in zip(labels, [*labels[1:], COMES], strict=True)]

    @property
    def columns(self) -> list[str]:
        return self.labels(self.attention.keys)

    @property
    def name(self) -> str:
        """The model, and which attention if it has several."""
        several = len(self.trace.model.traceable.description.attentions) > 1
        return (
            f"{self.trace.model.name} · {self.t(f'attention.{self.attention.id}')}"
            if several
            else self.trace.model.name
        )

    def write(self, axes: Axes, x: float, y: float, text: str, colour: str = "ink-2", **look: Any) -> None:
        write(axes, (x, y), text, self.colours.colour(colour), **look)

    def legend(
        self, canvas: Canvas, ends: tuple[str, str], *, hatched: bool = False, opacity: str = "", note: str = ""
    ) -> None:
        """Below the cells: the ramp, or the opacity of lines, with what its ends mean; the hatching; a note."""
        words = [one for one in (opacity, note) if one]
        legend(self.colours, canvas, ends, words, self.t("matrix.hatched") if hatched else None, lines=bool(opacity))


@dataclass(frozen=True)
class Plan:
    """A figure before it is drawn: its title, its usual width, its height at a width (inches), and what draws it."""

    title: str
    width: float
    height: Callable[[float], float]
    draw: Callable[[Canvas], None]


def heads(drawing: Drawing) -> Plan:
    """The weights of every head: a row for each layer, a column for each head."""
    n_layer, n_head = drawing.attention.n_layer, drawing.attention.n_head
    n_query, n_key = drawing.weights(0).shape[1:]
    gap, left, room = 0.08, 0.7, 0.25
    tall = max(0.2, n_query / n_key)
    title = f"{drawing.name} · {drawing.t('heads.grid')}"

    def height(width: float) -> float:
        across = (width - left - EDGE) / (n_head * (1 + gap))
        return float(across * (tall + gap) * n_layer) + room + below_title(title, width)

    def draw(canvas: Canvas) -> None:
        axes = plot(drawing.colours, canvas, title, left=left, above=room)
        n = 1
        for layer in range(n_layer):
            weights, forbidden = drawing.weights(layer).numpy(), drawing.forbidden(layer)
            top = layer * (tall + gap)
            drawing.write(axes, -gap, top + tall / 2, drawing.t("heads.layer", n=layer), ha="right", va="center")
            for head in range(n_head):
                closed = None if forbidden is None else forbidden[head]
                shown, closed, n = pooled(weights[head], closed, IN_A_HEAD)
                cells(drawing.colours, axes, shown, closed, (head * (1 + gap), top, 1, tall), as_image=True)
        for head in range(n_head):
            drawing.write(axes, head * (1 + gap) + 0.5, -0.5 * gap, str(head), ha="center", va="bottom")
        axes.set_xlim(0, n_head * (1 + gap))
        axes.set_ylim(n_layer * (tall + gap), 0)
        hatched = any(one is not None and bool(one.any()) for one in map(drawing.forbidden, range(n_layer)))
        drawing.legend(canvas, ("0", "1"), hatched=hatched, note=drawing.t("heads.cells", n=n) if n > 1 else "")

    return Plan(title, min(7.0, 1.2 + 0.75 * n_head), height, draw)


def matrix(
    drawing: Drawing,
    values: Numbers,
    forbidden: Numbers | None,
    what: str,
    tones: Numbers | None = None,
    digits: int = 2,
) -> Plan:
    """One matrix with its tokens: a row for each query, a column for each key. `tones`: the place of each value on the
    ramp, where that is not the value; `digits` of its numbers."""
    rows, columns = drawing.rows, drawing.columns
    n_query, n_key = values.shape
    shown = values if tones is None else tones
    title = f"{drawing.name} · {what}"
    left, above = (0.15 + max(map(inches_of, labels)) for labels in (rows, columns))

    def height(width: float) -> float:
        return float((width - left - EDGE) / n_key * n_query) + above + below_title(title, width)

    def draw(canvas: Canvas) -> None:
        axes = plot(drawing.colours, canvas, title, left=left, above=above)
        drawn, closed, n = pooled(shown, forbidden, IN_A_MATRIX)
        cells(drawing.colours, axes, drawn, closed, (0, 0, n_key, n_query), as_image=drawn.size > MANY)
        axes.set_xlim(0, n_key)
        axes.set_ylim(n_query, 0)
        points = 72 * (canvas.get_size_inches()[0] - left - EDGE) / n_key
        size, step = label_size(points)
        off = 4 / points
        for at, label in list(enumerate(rows))[::step]:
            drawing.write(axes, -off, at + 0.5, shortened(label), "q", size=size, ha="right", va="center")
        upright = {"ha": "center", "va": "bottom", "rotation": 90}
        for at, label in list(enumerate(columns))[::step]:
            drawing.write(axes, at + 0.5, -off, shortened(label), "k", size=size, **upright)
        if points >= 16:
            texts = number_texts(values, digits, short=tones is None)
            numbers(drawing.colours, axes, shown, texts, forbidden, size=min(8.0, points * 0.34))
        ends = ("0", "1") if tones is None else (drawing.t("attention.row_low"), drawing.t("attention.row_high"))
        note = drawing.t("heads.cells", n=n) if n > 1 else ""
        drawing.legend(canvas, ends, hatched=forbidden is not None and bool(forbidden.any()), note=note)

    return Plan(title, min(6.5, max(3.6, left + EDGE + 0.42 * n_key)), height, draw)


def label_size(points: float) -> tuple[float, int]:
    """The size of labels that are this far apart, and every how many of them are written."""
    return min(9.0, max(SMALLEST, points * 0.7)), max(1, math.ceil(SMALLEST / points))


def weights(drawing: Drawing) -> Plan:
    """The weights of a head."""
    layer, head = drawing.layer, drawing.figure.head or 0
    forbidden = drawing.forbidden(layer)
    what = f"{drawing.t('matrix.title', layer=layer, head=head)} · {drawing.t('matrix.weights')}"
    return matrix(drawing, drawing.weights(layer)[head].numpy(), None if forbidden is None else forbidden[head], what)


def scores(drawing: Drawing) -> Plan:
    """The scores of a head before the mask; a softmax only sees differences within a row, and so do the colours."""
    layer, head = drawing.layer, drawing.figure.head or 0
    values, forbidden = drawing.tensor("scores", layer).float()[head].numpy(), drawing.forbidden(layer)
    closed = np.zeros(values.shape, bool) if forbidden is None else forbidden[head]
    low = np.where(closed, np.inf, values).min(1, keepdims=True)
    high = np.where(closed, -np.inf, values).max(1, keepdims=True)
    with np.errstate(invalid="ignore"):
        tones = np.where(high > low, (values - low) / np.where(high > low, high - low, 1), 1.0)
    what = f"{drawing.t('matrix.title', layer=layer, head=head)} · {drawing.t('matrix.scores')}"
    return matrix(drawing, values, closed if closed.any() else None, what, tones, digits=1)


SUMMARIES = {
    "mean": {"heads": "figure.mean_heads", "layers": "figure.mean_layers", "both": "figure.mean_both"},
    "max": {"heads": "figure.max_heads", "layers": "figure.max_layers", "both": "figure.max_both"},
}


def averages(drawing: Drawing) -> Plan:
    """The mean or the maximum over what was not chosen: the heads of a layer, the layers of a head number, or both."""
    figure, attention = drawing.figure, drawing.attention
    if figure.layer is not None:
        over, n = "heads", attention.n_head
        found = summarised(drawing.weights(figure.layer)[None], "heads", figure.how)[0]
    elif figure.head is not None:
        over, n = "layers", attention.n_layer
        found = summarised(drawing.every_weight(), "layers", figure.how)[figure.head]
    else:
        over, n = "both", attention.n_layer * attention.n_head
        found = summarised(drawing.every_weight(), "both", figure.how)
    what = drawing.t(SUMMARIES[figure.how][over], n=n, layer=figure.layer, head=figure.head)
    return matrix(drawing, found.numpy(), never(drawing), what)


def rolled_out(drawing: Drawing) -> Plan:
    """Attention rollout up to the chosen layer."""
    found = rollout(drawing.every_weight()[: drawing.layer + 1])[-1]
    return matrix(drawing, found.numpy(), never(drawing), drawing.t("figure.rollout", layer=drawing.layer))


def never(drawing: Drawing) -> Numbers | None:
    """True where every head of every layer forbids the key."""
    masks = [drawing.forbidden(layer) for layer in range(drawing.attention.n_layer)]
    found = [mask.all(0) for mask in masks if mask is not None]
    return np.logical_and.reduce(found) if found else None


def lines(drawing: Drawing) -> Plan:
    """The weights of a head as lines between two rows of tokens; opacity is the weight."""
    layer, head = drawing.layer, drawing.figure.head or 0
    values, rows, columns = drawing.weights(layer)[head].numpy(), drawing.rows, drawing.columns
    forbidden = drawing.forbidden(layer)
    allowed = np.ones(values.shape, bool) if forbidden is None else ~forbidden[head]
    drawn = sorted((float(values[q, k]), q, k) for q, k in np.argwhere(allowed & (values >= THIN)))
    title = f"{drawing.name} · {drawing.t('matrix.title', layer=layer, head=head)} · {drawing.t('lines.title')}"
    hidden = int(allowed.sum()) - len(drawn)
    note = drawing.t("lines.thin" if hidden else "lines.all", hidden=hidden, n=int(allowed.sum()))
    n = max(len(rows), len(columns))
    longest = max(map(inches_of, [*rows, *columns]))

    def height(width: float) -> float:
        room = longest if longest > (width - 2 * EDGE) / n else 0.15
        return min(3.0, max(1.6, width * 0.34)) + 2 * room + 0.2 + below_title(title, width)

    def draw(canvas: Canvas) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Curve

        across = (canvas.get_size_inches()[0] - 2 * EDGE) / n
        turned = longest > across
        room = 0.1 + (longest if turned else 0.15)
        axes = plot(drawing.colours, canvas, title, left=EDGE, above=room, below=room)
        axes.set_xlim(0, n)
        axes.set_ylim(1, 0)
        accent = drawing.colours.colour("accent")
        starts, ends = ((n - len(tokens)) / 2 + 0.5 for tokens in (rows, columns))
        for weight, q, k in drawn:
            curve = Curve([(starts + q, 0), (starts + q, 0.45), (ends + k, 0.55), (ends + k, 1)], [1, 4, 4, 4])
            axes.add_patch(PathPatch(curve, fill=False, edgecolor=accent, alpha=min(weight, 1), lw=1.6))
        size, step = label_size(72 * across) if turned else (9.0, 1)
        look = {"size": size, "ha": "center", "rotation": 90 if turned else 0}
        for at, label in list(enumerate(rows))[::step]:
            drawing.write(axes, starts + at, -0.02, shortened(label), "q", va="bottom", **look)
        for at, label in list(enumerate(columns))[::step]:
            drawing.write(axes, ends + at, 1.02, shortened(label), "k", va="top", **look)
        drawing.legend(canvas, ("0", "1"), opacity=drawing.t("lines.opacity"), note=note)

    return Plan(title, 6.5, height, draw)


PLANS: dict[str, Callable[[Drawing], Plan]] = {
    "heads": heads,
    "weights": weights,
    "scores": scores,
    "lines": lines,
    "averages": averages,
    "rollout": rolled_out,
}
