"""The process's limit of open files."""

from __future__ import annotations

UNKNOWN = 2048
"""Assumed where the system does not say."""


def raise_file_limit() -> int:
    """Raise the soft limit of open files to the hard one. Returns the limit that now holds."""
    try:
        import resource
    except ImportError:  # Windows
        return UNKNOWN
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, 65_536, 10_240):  # macOS names no hard limit, and refuses more than a system-wide one
        if wanted == resource.RLIM_INFINITY or wanted <= soft:
            continue
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            continue
        return wanted
    return soft if soft != resource.RLIM_INFINITY else 65_536
