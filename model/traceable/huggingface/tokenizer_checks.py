"""Whether a `tokenizer.json` does a bounded amount of work: its library has no limits of its own.

A regex may try exponentially many ways to match, a normalizer may make a letter into gigabytes, and both happen in one
call that nothing can stop. So the parts of its pipeline are checked when the folder is read.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

MOST_PARTS = 100
GROWTH = 64
"""Times as long as a text may become by replacements one after another: those of our exports make 48 letters of one."""
LONGEST_REPLACEMENT = 64
LONGEST_WORD = 1000
"""A WordPiece tries every beginning of a word at every position: the work grows with the cube of its length."""


def check_work(settings: Mapping[str, Any]) -> None:
    """Raise `ValueError` for a part of a `tokenizer.json` whose work has no bound."""
    normalizers, pre = (list(parts(settings.get(name))) for name in ("normalizer", "pre_tokenizer"))
    if len(normalizers) + len(pre) > MOST_PARTS:
        raise ValueError(f"it has {len(normalizers) + len(pre):,} steps; at most {MOST_PARTS} are run")
    for part in (*normalizers, *pre):
        check_pattern(regex_of(part))
    check_growth(normalizers)
    model = settings.get("model") or {}
    if int(model.get("max_input_chars_per_word") or 0) > LONGEST_WORD:
        raise ValueError(f"its max_input_chars_per_word may be at most {LONGEST_WORD:,}")


def parts(step: Any) -> Iterator[Mapping[str, Any]]:
    """A step, or those in a sequence."""
    waiting = [step]
    while waiting:
        found = waiting.pop()
        if isinstance(found, list):
            waiting += found
        elif isinstance(found, Mapping):
            yield found
            waiting += [found.get("normalizers"), found.get("pretokenizers")]


def regex_of(part: Mapping[str, Any]) -> str:
    pattern = part.get("pattern")
    return str(pattern.get("Regex", "")) if isinstance(pattern, Mapping) else ""


def check_growth(normalizers: list[Mapping[str, Any]]) -> None:
    growth = 1.0
    for part in normalizers:
        content = str(part.get("content") or "")
        pattern = part.get("pattern")
        text = str(pattern.get("String", "")) if isinstance(pattern, Mapping) else str(pattern or "")
        growth *= max(1.0, len(content) / len(text) if text else 1.0 + len(content) if pattern is not None else 1.0)
        longest = max(len(str(part.get("prepend") or "")), longest_in(part.get("precompiled_charsmap")))
        if longest > LONGEST_REPLACEMENT:
            raise ValueError(f"it writes {longest:,} characters at once; at most {LONGEST_REPLACEMENT} may be")
    if growth > GROWTH:
        raise ValueError(
            f"its replacements make a text up to {growth:,.0f} times as long; at most {GROWTH} times may be"
        )


def longest_in(charsmap: Any) -> int:
    """The longest replacement of SentencePiece's table: the size of a trie, the trie, then texts that end in 0."""
    try:
        table = base64.b64decode(charsmap or "")
    except (binascii.Error, TypeError, ValueError):
        return 0  # the library refuses it
    texts = table[4 + int.from_bytes(table[:4], "little") :]
    return max((len(text.decode(errors="replace")) for text in texts.split(b"\0")), default=0)


ATOM = re.compile(
    r"\\[pP]\{[^}]*\}|\\.|\[(?:\\.|\[:\w+:\]|[^\]\\])*\]|\(\?(?:[:=!>~]|<[=!]|<\w+>|[a-zA-Z-]+:?)?|.", re.DOTALL
)
"""An escape, a class of characters, the beginning of a group, or one character."""
AGAIN = re.compile(r"[*+]|\{\d*,\}|\{\d*,?\d{2,}\}")
"""What repeats an atom without a bound, or ten times and more."""


def check_pattern(pattern: str) -> None:
    """Raise `ValueError` for a repeated group that repeats inside, or has alternatives: (a+)+ or (a|a)* try 2ⁿ ways."""
    open_groups, at, branches = [False], 0, False
    while at < len(pattern):
        found = ATOM.match(pattern, at)
        assert found is not None
        at, closes = found.end(), False
        if found[0].startswith("("):
            open_groups.append(False)
            continue
        if found[0] == "|":
            open_groups[-1] = True
            continue
        if found[0] == ")" and len(open_groups) > 1:
            branches, closes = open_groups.pop(), True
        again = AGAIN.match(pattern, at)
        if again and closes and branches:
            raise ValueError(f"its regex {pattern[:60]!r} repeats a group that repeats or has alternatives")
        open_groups[-1] = open_groups[-1] or again is not None or (closes and branches)
        at = again.end() if again else at
