"""Colours as colour-blind readers see them (Machado et al. 2009), and sizes of text: all are in css/tokens.css."""

import re
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

STATIC = Path(__file__).parent.parent / "static"
TOKENS = STATIC / "css/tokens.css"
THEMES = ("light", "dark")

# Severity 1.0, on linear sRGB: table 1 of "A Physiologically-based Model for Simulation of Color Vision Deficiency".
MACHADO = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)

# ΔE in OKLab × 100: about 2 is just noticeable side by side. Q, K and V also have letters and frames.
LEAST_ROLES = 8.0  # measured: 9.7
# Along a ramp, from each of 16 steps to the next, in lightness × 100: all steps must have the same direction.
LEAST_STEP = 0.5  # measured: 1.9
# Numbers of equal size and opposite sign, from a quarter of the range on.
LEAST_SIGNED = 6.0  # measured: 7.3

Colour = NDArray[np.float64]


def palette(theme: str) -> dict[str, str]:
    """The custom properties of a theme. Dark inherits from light what it does not set."""
    css = TOKENS.read_text("utf-8")
    blocks = {"light": r":root \{(.*?)\n\}", "dark": r'\[data-theme="dark"\] \{(.*?)\n\}'}
    found: dict[str, str] = {}
    for name in THEMES[: THEMES.index(theme) + 1]:
        block = re.search(blocks[name], css, re.DOTALL)
        assert block
        found |= dict(re.findall(r"--([\w-]+): ([^;]+);", block[1]))
    return found


def linear(colour: str) -> Colour:
    channels = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def seen(rgb: Colour, sight: str) -> Colour:
    """OKLab × 100 of a linear colour."""
    lms = TO_LMS @ np.clip(MACHADO[sight] @ rgb, 0, 1)
    return 100 * (TO_OKLAB @ np.cbrt(lms))


def ramp(theme: str, name: str) -> list[str]:
    return re.findall(r"#[0-9a-f]{6}", palette(theme)[f"ramp-{name}"])


def mixed(stops: list[str], share: float) -> Colour:
    """Linear between the stops in sRGB, as CSS, canvas and plotly.js interpolate."""
    place = share * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    ends = [[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops[low : low + 2]]
    mixture = [round(a + (b - a) * (place - low)) for a, b in zip(*ends, strict=True)]
    return linear("#" + "".join(f"{channel:02x}" for channel in mixture))


def lightness(stops: list[str], shares: NDArray[np.float64], sight: str) -> list[float]:
    return [float(seen(mixed(stops, float(share)), sight)[0]) for share in shares]


def contrast(a: str, b: str) -> float:
    """WCAG's contrast ratio."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ linear(colour)) for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", MACHADO)
@pytest.mark.parametrize("theme", THEMES)
def test_query_key_and_value_can_be_told_apart(theme: str, sight: str) -> None:
    colours = {role: seen(linear(palette(theme)[role]), sight) for role in "qkv"}
    apart = {pair: float(np.linalg.norm(colours[pair[0]] - colours[pair[1]])) for pair in ("qk", "qv", "kv")}
    assert min(apart.values()) >= LEAST_ROLES, apart


@pytest.mark.parametrize("name", ["weights", "share"])
@pytest.mark.parametrize("sight", MACHADO)
@pytest.mark.parametrize("theme", THEMES)
def test_more_weight_is_always_further_from_paper(theme: str, sight: str, name: str) -> None:
    steps = np.diff(lightness(ramp(theme, name), np.linspace(0, 1, 17), sight))
    away = -steps if theme == "light" else steps
    assert away.min() >= LEAST_STEP, steps


@pytest.mark.parametrize("sight", MACHADO)
@pytest.mark.parametrize("theme", THEMES)
def test_larger_values_of_either_sign_are_further_from_paper(theme: str, sight: str) -> None:
    for side in (np.linspace(0.5, 0, 17), np.linspace(0.5, 1, 17)):
        steps = np.diff(lightness(ramp(theme, "signed"), side, sight))
        away = -steps if theme == "light" else steps
        assert away.min() >= LEAST_STEP, (side[-1], steps)


@pytest.mark.parametrize("sight", MACHADO)
@pytest.mark.parametrize("theme", THEMES)
def test_signs_can_be_told_apart(theme: str, sight: str) -> None:
    """From a quarter of the range on: closer to 0 both are nearly paper."""
    stops = ramp(theme, "signed")
    for size in np.linspace(0.25, 0.9, 8):
        ends = [seen(mixed(stops, 0.5 + sign * size / 2), sight) for sign in (-1, 1)]
        assert np.linalg.norm(ends[0] - ends[1]) >= LEAST_SIGNED, (size, ends)


def test_in_the_dark_the_strongest_values_keep_their_sign() -> None:
    """The lightest colours are no white: the ends of a legend can be told apart."""
    for name in ("signed", "q", "k", "v"):
        low, high = (seen(linear(end), "none") for end in (ramp("dark", name)[0], ramp("dark", name)[-1]))
        assert max(low[0], high[0]) <= 90
        assert np.linalg.norm(low - high) >= LEAST_ROLES


@pytest.mark.parametrize("theme", THEMES)
def test_red_means_the_query(theme: str) -> None:
    """Negative numbers, losses and errors are another colour. (Who sees no red has the frame and the sign.)"""
    query = seen(linear(palette(theme)["q"]), "none")
    others = [palette(theme)[name] for name in ("minus", "bad", "warn")] + ramp(theme, "signed")[:2]
    assert min(float(np.linalg.norm(query - seen(linear(colour), "none"))) for colour in others) >= LEAST_ROLES


@pytest.mark.parametrize("theme", THEMES)
def test_a_role_has_one_colour(theme: str) -> None:
    """Large positive numbers of Q, K and V have the colour of their letter."""
    assert {role: ramp(theme, role)[5] for role in "qkv"} == {role: palette(theme)[role] for role in "qkv"}


@pytest.mark.parametrize("theme", THEMES)
def test_heads_can_be_told_apart(theme: str) -> None:
    colours = [palette(theme)[f"series-{i}"] for i in range(6)]
    for sight in MACHADO:
        looks = [seen(linear(colour), sight) for colour in colours]
        assert min(float(np.linalg.norm(a - b)) for a, b in combinations(looks, 2)) >= 15, sight
    assert min(contrast(colour, palette(theme)["panel"]) for colour in colours) >= 3


@pytest.mark.parametrize("theme", THEMES)
def test_words_can_be_read(theme: str) -> None:
    """4.5 to 1 (WCAG AA) on every background that they are used on."""
    colours = palette(theme)
    grounds = ("paper", "panel", "sunk")
    words = ("ink", "ink-2", "ink-3", "accent", "q", "k", "v", "minus", "warn", "bad")
    poor = {(word, ground): contrast(colours[word], colours[ground]) for word in words for ground in grounds}
    assert {pair: ratio for pair, ratio in poor.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_a_river_can_be_seen(theme: str) -> None:
    """3 to 1, WCAG's AA for graphics: a token's own stream, and a line that decides."""
    colours = palette(theme)
    found = {name: contrast(colours[name], colours["paper"]) for name in ("river-own", "river-deep")}
    assert min(found.values()) >= 3, found


def test_steps_of_the_ramps_are_hex() -> None:
    """The stylesheet has what this file reads: five colours for weights and seven for signs, in both themes."""
    for theme in THEMES:
        assert [len(ramp(theme, name)) for name in ("weights", "share", "signed", "q", "k", "v")] == [5, 5, 7, 7, 7, 7]
        assert all(a != b for a, b in pairwise(ramp(theme, "signed")))


DIGITS = r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})(?=[;,)\s\"'`])"
CALL = r"\b(?:rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?\(\s*[\d.]"
LITERAL = f"{DIGITS}|{CALL}"
"""A colour as digits, in a style sheet or in code."""


def literals(code: str) -> list[str]:
    code = re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", code, flags=re.DOTALL)
    return re.findall(LITERAL, code, re.IGNORECASE)


@pytest.mark.parametrize("code", ["color: #fff;", 'fill = "#1b1d2a";', "background: rgb(10 12 24 / 0.4)"])
def test_a_colour_is_found(code: str) -> None:
    assert literals(code)


@pytest.mark.parametrize("code", ["this.#add(tag)", "`rgb(${colour.join()})`", "/* #fff */ var(--ink)", 'href="#main"'])
def test_what_is_no_colour_is_not_found(code: str) -> None:
    assert literals(code) == []


def test_every_colour_is_in_one_sheet() -> None:
    """Code asks for it (`chart/theme.js`). Left out: SVG files (icon, architecture)."""
    found = {
        f"{path.relative_to(STATIC)}: {colour}"
        for suffix in ("css", "js")
        for path in sorted(STATIC.rglob(f"*.{suffix}"))
        if path != TOKENS
        for colour in literals(path.read_text("utf-8"))
    }
    assert found == set()


def sizes(css: str) -> list[str]:
    """Sizes of text that are given as lengths. Multiples of the parent's (em) are not: they belong to no scale."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    lengths = r"(?<![\w-])font(?:-size)?:[^;/]*?\d(?:px|pt|rem|v[wh]|dvh)\b"
    return re.findall(lengths, css) + re.findall(r"(?<![\w-])font(?:-size)?:[^;]*\bclamp\(", css)


@pytest.mark.parametrize(
    "css", ["font-size: 13px;", "font: 500 12.5px/1.4 var(--mono);", "font-size: clamp(1em, 2em, 3em);"]
)
def test_a_size_of_text_is_found(css: str) -> None:
    assert sizes(css)


@pytest.mark.parametrize(
    "css", ["font-size: 0.9em;", "font: var(--text-label)/22px var(--mono);", "--text-label: 12px;"]
)
def test_a_size_from_the_scale_is_not_found(css: str) -> None:
    assert sizes(css) == []


def test_every_size_of_text_is_in_one_sheet() -> None:
    sheets = [sheet for sheet in sorted((STATIC / "css").glob("*.css")) if sheet != TOKENS]
    assert {sheet.name: found for sheet in sheets if (found := sizes(sheet.read_text("utf-8")))} == {}


def test_every_property_of_the_tokens_is_used() -> None:
    """Also from code, which puts some names together (`--series-${i}`, `--ramp-${role}`)."""
    names = re.findall(r"^ +--([\w-]+):", TOKENS.read_text("utf-8"), re.MULTILINE)
    code = "\n".join(path.read_text("utf-8") for suffix in ("css", "js") for path in STATIC.rglob(f"*.{suffix}"))
    used = set(re.findall(r"--([\w-]+)\b(?!-?:)", code))
    built = re.compile(r"(series-\d|ramp-\w+)")
    assert {name for name in names if name not in used and not built.fullmatch(name)} == set()


def test_every_size_that_a_sheet_reads_is_set() -> None:
    """One that was taken out of tokens.css would silently become the inherited one."""
    sheets = "\n".join(path.read_text() for path in STATIC.rglob("*.css"))
    read = set(re.findall(r"var\((--(?:text|leading|r|z)-[\w-]+)\)", sheets))
    assert len(read) > 30
    assert read - set(re.findall(r"(--[\w-]+)\s*:", sheets)) == set()
