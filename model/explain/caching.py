"""What a KV cache saves while a text grows: the same tokens are read with it and without it, timed and compared.

With it a step computes one position; without it, all of them again. The logits differ by rounding only: products of
other shapes add up in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import torch

from chumoku.model.session import Forward, Session

MOST_LENGTHS = 12
"""Lengths that are measured, evenly spaced up to the whole text."""
RUNS = 3
"""Single tokens that are read up to each length; the fastest counts."""


@dataclass(frozen=True)
class CacheReading:
    """One token, read as the last of `n`: what each session `computed`, keeps and took, and the largest difference
    between a logit of one and of the other."""

    n: int
    computed: tuple[int, int]
    bytes: tuple[int, int]
    milliseconds: tuple[float, float]
    difference: float


class Readings:
    """Reads `ids` with two sessions of one run, first with a cache, then without: each step up to a length."""

    def __init__(self, kept: Session, again: Session, ids: Sequence[int], device: torch.device) -> None:
        self.sessions, self.ids, self.device = (kept, again), list(ids), device
        self.left = lengths(len(ids))

    def step(self) -> CacheReading | None:
        """The next length; None after the last."""
        if not self.left:
            return None
        n = self.left.pop(0)
        (with_cache, fast), (without, slow) = (self._read(session, n) for session in self.sessions)
        difference = float((with_cache.logits.float() - without.logits.float()).abs().max())
        kept = with_cache.cache_bytes, without.cache_bytes
        return CacheReading(n, (with_cache.computed, without.computed), kept, (fast, slow), difference)

    def _read(self, session: Session, n: int) -> tuple[Forward, float]:
        """The last of several tokens up to `n`, and the milliseconds of the fastest."""
        begun, single = len(session.ids), max(len(session.ids), n - RUNS)
        if single > begun:
            session.step(self.ids[begun:single])
        found = []
        for token in self.ids[single:n]:
            start = perf_counter()
            forward = session.step([token])
            self._wait()
            found.append(1000 * (perf_counter() - start))
        return forward, min(found)

    def _wait(self) -> None:
        if self.device.type != "cpu":
            getattr(torch, self.device.type).synchronize()


def lengths(n: int) -> list[int]:
    """At most `MOST_LENGTHS` lengths up to `n`, ascending."""
    steps = min(n, MOST_LENGTHS)
    return sorted({round(n * i / steps) for i in range(1, steps + 1)})
