"""Snapshots: a run's parameters at several steps, from before the first step to the end, to watch a model learn.

A snapshot has the parameters of one step; the weights that ship are an average. `snapshots.json` in the run's folder
lists them with their figures; `snapshots/STEP.safetensors` has the numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as serialize
from torch import Tensor, nn

from chumoku.model import checkpoint
from chumoku.model.describe import Description, own_parameters
from chumoku.model.files import read_json, write_whole

FIRST = 0.01
"""The fraction of a run after which the first snapshot after step 0 is taken."""


def fractions(count: int) -> list[float]:
    """The fractions of a run after which snapshots are taken: 0, then from `FIRST` to 1 by a constant factor."""
    return [0.0, *(FIRST ** (1 - i / (count - 2)) for i in range(count - 2)), 1.0]


class Snapshots:
    """The snapshots of the run in a folder: `count` of them, or none if it is 0."""

    def __init__(self, run_folder: Path, count: int, step: int) -> None:
        """`step` is where the run resumes. Later snapshots, which a killed run left, are taken again.

        Raises `ValueError` if the run began with another number of snapshots.
        """
        self.run_folder, self.list, self.count = run_folder, run_folder / "snapshots.json", count
        self.taken: list[dict[str, Any]] = []
        begun: dict[str, Any] = read_json(self.list) if self.list.exists() else {"count": 0, "taken": []}
        if step and begun["count"] != count:
            raise ValueError(
                f"the run in {run_folder} is at step {step:,} and takes {begun['count']} snapshots, not {count}: "
                f"resume it with --snapshots {begun['count']}, or begin another with --out"
            )
        if step:
            self.taken = [snapshot for snapshot in begun["taken"] if snapshot["step"] <= step]

    def due(self, step: int, done: float) -> bool:
        """Whether to take a snapshot at `step`, after the fraction `done` of the run. At most one is taken per step."""
        if not self.count or (self.taken and self.taken[-1]["step"] == step):
            return False
        return done >= fractions(self.count)[min(len(self.taken), self.count - 1)]

    def take(self, parameters: dict[str, Tensor], figures: dict[str, Any]) -> None:
        """Write a snapshot; `figures` has its step and what was measured. Raises `OSError` on a full disk."""
        file = checkpoint.weights_file(self.run_folder, figures["step"])
        file.parent.mkdir(exist_ok=True)
        write_whole(file, serialize(parameters))
        taken = [*self.taken, figures]
        write_whole(self.list, (json.dumps({"count": self.count, "taken": taken}, indent=2) + "\n").encode())
        self.taken = taken

    def copy_to(self, model_folder: Path) -> None:
        """Copy the files into a model's folder."""
        for snapshot in self.taken:
            copy = checkpoint.weights_file(model_folder, snapshot["step"])
            copy.parent.mkdir(exist_ok=True)
            write_whole(copy, checkpoint.weights_file(self.run_folder, snapshot["step"]).read_bytes())


def stored(model: nn.Module) -> dict[str, Tensor]:
    """The parameters by name, in float16."""
    return {name: x.half() for name, x in checkpoint.weights(model).items()}


def gradient_norms(model: nn.Module, description: Description) -> dict[str, list[list[float]]]:
    """The gradient norm of each sublayer's parameters (without those of its norm), by stack: [layer][sublayer]."""
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return {
        stack.id: [
            [norm_of(own_parameters(description, part), gradients) for part in layer.sublayers]
            for layer in stack.layers
        ]
        for stack in description.stacks
    }


def norm_of(names: Sequence[str], gradients: Mapping[str, Tensor]) -> float:
    """The norm of these parameters' gradients as one vector, to four digits."""
    norms = [gradients[name].float().norm() for name in names if name in gradients]
    return float(f"{torch.stack(norms).norm().item():.4g}")
