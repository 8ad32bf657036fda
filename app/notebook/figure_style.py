"""How figures look: the page's colours, fonts that are installed, and the labels of tokens."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chumoku.app.page_files import STATIC

Theme = Literal["light", "dark"]
Colour = tuple[float, float, float]

BLOCK = re.compile(r"^(:root|\[data-theme=\"dark\"\]) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
PROPERTY = re.compile(r"^  (--[\w-]+): (.*?);", re.MULTILINE)
READABLE = 4.5
"""WCAG's contrast for text of this size."""


@dataclass(frozen=True)
class Palette:
    """The design tokens of a theme (`css/tokens.css`): the one place that has colours."""

    tokens: Mapping[str, str]

    def colour(self, name: str) -> Colour:
        return parsed(self.tokens[f"--{name}"])

    def ramp(self, name: str, shares: NDArray[Any]) -> NDArray[Any]:
        """The colours at `shares` (0 to 1) of a ramp, linear between its stops in sRGB, as on the page: [… 3]."""
        stops = np.array([parsed(one) for one in re.findall(r"#[0-9a-f]{6}", self.tokens[f"--ramp-{name}"])])
        place = np.clip(shares, 0, 1) * (len(stops) - 1)
        low = np.minimum(place.astype(int), len(stops) - 2)
        mixed: NDArray[Any] = stops[low] + (stops[low + 1] - stops[low]) * (place - low)[..., None]
        return mixed

    def ink(self, ground: Sequence[float]) -> Colour:
        """A readable colour of text on `ground`: the dark one or the light one, or black where both are faint."""
        dark, light, black = (self.colour(name) for name in ("on-pale", "on-deep", "on-middle"))
        on_dark, on_light, on_black = (contrast(ground, one) for one in (dark, light, black))
        if on_light >= READABLE and on_light > on_dark:
            return light
        return dark if on_dark >= READABLE else black if on_black >= on_light else light


@cache
def palette(theme: Theme) -> Palette:
    """The dark theme changes what it names of the light one."""
    css = re.sub(r"/\*.*?\*/", "", (STATIC / "css" / "tokens.css").read_text("utf-8"), flags=re.DOTALL)
    found: dict[str, str] = {}
    for name, body in BLOCK.findall(css):
        if name == ":root" or theme == "dark":
            found |= PROPERTY.findall(body)
    return Palette(found)


def parsed(colour: str) -> Colour:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """WCAG's contrast ratio of two colours."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: Sequence[float]) -> float:
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


SPECIAL = {"<|pad|>": "PAD", "<|start|>": "START", "<|endoftext|>": "END"}
MARKS = {" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u3000": "□"}
IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""What Unicode lets a font ignore and is no control or format character, and the empty braille cell."""


def label_of(token: Mapping[str, Any]) -> str:
    """A token's text in readable form, as the page labels it (`static/model/labels.js`)."""
    if token["partial"]:
        return f"⟨{bytes.fromhex(token['bytes']).hex(' ')}⟩"
    text: str = token["text"]
    return SPECIAL.get(text, text) if token["special"] else "".join(map(marked, text))


def marked(character: str) -> str:
    if character in MARKS:
        return MARKS[character]
    if ord(character) < 0x20:
        return chr(0x2400 + ord(character))
    if unicodedata.category(character) in ("Cc", "Cf", "Zs", "Zl", "Zp") or IGNORABLE.match(character):
        return f"⟨U+{ord(character):04X}⟩"
    return character


def shortened(label: str, most: int = 14) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def inches_of(text: str, size: float = 9.0, most: int | None = 14) -> float:
    """How wide a label is, measured in the fonts of figures."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    shown = text if most is None else shortened(text, most)
    if not shown.strip():
        return 0.0
    extent = TextPath((0, 0), shown, size=size, prop=FontProperties(family=families())).get_extents()
    return float(extent.x1) / 72


CJK = ("Noto Sans CJK JP", "Noto Sans JP", "Hiragino Sans", "Yu Gothic", "IPAexGothic", "MS Gothic")


@cache
def families() -> list[str]:
    """matplotlib's own font, then an installed one with Japanese, if there is one."""
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in CJK if name in installed)]


@contextmanager
def styled() -> Iterator[None]:
    """Text stays text in SVG and PDF. Characters that no installed font has are named in one warning."""
    import matplotlib

    settings = {
        "font.family": families(),
        "svg.fonttype": "none",
        "svg.hashsalt": "chumoku",
        "pdf.fonttype": 42,
        "hatch.linewidth": 0.6,
        "path.simplify": False,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield
    lacking = sorted({found[1] for one in said if (found := re.match(r"Glyph (\d+)", str(one.message)))}, key=int)
    if lacking:
        named = " ".join(f"{chr(int(one))} (U+{int(one):04X})" for one in lacking[:5])
        warnings.warn(f"no installed font has {named}: they are boxes in the figure", stacklevel=4)
    for one in said:
        if not str(one.message).startswith("Glyph "):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
