"""Subjects (models that can be traced), and the sources that open folders as subjects."""

from __future__ import annotations

from pathlib import Path

from model.subjects.subject import About, Session, Source, Special, Subject, Tokenizer, Weight
from model.subjects.zoo import ZooFolders, ZooSubject

__all__ = [
    "SOURCES", "About", "Session", "Source", "Special", "Subject", "Tokenizer", "Weight", "ZooSubject", "find_folders",
    "source_of",
]  # fmt: skip

SOURCES: list[Source] = [ZooFolders()]
"""The first source that can open a folder opens it. A new kind of model is one file here and one entry."""


def source_of(folder: Path) -> Source | None:
    """The source that can open this folder; None if it has no model."""
    return next((source for source in SOURCES if source.can_open(folder)), None)


def find_folders(*folders: Path) -> dict[str, tuple[Path, Source]]:
    """The models in `folders` by name, sorted. If two have the same name, the first folder wins."""
    found: dict[str, tuple[Path, Source]] = {}
    for folder in folders:
        for inside in sorted(folder.glob("*/")):
            if (source := source_of(inside)) is not None:
                found.setdefault(inside.name, (inside, source))
    return dict(sorted(found.items()))
