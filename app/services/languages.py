"""Guesses a text's language from its script, and notes if a model does not read it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from chumoku.model.traceable import About, TraceableTokenizer
from chumoku.model.typed_special import names_of


class Spoken(NamedTuple):
    """What a model reads and what it writes, as languages: a translator reads one and writes another, or both."""

    reads: Sequence[str]
    writes: Sequence[str]


Languages = Mapping[str, Spoken]
"""The languages of each loaded model, by its name."""

JAPANESE, LATIN = "japanese", "latin"
NAMES = {"HIRAGANA": JAPANESE, "KATAKANA": JAPANESE, "KATAKANA-HIRAGANA": JAPANESE, "CJK": JAPANESE}
LANGUAGE_OF = {JAPANESE: "ja", LATIN: "en"}
"""Scripts of our models' languages; any other script is named itself: `cyrillic`, `hangul`."""
SCRIPT_OF = {"ja": JAPANESE} | dict.fromkeys(("en", "de", "es", "fr", "it", "nl", "pt", "sv", "pl", "tr", "vi"), LATIN)
MOSTLY = 2 / 3
CODE = re.compile(r"__[a-z]{2,3}__|[a-z]{2,3}_([A-Z]{2}|[A-Z][a-z]{3})")
"""A token that names a language: `__en__` of M2M-100, `en_XX` of mBART, `eng_Latn` of NLLB."""
ENOUGH = 2_000
"""The number of letters to check: the beginning of a long text is enough."""


def languages_of(about: About) -> list[str]:
    """The languages on the model's card; English if it names none. For a translator: source, target. Unknown without a
    card; none for pictures."""
    if not about.card or about.description.picture is not None:
        return []
    said = about.card.get("languages")
    return said if isinstance(said, list) and said and all(isinstance(name, str) for name in said) else ["en"]


def directions(about: About) -> list[tuple[str, str]]:
    """A translator's directions, each from one language to another; none for other models and unknown languages."""
    languages = languages_of(about)
    if "target" not in about.description.sides or len(languages) != 2:
        return []
    source, target = languages
    return [(source, target), (target, source)] if about.card.get("both_directions") is True else [(source, target)]


def spoken(about: About) -> Spoken:
    """What the model reads and what it writes."""
    if ways := directions(about):
        return Spoken([source for source, _ in ways], [target for _, target in ways])
    languages = languages_of(about)
    if "target" in about.description.sides:
        return Spoken(languages[:1], languages[1:])
    return Spoken(languages, languages if about.description.writes else [])


def script(text: str) -> str | None:
    """The script of at least two thirds of the letters, in lower case; None if mixed or without letters.

    The first word of a letter's Unicode name is its script; kana and kanji together are Japanese.
    """
    begins = "".join([char for char in text if char.isalpha()][:ENOUGH])
    letters = unicodedata.normalize("NFKC", begins)  # ｺｰﾋｰ and ＡＢＣ are of the scripts of コーヒー and ABC
    words = Counter(unicodedata.name(char, "").partition(" ")[0] for char in letters)
    scripts: Counter[str] = Counter()
    for word, count in words.items():
        scripts[NAMES.get(word, word.lower())] += count
    if not scripts:
        return None
    found, count = scripts.most_common(1)[0]
    return found if found and count >= MOSTLY * len(letters) else None


def notes(about: About, text: str, loaded: Languages) -> list[dict[str, Any]]:
    """`untrained_language`, if `text` is in a script that no language uses that the model reads. With the other models
    that read its language (`models`), and those that only write it (`writers`: translators into it, this model too).
    Unknown languages, and those whose script we do not know, never cause a note."""
    found, trained = script(text), list(spoken(about).reads)
    known = [SCRIPT_OF.get(language) for language in trained]
    if found is None or not trained or found in known or None in known:
        return []
    language = LANGUAGE_OF.get(found, found)
    models = [name for name, one in loaded.items() if language in one.reads and name != about.name]
    writers = [name for name, one in loaded.items() if language in one.writes and language not in one.reads]
    return [
        {"code": "untrained_language", "language": language, "trained": trained, "models": models, "writers": writers}
    ]


def codes(tokenizer: TraceableTokenizer, ids: Sequence[int], target: Sequence[int] | None) -> list[dict[str, Any]]:
    """`language_codes` of a translator whose tokenizer has such tokens: the one around the source `ids`, and the one
    that begins the `target`, at its START or after it. None where no code is."""
    of = {id: name for name, id in names_of(tokenizer).items() if CODE.fullmatch(name)}
    if target is None or not of:
        return []
    read = next((of[id] for id in (ids[0], ids[-1]) if id in of), None)
    begun = next((of[id] for id in target[:2] if id in of), None)
    return [{"code": "language_codes", "source": read, "target": begun}]
