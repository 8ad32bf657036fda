"""What Python's garbage collector need not look at.

A full collection of what is there after the start (torch, routes, descriptions) takes 0.15 to 0.25 s, in which nothing
else runs. A server keeps it out of all collections. Other processes, such as tests and notebooks, are left as they are.
"""

from __future__ import annotations

import gc


class Heap:
    """The objects of this process. Nothing is changed until it has settled."""

    def __init__(self) -> None:
        self.settled = False

    def settle(self) -> None:
        """Collect, and keep what is there now out of later collections."""
        self.settled = True
        gc.collect()
        gc.freeze()

    def settle_more(self) -> None:
        """The same for what a model brought: its parts, and modules of transformers. Only what is new is looked at."""
        if self.settled:
            self.settle()

    def give_back(self) -> None:
        """Collect everything: a model that was dropped may refer to itself, which only a collection finds."""
        if self.settled:
            gc.unfreeze()
            self.settle()
