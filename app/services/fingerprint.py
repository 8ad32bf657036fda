"""Detects changes of a model's files: a hash of their contents, and a cheap stamp of names, sizes and times."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from pathlib import Path

log = logging.getLogger("chumoku")


def fingerprint_of(files: Iterable[Path], folder: Path) -> str | None:
    """The hash of the names and contents of a folder's existing files; None if one cannot be read."""
    digest = hashlib.sha256()
    try:
        for path in sorted(files):
            if path.is_file():
                with path.open("rb") as file:
                    content = hashlib.file_digest(file, "sha256").hexdigest()
                digest.update(f"{path.relative_to(folder)}\0{content}\n".encode("utf-8", "surrogateescape"))
    except OSError as error:
        log.warning("the files of %s could not be hashed: %s", folder.name, error.strerror)
        return None
    return digest.hexdigest()


def stamp_of(folder: Path) -> tuple[object, ...] | None:
    """Names, sizes and times of the files in the folder and in its subfolders. None: not readable."""
    try:
        files = [(path.name, path.stat()) for path in sorted([*folder.iterdir(), *folder.glob("*/*")])]
    except OSError:
        return None
    return tuple((name, about.st_size, about.st_mtime_ns) for name, about in files)
