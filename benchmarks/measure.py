"""Interleaved timing, A B A B …, so that changes of the machine's speed affect both sides."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the figure, and its bar (upper if `at_most`, else lower)."""

    what: str
    value: float
    unit: str
    bar: float | None = None
    at_most: bool = True
    note: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the bar is met; None if there is no bar."""
        if self.bar is None:
            return None
        return self.value <= self.bar if self.at_most else self.value >= self.bar


def seconds(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    call()
    return clock() - began


def median_seconds(call: Callable[[], object], runs: int = 50, warm_up: int = 5) -> float:
    for _ in range(warm_up):
        call()
    return statistics.median(seconds(call) for _ in range(runs))


def side_by_side(
    a: Callable[[], object], b: Callable[[], object], runs: int = 200, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, float, float]:
    """The median seconds of a and of b, and the median of the ratio a/b of each pair. `clock`: `time.process_time` for
    what uses one thread, so that other work on the machine counts less."""
    for call in (a, b) * 5:
        call()
    pairs = [(seconds(a, clock), seconds(b, clock)) for _ in range(runs)]
    ratio = statistics.median(x / y for x, y in pairs)
    return statistics.median(x for x, _ in pairs), statistics.median(y for _, y in pairs), ratio
