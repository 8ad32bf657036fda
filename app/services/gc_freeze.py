"""Freezes startup objects out of the garbage collector. A full collection of what exists after startup (torch, routes,
descriptions) would pause everything for 0.15 to 0.25 s. Only servers freeze; tests and notebooks do not.
"""

from __future__ import annotations

import gc


class GcFreeze:
    """Does nothing until `freeze` is called, which only a server does."""

    def __init__(self) -> None:
        self.active = False

    def freeze(self) -> None:
        """Collect, and freeze all objects that exist now."""
        self.active = True
        gc.collect()
        gc.freeze()

    def freeze_loaded(self) -> None:
        """Freezes what loading a model added: its parts, and modules of transformers. Traverses only new objects."""
        if self.active:
            self.freeze()

    def collect_dropped(self) -> None:
        """Collects everything: a dropped model may contain reference cycles, which only a collection frees."""
        if self.active:
            gc.unfreeze()
            self.freeze()
