"""The length and the form of the project's Markdown: what a reader of ten minutes can be asked to read."""

import re
from pathlib import Path

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
