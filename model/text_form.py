"""How text is written before it is cut into tokens: as people type it, or as a corpus has it."""

from __future__ import annotations

import re
from collections.abc import Callable

from model.config import TextForm

QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "–": "-", "—": "--", "…": "..."})
BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]"}

# What stands alone, in this order: n't (with what it is glued to cut off), other contractions, a run of dots, a run of
# dashes that joins no word, any other sign. Dashes and dots inside words and numbers stay where they are.
PIECES = re.compile(
    r"n't\b|'(?:s|m|d|re|ve|ll)\b|\.{2,}|-{2,}"
    r"|(?:(?!n't\b)\w)+(?:[-.,](?=\w)(?:(?!n't\b)\w)+)*|[^\w\s]"
)


def treebank(text: str) -> str:
    """Lower-cased, every sign and contraction on its own, as the Penn Treebank has it: "It's GOOD." → "it 's good ."

    Text that is written so already stays the same: treebank(treebank(x)) = treebank(x).
    """
    text = text.lower().translate(QUOTES)
    for name, bracket in BRACKETS.items():
        text = text.replace(name, f" {bracket} ")
    text = text.replace("''", '"')
    return " ".join(PIECES.findall(text))


TEXT_FORMS: dict[TextForm, Callable[[str], str]] = {"natural": lambda text: text, "treebank": treebank}
