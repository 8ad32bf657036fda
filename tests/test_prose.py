"""The length and the form of the project's Markdown: what a reader of ten minutes can be asked to read."""

import re
import subprocess
from pathlib import Path

import pytest

from chumoku.app import VERSION

ROOT = Path(__file__).parent.parent


def test_the_changelog_is_short_and_begins_with_this_version() -> None:
    """Only what a user notices, one line each."""
    lines = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert len(lines) <= 40
    headings = [line for line in lines if line.startswith("#")]
    assert headings[:2] == ["# Changelog", f"## {VERSION}"]
    entries = lines[lines.index(headings[1]) + 1 :]
    assert all(re.match(r"- \*\*|[A-Z]|$", line) for line in entries)


def words_of(text: str) -> int:
    """As `wc -w` counts them: the bars of a table are words, too."""
    return len(text.split())


PAGES = {
    name: (ROOT / name).read_text("utf-8")
    for name in subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    if (ROOT / name).exists()
}


def test_the_readme_takes_a_minute() -> None:
    """At most 140 lines, without footnotes."""
    assert len(PAGES["README.md"].splitlines()) <= 140
    assert re.findall("[†‡§]|\\[\\^", PAGES["README.md"]) == []


@pytest.mark.parametrize("name", [name for name in PAGES if name.endswith("/README.md")])
def test_a_folders_readme_is_short(name: str) -> None:
    assert words_of(PAGES[name]) <= 1_500


def test_all_pages_together_are_short() -> None:
    counts = {name: words_of(text) for name, text in PAGES.items()}
    assert sum(counts.values()) <= 16_000, counts


def test_the_glossary_has_at_most_forty_lines() -> None:
    glossary = PAGES["CONTRIBUTING.md"].split("## Glossary")[1].split("\n## ")[0]
    entries = re.findall(r"^- \*\*(.+?)\*\*: ", glossary, re.MULTILINE)
    assert len(glossary.splitlines()) <= 40
    needed = "run trace tap role attention overview view intervention knockout comparison snapshot scheduler batching"
    assert set(needed.split()) <= {word for entry in entries for word in entry.split(", ")}
    assert {"traceable model", "request coalescing"} <= set(entries)
