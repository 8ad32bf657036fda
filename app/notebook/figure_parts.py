"""The parts of figures: the area of the cells, cells in colours and hatching, numbers, text, the legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chumoku.app.notebook.figure_style import Colour, Palette, inches_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Numbers = NDArray[Any]
Box = tuple[float, float, float, float]
"""left, top, width, height"""
HATCH = "//////"
EDGE = 0.12
"""The margin of a figure, in inches."""


TITLE = 9.5
LINE = 0.18
"""The height of a line of the title, in inches."""
LEGEND = 0.5


def below_title(title: str, width: float) -> float:
    """The height of a figure of this width that its title and its legend take."""
    return EDGE + title_lines(title, width) * LINE + LEGEND


def title_lines(title: str, width: float) -> int:
    return math.ceil(inches_of(title, TITLE, most=None) / (width - 2 * EDGE))


def plot(colours: Palette, canvas: Figure, title: str, *, left: float, above: float, below: float = 0) -> Axes:
    """The area of a figure's cells, between its title and its legend; margins in inches are for labels."""
    wide, high = canvas.get_size_inches()
    top = EDGE + title_lines(title, wide) * LINE + above
    bottom = LEGEND + below
    axes = canvas.add_axes((left / wide, bottom / high, 1 - (left + EDGE) / wide, max(0.05, 1 - (top + bottom) / high)))
    axes.set_axis_off()
    ink, y = colours.colour("ink"), 1 - EDGE / high
    canvas.text(EDGE / wide, y, title, size=TITLE, va="top", color=ink, parse_math=False, wrap=True)
    return axes


def cells(
    colours: Palette, axes: Axes, values: Numbers, forbidden: Numbers | None, box: Box, *, as_image: bool
) -> None:
    """Values from 0 to 1 in their colours; forbidden cells are clear over hatching. As an image, or as shapes that a
    drawing program can move."""
    from matplotlib.patches import Rectangle

    (rows, columns), (x, y, width, height) = values.shape, box
    line = colours.colour("line-2")
    if forbidden is not None and forbidden.any():
        paper = colours.colour("panel")
        axes.add_patch(Rectangle((x, y), width, height, facecolor=paper, edgecolor=line, hatch=HATCH, lw=0))
    painted = np.dstack([colours.ramp("weights", values), np.ones(values.shape)])
    if forbidden is not None:
        painted[forbidden] = 0
    if as_image:
        axes.imshow(painted, extent=(x, x + width, y + height, y), interpolation="none", aspect="auto", zorder=2)
    else:
        edges = np.linspace(x, x + width, columns + 1), np.linspace(y, y + height, rows + 1)
        axes.pcolormesh(*edges, painted, linewidth=0.3, edgecolor="face", zorder=2)
    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=line, lw=0.5, clip_on=False, zorder=3))


def pooled(values: Numbers, forbidden: Numbers | None, most: int) -> tuple[Numbers, Numbers | None, int]:
    """At most `most` cells along each side: each is the largest of n × n values, and forbidden if all of them are. Then
    n, 1 for the cells themselves. Otherwise an image would leave out what has no pixel."""
    n = math.ceil(max(values.shape[:2]) / most)
    if n == 1:
        return values, forbidden, 1
    padding = [(0, -side % n) for side in values.shape]
    rows, columns = ((side + n - 1) // n for side in values.shape)

    def blocks(cells: Numbers, outside: float | bool) -> Numbers:
        return np.pad(cells, padding, constant_values=outside).reshape(rows, n, columns, n)

    largest: Numbers = blocks(values, 0).max((1, 3))
    closed: Numbers | None = None if forbidden is None else np.all(blocks(forbidden, True), axis=(1, 3))
    return largest, closed, n


def number_texts(values: Numbers, digits: int, *, short: bool) -> list[list[str]]:
    """Each value with `digits` after the point; `short`: without the 0 before it."""
    texts = [[f"{value:.{digits}f}".replace("-", "−") for value in row] for row in values]
    return [[text.removeprefix("0") if short and text[:2] == "0." else text for text in row] for row in texts]


def numbers(
    colours: Palette, axes: Axes, shown: Numbers, texts: list[list[str]], forbidden: Numbers | None, *, size: float
) -> None:
    """The texts of the allowed cells, readable on their colours."""
    grounds = colours.ramp("weights", shown)
    for row, col in np.ndindex(*shown.shape):
        if forbidden is None or not forbidden[row, col]:
            place, ink = (col + 0.5, row + 0.5), colours.ink(grounds[row, col].tolist())
            write(axes, place, texts[row][col], ink, size=size, ha="center", va="center_baseline")


def write(axes: Axes, at: tuple[float, float], text: str, colour: Colour, *, size: float = 8, **look: Any) -> None:
    """Text as text: a $ of a token begins no formula."""
    axes.text(*at, text, size=size, color=colour, parse_math=False, clip_on=False, **look)


def legend(
    colours: Palette, canvas: Figure, ends: tuple[str, str], words: Sequence[str], hatched: str | None, *, lines: bool
) -> None:
    """The ramp between its ends, or with `lines` the opacity of the accent; then the hatching, and words."""
    from matplotlib.patches import Rectangle

    wide, high = canvas.get_size_inches()
    axes = canvas.add_axes((0, 0, 1, LEGEND / high))
    axes.set_axis_off()
    axes.set_xlim(0, wide)
    axes.set_ylim(0, LEGEND)
    ink, x, y = colours.colour("ink-2"), EDGE, 0.3

    def said(text: str, gap: float = 0.08) -> None:
        nonlocal x, y
        if x + inches_of(text, 7.5, most=None) > wide and x > EDGE:
            x, y = EDGE, 0.12
        axes.text(x, y, text, size=7.5, color=ink, va="center", parse_math=False)
        x += inches_of(text, 7.5, most=None) + gap

    said(ends[0])
    shares = np.linspace(0, 1, 128)[None]
    if lines:
        painted = np.dstack([np.broadcast_to(colours.colour("accent"), (1, 128, 3)), shares])
    else:
        painted = colours.ramp("weights", shares)
    axes.imshow(painted, extent=(x, x + 0.9, y - 0.06, y + 0.06), aspect="auto")
    axes.set_xlim(0, wide)
    axes.set_ylim(0, LEGEND)
    x += 0.98
    said(ends[1], 0.2)
    if hatched is not None:
        paper, line = colours.colour("panel"), colours.colour("line-2")
        axes.add_patch(Rectangle((x, y - 0.07), 0.28, 0.14, facecolor=paper, edgecolor=line, hatch=HATCH, lw=0))
        x += 0.35
        said(hatched, 0.2)
    for one in words:
        said(one, 0.2)
