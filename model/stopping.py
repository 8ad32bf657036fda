"""Stops a forward pass between two layers when its result is no longer wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import torch


class Stopped(Exception):
    """The result is no longer wanted."""


@dataclass
class Stop:
    """A request to stop: any thread may set `asked`."""

    asked: bool = False


_stop: ContextVar[Stop | None] = ContextVar("chumoku_stop", default=None)


def check() -> None:
    """Raise `Stopped` if this pass was asked to stop. Called before each layer and in other long loops."""
    if torch.compiler.is_compiling():
        return
    stop = _stop.get()
    if stop is not None and stop.asked:
        raise Stopped


@contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """In this block, `check` raises `Stopped` once `stop.asked` is set."""
    token = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(token)
