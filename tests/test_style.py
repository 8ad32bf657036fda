"""Phrases that we replaced with plain English must not come back in READMEs, docstrings, comments and texts.

CONTRIBUTING.md says how we write. Only phrases that are always wrong here are listed; a word that is sometimes right
(room, behind, beside) is not.
"""

import ast
import io
import json
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.taught import taught

ROOT = Path(__file__).parent.parent
INSTEAD = {
    "trained from nothing": "trained from scratch",
    r"reckon\w*": "compute",
    "number that is none": "NaN and infinity",
    r"line that is\s+none": "invalid line",
    r"(?<!there )(?:is|are) no (?:HTTP|text|JSON|request|error|tensor|token|formula|Exception|UTF-8)\b": "is not a …",
    r"(?<!there )(?:is|are) no (?:field|link|view|picture|word|candidate|products?|step)\b": "is not a …",
    r"(?:map|rules) of the house": "repository layout, architecture tests",
    "stands? above them": "override",
    "mended": "fixed",
    "cannot be had": "is not available",
    r"made again\b": "recomputed, repeated",
    r"hand(?:s|ed|ing)? (?:it |them )?over": "pass on, contribute, deliver",
    r"(?:is|are) told\b(?! apart)": "gets, is shown, is reported",
    r"\bdear(?:er|est)?\b": "expensive",
    r"behind (?:the (?:end|first)\b|`?#)": "after",
    r"(?:after(?: every)?|of|at|at most|at least|within|up to|in) so many\b": "this many, `n`",
    r"so many (?:steps|seconds|pixels|ids|layers|tokens of)\b": "this many, `n`",
    r"(?<!there\s)(?:is|are) (?-i:none)\b(?! of)": "is not one",
    r"\bunasked\b": "by default",
    r"(?:asks?|answers?) whom": "query and key",
    r"(?:looks?|attends?|listens?) (?:at|to) whom": "which query looks at which key",
    "cut into tokens": "split into tokens",
    "beside the sink": "outside the sink",
    "nobody trained": "untrained",
    "takes nothing else with it": "the others are unaffected",
    "(?:is|are) no part of": "is not part of",
    "nobody (?:asks|knows|reads|sees)": "no other code …",
}
LOOKS = r"cut every look|looks? (?:is|are) cut|(?:these|this|every|the|any) looks?\b(?! (?:at (?:it|them)|like|for)\b)"
"""The noun: what attends is a connection, and it is hidden."""
CUT = r"\*looks?\*|\ba look\b|(?<!\{)\bcut(?:s|ting)?\b(?!\})"
"""A connection is hidden, a candidate excluded, a picture split."""
PAGE = re.compile(
    "|".join(
        [
            "likeliest|read off|as it stands|whom|who looks at",
            LOOKS,
            CUT,
            r"write on\b|walk through it|leave the walk|fold the picture|beside another model|set aside",
            r"every line is a real|rows look at columns|guess so far|mixed into (?:the last word|\{token)",
            "the model (?:still )?says|the model reads:|falls on|chosen by hand|positions? kept|traced in",
            "held-out picture|own translation$|ha(?:s|ve) a label|a little like|with nothing to do|called none",
            "filler without|follow the mask|restore its own",
            r"“(?:understand|everything)”|ribbon|bottom of the page|\bthis station\b",  # of the page before issue 33
        ]
    ),
    re.IGNORECASE,
)
# They begin with a word: tried at the start of each word alone, they take a quarter of the time.
BANNED = re.compile(rf"\b(?:{'|'.join(f'(?:{phrase})' for phrase in INSTEAD)})", re.IGNORECASE)
ITSELF = {"tests/test_style.py"}


def tracked(*suffixes: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.splitlines() if name.endswith(suffixes) and (ROOT / name).exists()]


def python_prose(source: str) -> Iterator[tuple[int, str]]:
    """Comments, and texts of three words or more, by line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) > 2:
            yield node.lineno, node.value


def javascript_prose(source: str) -> Iterator[tuple[int, str]]:
    """Comments and the titles of tests, by line."""
    for found in re.finditer(r"/\*.*?\*/|(?<![:\"'`\\])//[^\n]*|^test\([\"'`][^\n]*", source, re.DOTALL | re.MULTILINE):
        yield source.count("\n", 0, found.start()) + 1, found.group()


def offences(name: str) -> list[str]:
    source = (ROOT / name).read_text("utf-8")
    joined = re.sub(r"[\"']\s+\w{0,2}[\"']", "", source)
    if not (BANNED.search(source) or (joined != source and BANNED.search(joined))):
        return []  # nor in a text that is written in parts: most files need not be parsed
    if name.endswith(".py"):
        prose = python_prose(source)
    elif name.endswith((".js", ".css")):
        prose = javascript_prose(source)
    else:
        prose = iter([(1, source)])
    return [f"{name}:{line}: {hit.group()}" for line, text in prose for hit in BANNED.finditer(text)]


@pytest.mark.parametrize("suffix", [".py", ".js", ".css", ".md", ".html"])
def test_no_banned_phrase_comes_back(suffix: str) -> None:
    names = [name for name in tracked(suffix) if name not in ITSELF]
    assert names
    assert [offence for name in names for offence in offences(name)] == []


def test_no_banned_phrase_is_on_the_page() -> None:
    texts: dict[str, str] = json.loads((ROOT / "static/i18n/en.json").read_text("utf-8"))
    assert {key: text for key, text in texts.items() if BANNED.search(text) or PAGE.search(text)} == {}


def test_no_banned_phrase_is_in_what_the_page_teaches() -> None:
    """Lessons, the glossary and the cards of examples, which are not in the catalogues."""
    assert [found for found in taught("en") if BANNED.search(found[1]) or PAGE.search(found[1])] == []
