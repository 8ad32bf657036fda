"""Files that others wrote are read within bounds and refused in one sentence; ours are written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

LARGEST = 64 * 2**20
"""Bytes of the largest file that is read whole: a config, a card, a tokenizer, the header of weights."""

SCRATCH = ".part"
"""The ending of a file that is being written."""


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """The contents of a regular file. Raises `OSError`, and `ValueError` for a folder, a pipe, or too many bytes."""
    size = size_of(path)
    if size > most:
        raise ValueError(f"{path} has {size:,} bytes; at most {most:,} are read")
    return path.read_bytes()


def size_of(path: Path) -> int:
    """Bytes of a regular file: a pipe would be waited for, a device read for ever."""
    about = path.stat()
    if not path.is_file():
        raise ValueError(f"{path} is not a file")
    return about.st_size


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object that can be sent on as JSON. Raises `ValueError` naming the file that is not, and why."""
    content = read_bytes(path)
    try:
        data = json.loads(content.decode())
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path} is not a JSON object but a {type(data).__name__}")
    try:
        json.dumps(data, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise ValueError(f"{path} holds NaN, infinity, or half a character, which JSON cannot hold") from None
    return data


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a kill, a power cut or a full disk leaves the old one or the new one. Raises `OSError`."""
    os.replace(write_beside(path, content), path)
    sync(path.parent)


def write_beside(path: Path, content: bytes) -> Path:
    """A file beside `path` whose bytes are on the disk, to be renamed. If they do not fit, it is gone again; what a
    kill leaves of it, the next write replaces."""
    scratch = path.with_name(path.name + SCRATCH)
    try:
        with scratch.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:  # a failed write does not say of which file
        scratch.unlink(missing_ok=True)
        raise type(error)(error.errno, error.strerror, str(path)) from None
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    return scratch


def sync(folder: Path) -> None:
    """Make renames in a folder last; where folders cannot be opened (Windows), they do without."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
