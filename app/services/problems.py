"""Models that cannot be used. Each is set aside with one sentence; the others are unaffected."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger("chumoku")

LONGEST = 300
"""Characters of a sentence: an error may quote what a file holds."""


@dataclass(frozen=True)
class Problem:
    """A model's name, and why it is set aside."""

    name: str
    reason: str


@dataclass(frozen=True)
class Aside:
    """What is wrong with a model's files. It is opened again once its folder has another `stamp`; None: at any time."""

    reason: str
    stamp: tuple[object, ...] | None


def problem_of(folder: Path, error: Exception) -> Problem:
    """The problem that an error of a model's folder is."""
    return Problem(written(folder.name), sentence(folder, error))


def log_aside(folder: Path, problem: Problem) -> None:
    log.error("model %s set aside: %s", written(str(folder)), problem.reason)


def sentence(folder: Path, error: Exception) -> str:
    """What is wrong, as one sentence with names of files but without the path to them."""
    if isinstance(error, OSError) and error.strerror:
        said = f"{error.filename or folder}: {error.strerror}"
    elif isinstance(error, OSError | ValueError):
        said = str(error)
    else:
        said = f"it does not load ({type(error).__name__}: {error})"
    said = " ".join(said.replace(f"{folder}/", "").replace(str(folder), folder.name).split())
    said = written(said if len(said) <= LONGEST else f"{said[:LONGEST]} …")
    return said if said.endswith((".", "…")) else f"{said}."


def written(text: str) -> str:
    """Text that any JSON and any terminal takes: a file's name may hold bytes that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
