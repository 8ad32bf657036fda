"""The language of a text, as far as its script shows, and a note if a model was not trained on it."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from model.subjects import About

Languages = Mapping[str, Sequence[str]]
"""The languages of each loaded model, by its name."""

JAPANESE, LATIN = "japanese", "latin"
NAMES = {"HIRAGANA": JAPANESE, "KATAKANA": JAPANESE, "KATAKANA-HIRAGANA": JAPANESE, "CJK": JAPANESE}
LANGUAGE_OF = {JAPANESE: "ja", LATIN: "en"}
"""A script stands for the language that our models use it for; any other stands for itself: `cyrillic`, `hangul`."""
SCRIPT_OF = {"ja": JAPANESE} | dict.fromkeys(("en", "de", "es", "fr", "it", "nl", "pt", "sv", "pl", "tr", "vi"), LATIN)
MOSTLY = 2 / 3
ENOUGH = 2_000
"""The number of letters to check: the beginning of a long text is enough."""


def languages_of(about: About) -> list[str]:
    """The languages on the model's card; English if there are none. For a translator: source, target."""
    said = about.card.get("languages")
    return said if isinstance(said, list) and said and all(isinstance(name, str) for name in said) else ["en"]


def source_languages(about: About) -> list[str]:
    """The languages that the model reads."""
    languages = languages_of(about)
    return languages[:1] if "target" in about.description.sides else languages


def script(text: str) -> str | None:
    """The script of at least two thirds of the letters, in lower case; None if mixed or without letters.

    The first word of a letter's Unicode name is its script; kana and kanji together are Japanese.
    """
    letters = [char for char in text if char.isalpha()][:ENOUGH]
    words = Counter(unicodedata.name(char, "").partition(" ")[0] for char in letters)
    scripts: Counter[str] = Counter()
    for word, count in words.items():
        scripts[NAMES.get(word, word.lower())] += count
    if not scripts:
        return None
    found, count = scripts.most_common(1)[0]
    return found if found and count >= MOSTLY * len(letters) else None


def notes(about: About, text: str, loaded: Languages) -> list[dict[str, Any]]:
    """`untrained_language`, if `text` is in a script that none of the model's source languages uses, with the other
    models that know its language. Languages whose script we do not know never cause a note."""
    found, trained = script(text), source_languages(about)
    known = [SCRIPT_OF.get(language) for language in trained]
    if found is None or found in known or None in known:
        return []
    language = LANGUAGE_OF.get(found, found)
    models = [name for name, languages in loaded.items() if language in languages and name != about.name]
    return [{"code": "untrained_language", "language": language, "trained": trained, "models": models}]
