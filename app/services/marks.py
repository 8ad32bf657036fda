"""A hash of the files that a model was read from: what is kept of a model is never shown for another."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from pathlib import Path

log = logging.getLogger("chumoku")


def mark_of(files: Iterable[Path], folder: Path) -> str | None:
    """The hash of the names and contents of the files of a folder that exist; None if one cannot be read."""
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
