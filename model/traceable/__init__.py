"""Models that can be traced, and the sources that open their folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import torch

from chumoku.model.traceable.huggingface import HuggingFaceFolders
from chumoku.model.traceable.places import ID, Delegating, cache_folder, cached, named_source, place_of
from chumoku.model.traceable.protocols import (
    About,
    ModelSource,
    Session,
    Special,
    TraceableModel,
    TraceableTokenizer,
    Weight,
)
from chumoku.model.traceable.zoo import ZooFolders, ZooModel

__all__ = [
    "ID",
    "SOURCES",
    "About",
    "Delegating",
    "ModelSource",
    "Session",
    "Special",
    "TraceableModel",
    "TraceableTokenizer",
    "Weight",
    "ZooModel",
    "cache_folder",
    "cached",
    "every_folder",
    "named_source",
    "place_of",
    "source_of",
]  # fmt: skip

SOURCES: list[ModelSource] = [HuggingFaceFolders(), ZooFolders()]
"""The first source that can open a folder opens it. A new kind of model is a file in this folder and an entry here."""


NO_MODEL = "lost+found"
"""A folder on every ext4 volume, which only root can read."""


def source_of(folder: Path) -> ModelSource | None:
    """The source that can open this folder; None if it has no model."""
    try:
        folder.stat()
        with os.scandir(folder):
            return next((source for source in SOURCES if source.can_open(folder)), None)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Unreadable(error)


def every_folder(*folders: Path) -> Iterator[tuple[Path, ModelSource]]:
    """Each folder that seems to contain a model, whether or not it can be opened. Several may have the same name."""
    for folder in folders:
        try:
            inside = sorted(folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield folder, Unreadable(error)
            continue
        for path in inside:
            if path.name != NO_MODEL and (source := source_of(path)) is not None:
                yield path, source


class Unreadable:
    """A folder that cannot be read: no permission, or a circular link."""

    def __init__(self, error: OSError) -> None:
        self.error = error

    def can_open(self, folder: Path) -> bool:
        return True

    def about(self, folder: Path) -> About:
        raise self.error

    def files(self, folder: Path) -> list[Path]:
        return []

    def open(self, folder: Path, device: torch.device) -> TraceableModel:
        raise self.error
