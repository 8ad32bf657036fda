"""Whether a model fits into the memory that is free, before it is loaded."""

from __future__ import annotations

from pathlib import Path

FLOAT32, SPARE = 4, 1.2
"""Bytes of a number, and what loading needs of the size of the weights."""
MEMINFO = Path("/proc/meminfo")


def available() -> int | None:
    """Bytes that programs may still take; None where the system does not say."""
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def check(name: str, n_parameters: int) -> None:
    """Raise `OSError` for a model that needs more than is free: the next request may find more."""
    needed, free = int(FLOAT32 * SPARE * n_parameters), available()
    if free is not None and needed > free:
        raise OSError(
            f"{name} needs {gigabytes(needed)} in float32, and {gigabytes(free)} of memory are free: "
            "stop other programs, or take a smaller model"
        )


def gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB"
