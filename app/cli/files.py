"""The process's limit of open files."""

from __future__ import annotations

from contextlib import suppress

UNKNOWN = 2048
"""Assumed where the system does not say."""
MOST = 65_536
"""What a system allows may be far more than a process has memory for."""


def raise_file_limit() -> int:
    """Raise the soft limit of open files to the hard one, but not above `MOST`. Returns how many may be open."""
    try:
        import resource
    except ImportError:  # Windows
        return UNKNOWN
    files, endless = resource.RLIMIT_NOFILE, resource.RLIM_INFINITY
    soft, hard = resource.getrlimit(files)
    most = MOST if hard == endless else min(hard, MOST)
    for wanted in (most, 10_240):  # macOS names no hard limit, and refuses more than a system-wide one
        if soft == endless or soft >= wanted:
            break
        with suppress(OSError, ValueError):
            resource.setrlimit(files, (wanted, hard))
            return wanted
    return MOST if soft == endless else min(soft, MOST)
