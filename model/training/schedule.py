"""Learning-rate schedules: a factor on the peak rate, as a function of how much of the training is done."""

from __future__ import annotations


def warm_up_then_linear(progress: float, warm_up: float) -> float:
    """Up in a straight line over the first `warm_up` of the training, then down to 0 at its end; progress in [0, 1]."""
    if progress < warm_up:
        return progress / warm_up
    return max(0.0, (1.0 - progress) / (1.0 - warm_up))
