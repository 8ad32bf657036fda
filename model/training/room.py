"""A full disk: a run waits for room instead of losing what it has learned."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def when_there_is_room(
    save: Callable[[], None], path: Path, gives_up: Callable[[], bool], tell: Callable[[str], None]
) -> None:
    """Call `save` until `path` could be written; say once that there is no room. Raises its `OSError` when asked to
    give up, and for any other reason at once."""
    told = False
    while True:
        try:
            return save()
        except OSError as error:
            if error.errno not in NO_ROOM or gives_up():
                raise
            if not told:
                tell(f"{unwritten(path, error)}: the run waits for room; Ctrl+C ends it")
            told = True
        pause(gives_up)


def pause(gives_up: Callable[[], bool], seconds: int = 10) -> None:
    """Before the next try, which writes the whole state. A signal does not shorten a sleep, but is seen after it."""
    for _ in range(seconds):
        if not gives_up():
            time.sleep(1)


def unwritten(path: Path, error: OSError) -> str:
    return f"{path} cannot be written ({error.strerror})"
