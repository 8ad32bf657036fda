"""Startup objects are frozen out of the garbage collector.

A full collection of what exists after the start (torch, routes, descriptions) takes 0.15 to 0.25 s, in which nothing
else runs. A server freezes it. Other processes, such as tests and notebooks, are left as they are.
"""

from __future__ import annotations

import gc


class GcFreeze:
    """Does nothing until `freeze` is first called: by a process that serves."""

    def __init__(self) -> None:
        self.active = False

    def freeze(self) -> None:
        """Collect, and freeze all objects that exist now."""
        self.active = True
        gc.collect()
        gc.freeze()

    def freeze_loaded(self) -> None:
        """Freeze what a loaded model added: its parts, and modules of transformers. Only new objects are traversed."""
        if self.active:
            self.freeze()

    def collect_dropped(self) -> None:
        """Collect everything: a model that was dropped may refer to itself, which only a collection finds."""
        if self.active:
            gc.unfreeze()
            self.freeze()
