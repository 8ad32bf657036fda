"""Models that cannot be used, each with one sentence that says why. The other models are unaffected."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from chumoku.app.api.schema import LONGEST_NAME
from chumoku.app.errors import written

log = logging.getLogger("chumoku")

LONGEST = 300
"""Most characters of a reason: an error may quote the contents of a file."""


@dataclass(frozen=True)
class Problem:
    """An unavailable model's name, and the reason."""

    name: str
    reason: str


@dataclass(frozen=True)
class LoadFailure:
    """Why a model did not load. It is tried again once its folder's `stamp` changes; None: with every request."""

    reason: str
    stamp: tuple[object, ...] | None


def problem_of(folder: Path, error: Exception) -> Problem:
    """An error in a model's folder, as a `Problem`."""
    return Problem(written(folder.name), sentence(folder, error))


def log_unavailable(folder: Path, problem: Problem) -> None:
    log.error("model %s is unavailable: %s", written(str(folder)), problem.reason)


def sentence(folder: Path, error: Exception) -> str:
    """The error as one sentence, with file names but without their path."""
    if isinstance(error, OSError) and error.strerror:
        said = f"{error.filename or folder}: {error.strerror}"
    elif isinstance(error, OSError | ValueError):
        said = str(error)
    else:
        said = f"it does not load ({type(error).__name__}: {error})"
    said = " ".join(said.replace(f"{folder}/", "").replace(str(folder), folder.name).split())
    said = written(said if len(said) <= LONGEST else f"{said[:LONGEST]} …")
    return said if said.endswith((".", "…")) else f"{said}."


def check_name(name: str) -> None:
    """Raise `ValueError` for a model's name that cannot be asked for, or not be seen."""
    if len(name) > LONGEST_NAME:
        raise ValueError(f"its name has {len(name)} characters; at most {LONGEST_NAME} can be asked for")
    if written(name) != name:
        raise ValueError("its name has characters that cannot be shown: rename it")
