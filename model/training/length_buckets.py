"""Batches of examples of similar length, with little padding; each example is drawn in proportion to its weight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

SPREAD = 8
"""A batch is drawn from this many batches' worth of examples of similar length, so that batches differ."""


class LengthBuckets:
    """Draws indices of examples. `lengths` [example] are their lengths, `budget` is the padded size of a batch in
    tokens, `weights` [example] how often each example is drawn relative to the others (None: all equally often)."""

    def __init__(
        self, lengths: Sequence[float] | np.ndarray, budget: int, weights: Sequence[float] | None = None
    ) -> None:
        lengths = np.asarray(lengths)
        self.order = np.argsort(lengths, kind="stable")
        self.lengths = lengths[self.order]
        self.budget = budget
        self.weights = None if weights is None else np.asarray(weights)[self.order]
        # A batch of long examples has fewer of them, so they are drawn by length: all are seen equally often.
        size = self.lengths if self.weights is None else self.lengths * self.weights
        self.cumulative = (size / size.sum()).cumsum()

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Indices of one batch, without duplicates."""
        n = len(self.order)
        at = min(int(np.searchsorted(self.cumulative, rng.random())), n - 1)
        size = max(1, min(self.budget // int(self.lengths[at]), n))
        stretch = min(SPREAD * size, n)
        places = (at - stretch // 2 if stretch < n else 0) + np.arange(stretch)
        # Indices beyond an end are folded back: otherwise the shortest and the longest would be drawn half as often.
        places = np.where(places < 0, -1 - places, np.where(places >= n, 2 * n - 1 - places, places))
        weights = None if self.weights is None else self.weights[places] / self.weights[places].sum()
        chosen: np.ndarray = self.order[np.unique(rng.choice(places, size, replace=False, p=weights))]
        return chosen


def pad_rows(rows: Sequence[Sequence[int] | np.ndarray], pad: int) -> Tensor:
    """Rows of different lengths as one int64 [row position], `pad` on the right."""
    table = np.full((len(rows), max(map(len, rows))), pad, dtype=np.int64)
    for i, row in enumerate(rows):  # numpy: making a tensor of each row took half the time of a translator's batch
        table[i, : len(row)] = row
    return torch.from_numpy(table)
