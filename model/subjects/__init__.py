"""What can be traced, whoever made it: subjects, and the sources that open folders as subjects."""

from __future__ import annotations

from pathlib import Path

from model.subjects.subject import About, Session, Source, Special, Subject, Tokenizer, Weight
from model.subjects.zoo import ZooFolders, ZooSubject

__all__ = [
    "SOURCES", "About", "Session", "Source", "Special", "Subject", "Tokenizer", "Weight", "ZooSubject", "find_folders",
    "source_of",
]  # fmt: skip

SOURCES: list[Source] = [ZooFolders()]
"""The first that can open a folder opens it. A new kind of model is one file in this folder, and one entry here."""


def source_of(folder: Path) -> Source | None:
    """The source that can open this folder; None: it holds no model."""
    return next((source for source in SOURCES if source.can_open(folder)), None)


def find_folders(*folders: Path) -> dict[str, tuple[Path, Source]]:
    """The models inside `folders` by name, sorted; where two share a name the first folder's stands."""
    found: dict[str, tuple[Path, Source]] = {}
    for folder in folders:
        for inside in sorted(folder.glob("*/")):
            if (source := source_of(inside)) is not None:
                found.setdefault(inside.name, (inside, source))
    return dict(sorted(found.items()))
