"""One exception for all errors that a user can cause, with one shape on the wire."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any


class AppError(Exception):
    """A request that cannot be answered: what was wrong, the limit, and what to do.

    `code` is for programs, `message` and `hint` for people. `where` names the field, `got` and `limit` the numbers,
    `known` the known names. `status` is the HTTP status; `retry_after` (seconds) only goes with 503.
    """

    def __init__(
        self,
        code: str,
        message: str,
        hint: str,
        *,
        status: int = 422,
        where: str | None = None,
        got: int | float | str | None = None,
        limit: int | float | None = None,
        known: Sequence[str | int] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.status = code, message, hint, status
        self.where, self.got, self.limit, self.known = where, got, limit, known
        self.retry_after = retry_after

    def body(self) -> dict[str, Any]:
        """`{"error": {...}}`: the JSON that HTTP answers and the stream's `error` event carry."""
        fields = {
            "code": self.code,
            "message": self.message,
            "where": self.where,
            "got": self.got,
            "limit": self.limit,
            "known": None if self.known is None else list(self.known),
            "hint": self.hint,
        }
        return {"error": {name: value for name, value in fields.items() if value is not None}}


@contextmanager
def inside(path: str) -> Iterator[None]:
    """Prefixes `where` with `path` in errors of a request nested in another one."""
    try:
        yield
    except AppError as error:
        error.where = path if error.where is None else f"{path}.{error.where}"
        raise


def unknown_name(code: str, what: str, name: str, known: Sequence[str], **more: Any) -> AppError:
    """An error for an unknown name. It lists the known names and suggests the closest."""
    close = get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else "Use one of the known names."
    return AppError(code, f"There is no {what} named {name!r}.", hint, known=known, **more)


def check_index(what: str, index: int, count: int, where: str) -> None:
    """Raise `bad_<what>` unless 0 ≤ index < count."""
    if not 0 <= index < count:
        message = f"There is no {what} {index}: {what}s run from 0 to {count - 1}."
        hint = f"Use a {what} from 0 to {count - 1}."
        raise AppError(f"bad_{what}", message, hint, where=where, got=index, limit=count - 1)


def internal() -> AppError:
    """The answer to an internal failure, without details: they are in the log."""
    return AppError(
        "internal",
        "The server failed while working on this.",
        "Try again. If it fails again, the server's log has the reason.",
        status=500,
    )


NO_MEMORY = re.compile("allocate memory|out of memory|enough memory|start new thread|failed to map")
"""What torch, threads and the loader of shared libraries say when the system gives no memory."""


def is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or NO_MEMORY.search(str(error).lower()) is not None


HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters, which a terminal obeys, and those that turn the direction of a line."""


def written(text: str, keep: str = "") -> str:
    """Text that is safe in JSON and on a terminal, except for the characters in `keep`: a file may hold anything, and
    its name bytes that are not UTF-8."""
    whole = text.encode("utf-8", "backslashreplace").decode()
    return HIDDEN.sub(lambda found: found[0] if found[0] in keep else escaped(found[0]), whole)


def escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
