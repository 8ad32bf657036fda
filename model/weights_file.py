"""A safetensors file by its header, before a byte of its numbers is read: what it has, and whether that is all there.

Eight bytes of header length, the header as JSON, then every tensor's bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from chumoku.model.files import LARGEST, size_of

BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
"""The types of weights."""
NAMED = 3
"""How many names an error lists; the rest is counted."""

Shapes = Mapping[str, tuple[int, ...]]


def shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """Each tensor's shape. Raises `OSError` or `ValueError`, if a tensor is not whole or no weight."""
    header, n_bytes = read_header(path)
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    shapes = {name: checked(path, name, entry, n_bytes) for name, entry in entries.items()}
    end = 0
    for begin, after in sorted(entry["data_offsets"] for entry in entries.values()):
        if begin != end:
            raise ValueError(f"{path} is not a safetensors file: its tensors overlap, or leave a gap, at byte {end:,}")
        end = after
    return shapes


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The header, and how many bytes follow it."""
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


def checked(path: Path, name: str, entry: Any, n_bytes: int) -> tuple[int, ...]:
    """The shape of one tensor, whose bytes must be there and as many as its shape says."""
    about = entry if isinstance(entry, dict) else {}
    dtype, shape, offsets = about.get("dtype"), about.get("shape"), about.get("data_offsets")
    if not (isinstance(shape, list) and isinstance(offsets, list) and counts(shape) and counts(offsets)):
        raise ValueError(f"{path} is not a safetensors file: {name!r} has no shape")
    if not isinstance(dtype, str) or dtype not in BYTES:
        raise ValueError(f"{path}: {name} is stored as {dtype}; weights are {', '.join(BYTES)}")
    if len(offsets) != 2 or not offsets[0] <= offsets[1] or math.prod(shape) * BYTES[dtype] != offsets[1] - offsets[0]:
        raise ValueError(f"{path}: {name} has a shape of {math.prod(shape):,} numbers, which its bytes do not fit")
    if offsets[1] > n_bytes:
        raise ValueError(f"{path} is cut: {name} ends at byte {offsets[1]:,} of {n_bytes:,}")
    return tuple(shape)


def counts(values: list[Any]) -> bool:
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
        raise ValueError(f"weights do not fit the config: {'; '.join(misfits[:NAMED])}{more(misfits)}")


def listed(names: list[str]) -> str:
    return f"{names[:NAMED]}{more(names)}"


def more(all_of_them: Iterable[str]) -> str:
    rest = len(list(all_of_them)) - NAMED
    return f" and {rest} more" if rest > 0 else ""
