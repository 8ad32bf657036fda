"""Freed memory that stays with the process: a training step asks for the same large tensors again and again."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h
MOST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Tell glibc's malloc to keep what is freed. Returns whether malloc accepted it.

    By default it maps every large tensor again, and the kernel clears each of its pages: a third of a small model's
    training step.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return bool(mallopt and mallopt(M_MMAP_MAX, 0) and mallopt(M_TRIM_THRESHOLD, MOST))
