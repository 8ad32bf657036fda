"""What the page teaches outside its catalogues: lessons, the glossary, and what the examples say."""

import json
from collections.abc import Iterator
from pathlib import Path

STATIC = Path(__file__).parent.parent / "static"


def taught(language: str) -> list[tuple[str, str]]:
    """Every text in a language, each with the name of its file."""
    files = [*sorted((STATIC / "learn").rglob("*.json")), STATIC / "examples.json"]
    found = [(file.name, text) for file in files for text in texts(json.loads(file.read_text("utf-8")), language)]
    assert len(found) > 200, "have the files moved?"
    return found


def texts(value: object, language: str, *, within: bool = False) -> Iterator[str]:
    """All texts at or below a key with the name of the language."""
    if isinstance(value, str):
        if within:
            yield value
    elif isinstance(value, list):
        for one in value:
            yield from texts(one, language, within=within)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from texts(one, language, within=within or key == language)
