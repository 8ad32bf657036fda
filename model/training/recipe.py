"""The parts of a recipe: cross-entropy with label smoothing (Szegedy et al. 2016), and learning-rate schedules.

A schedule has `rate(step, progress)`: the step counts from 0, and `progress` is the fraction of the training done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch.nn import functional

SmoothingForm = Literal["all", "others"]
"""Where the mass ε goes: ε/K to all K classes (Szegedy et al., torch), or ε/(K−1) to all except the right one."""


def cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: float = 0.0, form: SmoothingForm = "all", ignore_id: int = -1
) -> Tensor:
    """Mean of −Σ_k q(k) ln p(k), in nats. logits [... class], targets int64 [...]; targets equal to `ignore_id` do not
    count.

    q(target) = 1 − ε + ε/K and q(k) = ε/K elsewhere ("all"), or 1 − ε and ε/(K−1) ("others").
    """
    if form == "all" or not smoothing:
        flat = logits.float().flatten(0, -2)  # position class
        return functional.cross_entropy(flat, targets.flatten(), ignore_index=ignore_id, label_smoothing=smoothing)
    counted = targets != ignore_id
    log_p = logits[counted].float().log_softmax(-1)  # counted class
    right = log_p.gather(-1, targets[counted, None])[:, 0]
    others = log_p.sum(-1) - right
    return -((1 - smoothing) * right + smoothing / (log_p.shape[-1] - 1) * others).mean()


@dataclass(frozen=True)
class WarmUpThenLinear:
    """Rises linearly over the first `warm_up` (a fraction of the training), then falls to 0 at the end."""

    peak_rate: float
    warm_up: float

    def rate(self, step: int, progress: float) -> float:
        if progress < self.warm_up:
            return self.peak_rate * progress / self.warm_up
        return self.peak_rate * max(0.0, (1.0 - progress) / (1.0 - self.warm_up))


@dataclass(frozen=True)
class WarmUpThenRoot:
    """rate = d_model^−0.5 · min(step^−0.5, step · warm_up_steps^−1.5), steps counted from 1 (Vaswani et al. 2017,
    equation 3). Over the last `cool_down` (a fraction of the training; 0 in the paper) it also falls linearly to 0,
    because the rate is still high after two hours; the paper trained for twelve."""

    d_model: int
    warm_up_steps: int
    cool_down: float = 0.0

    def rate(self, step: int, progress: float) -> float:
        n = step + 1
        rate = float(self.d_model**-0.5 * min(n**-0.5, n * self.warm_up_steps**-1.5))
        return rate * min(1.0, (1.0 - progress) / self.cool_down) if self.cool_down else rate
