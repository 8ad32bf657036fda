"""Reads untrusted files with limits, and refuses them in one sentence; writes ours atomically.

A safetensors file is checked by its header before any of its numbers are read. It consists of eight bytes that give the
header's length, the header as JSON, and every tensor's bytes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

LARGEST = 64 * 2**20
"""Size limit in bytes of files that are read whole: configs, cards, tokenizers, headers of weights."""

SCRATCH = ".part"
"""The suffix of a file while it is being written."""


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """The contents of a regular file. Raises `OSError`, and `ValueError` for a folder, a pipe, or too many bytes."""
    size = size_of(path)
    if size > most:
        raise ValueError(f"{path} has {size:,} bytes; at most {most:,} are read")
    return path.read_bytes()


def size_of(path: Path) -> int:
    """The size of a regular file in bytes. Raises `OSError`, and `ValueError` for anything else: reading a pipe would
    wait, and reading a device might never end."""
    about = path.stat()
    if not path.is_file():
        raise ValueError(f"{path} is not a file")
    return about.st_size


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file, if it can be encoded again. Raises `OSError`, or `ValueError` naming the file and the
    reason."""
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


SMALL, DEEPEST = 4 * 2**20, 64
"""Bytes and levels of a file that is sent on: configs. 20,000 names of classes fit; a reader may stop at 250 levels."""


def read_small(path: Path, most: int = SMALL) -> dict[str, Any]:
    """`read_json`, for an object that is sent to people. Raises `ValueError` also if it is large or nested deeply."""
    size = size_of(path)
    if size > most:
        raise ValueError(f"{path} has {size:,} bytes; at most {most:,} are read")
    data = read_json(path)
    level: list[Any] = [data]
    for _ in range(DEEPEST):
        level = [x for one in level for x in inside(one)]
    if level:
        raise ValueError(f"{path} is nested more than {DEEPEST} levels deep")
    return data


def inside(value: Any) -> Iterable[Any]:
    """The values in a list or an object; none in anything else."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def write_whole(path: Path, content: bytes | bytearray) -> None:
    """Write a file so that a kill, a power cut or a full disk leaves the old one or the new one. What is no file, such
    as a pipe, is written to. Raises `OSError`."""
    path = Path(os.path.realpath(path))  # the target of a link is replaced, not the link
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    os.replace(write_beside(path, content), path)
    sync(path.parent)


def write_beside(path: Path, content: bytes | bytearray) -> Path:
    """Write a file next to `path`, to be renamed once its bytes are on the disk. If they do not fit, it is removed; if
    the process is killed, the next write replaces it."""
    scratch = path.with_name(path.name + SCRATCH)
    try:
        with scratch.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:  # the error of a failed write does not name the file
        scratch.unlink(missing_ok=True)
        raise type(error)(error.errno, error.strerror, str(path)) from None
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    return scratch


def sync(folder: Path) -> None:
    """Make renames in a folder durable. Does nothing where folders cannot be opened (Windows)."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
"""Bytes per number of each type of weights."""
NAMED = 3
"""How many names an error lists; it counts the rest."""

Shapes = Mapping[str, tuple[int, ...]]


def shapes_in(path: Path, is_taken: Callable[[str], bool] = lambda _: True) -> dict[str, tuple[int, ...]]:
    """Each tensor's shape; one of a type that weights do not have (a mask, positions) is left out if the model does not
    take it. Raises `OSError`, and `ValueError` for a damaged file, or for such a type in one that it takes."""
    header, n_bytes = read_header(path)
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    found = {name: shape_of(path, name, entry, n_bytes, is_taken(name)) for name, entry in entries.items()}
    shapes = {name: shape for name, shape in found.items() if shape is not None}
    end = 0
    for begin, after in sorted(entry["data_offsets"] for entry in entries.values()):
        if begin != end:
            raise ValueError(f"{path} is not a safetensors file: its tensors overlap, or leave a gap, at byte {end:,}")
        end = after
    return shapes


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The header, and how many bytes follow it. Raises `ValueError` if it is damaged."""
    size = size_of(path)
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8 or length > LARGEST:
            raise ValueError(
                f"{path} is cut, or not a safetensors file: it has {size:,} bytes, and claims a header of {length:,}"
            )
        text = file.read(length)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a safetensors file: its header is not JSON ({error})") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path} is not a safetensors file: its header is not an object")
    return header, size - 8 - length


def shape_of(path: Path, name: str, entry: Any, n_bytes: int, is_taken: bool) -> tuple[int, ...] | None:
    """The shape of one tensor, if the file has all its bytes; otherwise `ValueError`. None if it has another type than
    weights and is not taken."""
    about = entry if isinstance(entry, dict) else {}
    dtype, shape, offsets = about.get("dtype"), about.get("shape"), about.get("data_offsets")
    if not (isinstance(shape, list) and isinstance(offsets, list) and are_counts(shape) and are_counts(offsets)):
        raise ValueError(f"{path} is not a safetensors file: {name!r} has no shape")
    if is_taken and (not isinstance(dtype, str) or dtype not in BYTES):
        raise ValueError(f"{path}: {name} is stored as {dtype}; weights are {', '.join(BYTES)}")
    size = BYTES.get(str(dtype))
    ordered = len(offsets) == 2 and offsets[0] <= offsets[1]
    if not ordered or (size is not None and math.prod(shape) * size != offsets[1] - offsets[0]):
        raise ValueError(f"{path}: {name} has a shape of {math.prod(shape):,} numbers, which its bytes do not fit")
    if offsets[1] > n_bytes:
        raise ValueError(f"{path} is cut: {name} ends at byte {offsets[1]:,} of {n_bytes:,}")
    return None if size is None else tuple(shape)


def are_counts(values: list[Any]) -> bool:
    return all(type(value) is int and value >= 0 for value in values)


def check_shapes(needed: Shapes, found: Shapes) -> None:
    """Raise `ValueError` naming the tensors that are missing, unknown, or of another shape."""
    missing, unknown = sorted(needed.keys() - found.keys()), sorted(found.keys() - needed.keys())
    if missing or unknown:
        raise ValueError(f"weights do not fit the config: missing {listed(missing)}, unknown {listed(unknown)}")
    misfits = [
        f"{name} is {found[name]}, the config needs {shape}" for name, shape in needed.items() if found[name] != shape
    ]
    if misfits:
        raise ValueError(f"weights do not fit the config: {'; '.join(misfits[:NAMED])}{and_more(misfits)}")


def listed(names: list[str]) -> str:
    return f"{names[:NAMED]}{and_more(names)}"


def and_more(all_of_them: Iterable[str]) -> str:
    rest = len(list(all_of_them)) - NAMED
    return f" and {rest} more" if rest > 0 else ""
