"""How text is normalised before tokenizing: not at all, or as in a corpus."""

from __future__ import annotations

import re
from collections.abc import Callable

from chumoku.model.config import TextForm

QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "–": "-", "—": "--", "…": "..."})
BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]"}

# Separated, in this order: n't (cut off from its verb), other contractions, a run of dots, a run of
# dashes that joins no words, any other punctuation. Dashes and dots inside words and numbers stay.
PIECES = re.compile(
    r"n't\b|'(?:s|m|d|re|ve|ll)\b|\.{2,}|-{2,}"
    r"|(?:(?!n't\b)\w)+(?:[-.,](?=\w)(?:(?!n't\b)\w)+)*|[^\w\s]"
)


def treebank(text: str) -> str:
    """Lower-cased, with punctuation and contractions separated as in the Penn Treebank: "It's GOOD." → "it 's good ."

    Text that is already in this form does not change: treebank(treebank(x)) = treebank(x).
    """
    text = text.lower().translate(QUOTES)
    for name, bracket in BRACKETS.items():
        text = text.replace(name, f" {bracket} ")
    text = text.replace("''", '"')
    return " ".join(PIECES.findall(text))


TEXT_FORMS: dict[TextForm, Callable[[str], str]] = {"natural": lambda text: text, "treebank": treebank}
