"""Errors of the command line: one clear line on stderr and exit code 2, never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import NoReturn

import typer

from chumoku.app.errors import AppError, written


def fail(message: str) -> NoReturn:
    """Print what is wrong and exit with code 2. The message may quote a file: a terminal would obey what is in it."""
    print(f"chumoku: {written(' '.join(message.split()))}", file=sys.stderr)
    raise typer.Exit(2)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn errors that a user can cause into one line."""
    try:
        yield
    except AppError as error:
        label = "It can" if error.code == "cannot" else "Known are"
        known = f" {label}: {', '.join(map(str, error.known))}." if error.known else ""
        fail(f"{error.message} {error.hint}{known}")
    except BrokenPipeError:
        raise  # the reader of our output closed it, as `head` does
    except (ValueError, KeyError) as error:
        fail(str(error.args[0] if error.args else error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))


def need_transformers() -> ModuleType:
    """`model.export.huggingface`; raises `ValueError` when the `hf` extra is not installed."""
    try:
        from chumoku.model.export import huggingface
    except ModuleNotFoundError as error:
        raise ValueError(f"this needs {error.name}: pip install -c constraints.txt -e '.[hf]'") from None
    return huggingface


def need_training() -> ModuleType:
    """`chumoku.model.training.command`; raises `ValueError` when the `train` extra is not installed."""
    try:
        from chumoku.model.training import command
    except ModuleNotFoundError as error:
        raise ValueError(f"training needs {error.name}: pip install -c constraints.txt -e '.[train]'") from None
    return command
