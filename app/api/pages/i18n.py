"""The page's texts on the server, from the catalogues that the page itself reads: static/i18n/<lang>.json."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

LANGUAGES = ("en", "ja")
DEFAULT = "en"
PLACEHOLDER = re.compile(r"\{(\w+)\}")

Translate = Callable[..., str]


def translator(folder: Path, language: str) -> Translate:
    """`t(key, name=value, …)`: the string with `{name}` filled in; `n=1` uses `key.one` if it exists.

    A missing key is its own text, so that a page with a missing string still opens.
    """
    path = folder / f"{language}.json"
    strings = catalogue(path, path.stat().st_mtime_ns)

    def t(key: str, **values: object) -> str:
        one = strings.get(f"{key}.one") if str(values.get("n")) == "1" else None
        text = one or strings.get(key, key)
        return PLACEHOLDER.sub(lambda hit: str(values.get(hit[1], hit[0])), text)

    return t


@lru_cache(maxsize=8)
def catalogue(path: Path, changed_ns: int) -> dict[str, str]:
    """The strings of a file, read again when the file changes."""
    strings: dict[str, str] = json.loads(path.read_text("utf-8"))
    return strings


def choose(asked: str | None, kept: str | None, accepted: str) -> str:
    """The language to show: the requested one (`?lang=`), else the cookie's, else the browser's."""
    for language in (asked, kept):
        if language in LANGUAGES:
            return language
    return best_accepted(accepted)


def best_accepted(header: str) -> str:
    """The language of ours that an `Accept-Language` header prefers: `fr, ja;q=0.8, en;q=0.5` → ja."""
    liked: dict[str, float] = {}
    for part in header.split(","):
        tag, _, weight = part.strip().partition(";q=")
        language = tag.split("-")[0].strip().lower()
        if language in LANGUAGES:
            liked[language] = max(liked.get(language, 0.0), quality(weight))
    best = max(liked, key=lambda language: liked[language], default=DEFAULT)
    return best if liked.get(best, 0.0) > 0 else DEFAULT


def quality(weight: str) -> float:
    """A q-value: 1 if missing, 0 if invalid."""
    try:
        return float(weight) if weight else 1.0
    except ValueError:
        return 0.0
