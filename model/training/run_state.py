"""What a training run needs to resume after a kill, in one file that is replaced atomically."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from model.training.average import Average
from model.training.precision import Precision


@dataclass
class Progress:
    """What was done so far, over all resumed runs."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    precision: Precision | None = None


def save_state(
    path: Path,
    model: nn.Module,
    average: Average,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
    progress: Progress,
) -> None:
    """Write to a file beside `path`, then rename it: a kill at any moment leaves the old state or the new one."""
    tensors = {f"model.{name}": p.detach() for name, p in model.named_parameters()}
    tensors |= {f"average.{name}": x for name, x in average.state().items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": x for key, x in moments.items()}
    tensors["torch_rng"] = torch.get_rng_state()  # what dropout draws from
    metadata = {"progress": json.dumps(asdict(progress)), "rng": json.dumps(rng.bit_generator.state)}
    scratch = path.with_suffix(".part")
    save_file({name: x.cpu().contiguous().clone() for name, x in tensors.items()}, scratch, metadata)
    os.replace(scratch, path)


def load_state(
    path: Path, model: nn.Module, average: Average, optimizer: torch.optim.Optimizer, rng: np.random.Generator
) -> Progress:
    """Restore what `save_state` saved."""
    with safe_open(path, framework="pt") as file:
        metadata: dict[str, str] = file.metadata()
        tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    moments: dict[int, dict[str, Any]] = {}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[f"model.{name}"])
        average.load({name.removeprefix("average."): x for name, x in tensors.items() if name.startswith("average.")})
    for name, x in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".")
            moments.setdefault(int(index), {})[key] = x
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    if "torch_rng" in tensors:
        torch.set_rng_state(tensors["torch_rng"])
    rng.bit_generator.state = json.loads(metadata["rng"])
    return Progress(**json.loads(metadata["progress"]))
