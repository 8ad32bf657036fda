"""Averages of the parameters over the end of the training.

The average is what ships. The card has its figure and that of the last step alone.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

import torch
from torch import Tensor, nn


class Average(Protocol):
    @property
    def tensors(self) -> dict[str, Tensor]:
        """The averaged parameters, by name."""
        ...

    def update(self, model: nn.Module, step: int) -> None:
        """Add the model's parameters after `step`, which counts from 0."""
        ...

    def state(self) -> dict[str, Tensor]:
        """The state that `load` restores."""
        ...

    def load(self, state: dict[str, Tensor]) -> None: ...


class MovingAverage:
    """An exponential moving average (Polyak averaging), with a shorter memory at the start to remove its bias."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.tensors = parameters_of(model)

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        weight = 1 - min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.tensors.values()), [p.detach() for p in model.parameters()], weight)

    def state(self) -> dict[str, Tensor]:
        return self.tensors

    def load(self, state: dict[str, Tensor]) -> None:
        for name, x in self.tensors.items():
            x.copy_(state[name])


class LastCheckpoints:
    """The mean of the last `count` checkpoints, taken every `every` steps (Vaswani et al. 2017, section 6.1).

    Before the first checkpoint, it is the current parameters.
    """

    def __init__(self, model: nn.Module, count: int, every: int) -> None:
        self.model, self.every = model, every
        self.checkpoints: deque[dict[str, Tensor]] = deque(maxlen=count)

    @property
    def tensors(self) -> dict[str, Tensor]:
        checkpoints = self.checkpoints or [parameters_of(self.model)]
        return {name: torch.stack([c[name] for c in checkpoints]).mean(0) for name in checkpoints[0]}

    def update(self, model: nn.Module, step: int) -> None:
        if (step + 1) % self.every == 0:
            self.checkpoints.append(parameters_of(model))

    def state(self) -> dict[str, Tensor]:
        kept = {f"{i}.{name}": x for i, c in enumerate(self.checkpoints) for name, x in c.items()}
        return kept | {"taken": torch.tensor(len(self.checkpoints))}

    def load(self, state: dict[str, Tensor]) -> None:
        parameters = dict(self.model.named_parameters())
        self.checkpoints.clear()
        for i in range(min(int(state["taken"]), self.checkpoints.maxlen or 0)):
            self.checkpoints.append({name: state[f"{i}.{name}"].to(p.device) for name, p in parameters.items()})


def parameters_of(model: nn.Module) -> dict[str, Tensor]:
    """Copies of the parameters, by name."""
    return {name: p.detach().clone() for name, p in model.named_parameters()}
