"""Check lists of what people type first, greetings and single words in both directions: how many are translated
correctly."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.evaluate_translation import translations
from chumoku.model.training.presets import OWN

CHECKS = {name: OWN / f"check_{name}.tsv" for name in ("greetings", "common", "words")}
"""Files of `source<TAB>answer<TAB>answer …` lines: the first half from English, the second half from Japanese."""


@dataclass(frozen=True)
class Asked:
    """A source, its translation by the model, and the answers that count as right."""

    source: str
    said: str
    answers: tuple[str, ...]

    @property
    def right(self) -> bool:
        return same(self.said) in map(same, self.answers)


def same(text: str) -> str:
    """A key without case, punctuation, spaces and width: answers with the same key count as equal."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).lower())


def ask(loaded: Checkpoint, file: Path, *, beams: int = 4) -> list[Asked]:
    """The translation of each line of a check list."""
    lines = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    said = translations(loaded, [source for source, *_ in lines], beams=beams)
    return [Asked(source, one, tuple(answers)) for (source, *answers), one in zip(lines, said, strict=True)]


def check_lists(loaded: Checkpoint) -> dict[str, Any]:
    """For the card: how many lines of each list are right from English and from Japanese, with 4 beams."""
    asked = {name: ask(loaded, file) for name, file in CHECKS.items()}
    return {
        name: {
            "of": len(every) // 2,
            "from_en": sum(one.right for one in every[: len(every) // 2]),
            "from_ja": sum(one.right for one in every[len(every) // 2 :]),
        }
        for name, every in asked.items()
    } | {"repeats": sum(repeats(one.said) for every in asked.values() for one in every)}


def repeats(text: str) -> bool:
    """Whether a word (in Japanese, any run of letters) occurs more than three times in a row."""
    return bool(re.search(r"([^\W\d]+?)(?:\W*\1){3}", text.lower()))
