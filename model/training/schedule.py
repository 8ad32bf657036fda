"""Learning-rate schedules: the rate of a step, as a function of its number and of how much of the training is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Schedule(Protocol):
    def rate(self, step: int, progress: float) -> float:
        """The learning rate of step 0, 1, …; `progress` is the part of the run that lies behind, in [0, 1]."""
        ...


@dataclass(frozen=True)
class WarmUpThenLinear:
    """Up in a straight line over the first `warm_up` of the training (a part of 1), then down to 0 at its end."""

    peak_rate: float
    warm_up: float

    def rate(self, step: int, progress: float) -> float:
        if progress < self.warm_up:
            return self.peak_rate * progress / self.warm_up
        return self.peak_rate * max(0.0, (1.0 - progress) / (1.0 - self.warm_up))


@dataclass(frozen=True)
class WarmUpThenRoot:
    """rate = d_model^−0.5 · min(step^−0.5, step · warm_up_steps^−1.5), steps counted from 1 (Vaswani et al. 2017,
    equation 3). Over the last `cool_down` of the training (a part of 1; the paper: 0) it also falls to 0 in a straight
    line: after two hours the root is still high, where the paper's had twelve."""

    d_model: int
    warm_up_steps: int
    cool_down: float = 0.0

    def rate(self, step: int, progress: float) -> float:
        n = step + 1
        rate = float(self.d_model**-0.5 * min(n**-0.5, n * self.warm_up_steps**-1.5))
        return rate * min(1.0, (1.0 - progress) / self.cool_down) if self.cool_down else rate
