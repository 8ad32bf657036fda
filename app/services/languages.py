"""Which language a text is written in, as far as its script tells, and a note where a model was not trained on it."""

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
"""A script stands for the language that our models have in it; another for itself: `cyrillic`, `hangul`."""
SCRIPT_OF = {"ja": JAPANESE} | dict.fromkeys(("en", "de", "es", "fr", "it", "nl", "pt", "sv", "pl", "tr", "vi"), LATIN)
MOSTLY = 2 / 3
ENOUGH = 2_000
"""Letters looked at: the beginning of a long text tells."""


def languages_of(about: About) -> list[str]:
    """What the card says the model was trained on; English where it says nothing. A translator's: source, target."""
    said = about.card.get("languages")
    return said if isinstance(said, list) and said and all(isinstance(name, str) for name in said) else ["en"]


def source_languages(about: About) -> list[str]:
    """The languages of what the model reads."""
    languages = languages_of(about)
    return languages[:1] if "target" in about.description.sides else languages


def script(text: str) -> str | None:
    """The script of two letters in three, in lower case; None where there is none: mixed, or no letters.

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
    """`untrained_language`, where `text` is in a script that none of the model's source languages is written in; with
    the other models that know its language. A language whose script we do not know is not held against a text."""
    found, trained = script(text), source_languages(about)
    known = [SCRIPT_OF.get(language) for language in trained]
    if found is None or found in known or None in known:
        return []
    language = LANGUAGE_OF.get(found, found)
    models = [name for name, languages in loaded.items() if language in languages and name != about.name]
    return [{"code": "untrained_language", "language": language, "trained": trained, "models": models}]
