"""The state that a training run resumes from after a kill: one file, and the previous one in case it is damaged."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from chumoku.model.files import SCRATCH, sync, write_beside
from chumoku.model.training.average import Average
from chumoku.model.training.machine import Precision


@dataclass
class Progress:
    """How far a run has come, including what it did before it was resumed."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    precision: Precision | None = None


def before(path: Path) -> Path:
    """The file of the previous state."""
    return path.with_name(f"{path.stem}.before{path.suffix}")


def save_state(
    path: Path,
    model: nn.Module,
    average: Average,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
    progress: Progress,
) -> None:
    """Write to a file next to `path`, sync it, then rename it: a kill at any moment leaves a whole state. The previous
    state is kept as `before(path)`. Raises `OSError` on a full disk, without changing either file."""
    tensors = {f"model.{name}": p.detach() for name, p in model.named_parameters()}
    tensors |= {f"average.{name}": x for name, x in average.state().items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": x for key, x in moments.items()}
    tensors["torch_rng"] = torch.get_rng_state()  # what dropout draws from
    metadata = {"progress": json.dumps(asdict(progress)), "rng": json.dumps(rng.bit_generator.state)}
    scratch = write_beside(path, save({name: x.cpu().contiguous().clone() for name, x in tensors.items()}, metadata))
    if path.exists():
        keep(path)
    os.replace(scratch, path)
    sync(path.parent)


def keep(path: Path) -> None:
    """Give a file the name `before(path)` too, so that `path` exists at any moment."""
    kept = before(path)
    scratch = kept.with_name(kept.name + SCRATCH)
    scratch.unlink(missing_ok=True)
    try:
        os.link(path, scratch)
    except OSError:  # a file system without hard links
        os.replace(path, kept)
    else:
        os.replace(scratch, kept)
        scratch.unlink(missing_ok=True)  # renaming does nothing if both are one file already


class DamagedState(ValueError):
    """No file of a run's state can be read. The message names them and says what to do."""


def load_state(
    path: Path, model: nn.Module, average: Average, optimizer: torch.optim.Optimizer, rng: np.random.Generator
) -> tuple[Progress, str | None]:
    """Restore what `save_state` saved. If the newest file is damaged, the previous one takes its place. Returns the
    progress and, in that case, a sentence about it. Raises `DamagedState` if neither can be read."""
    found: list[str] = []
    for file in (path, before(path)):
        try:
            progress = restore(file, model, average, optimizer, rng)
        except FileNotFoundError:
            found.append(f"{file} is missing")
        except (PermissionError, torch.OutOfMemoryError):
            raise  # the file is whole
        except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            found.append(f"{file} cannot be read ({' '.join(str(error).split())})")
        else:
            if not found:
                return progress, None
            os.replace(file, path)  # otherwise the next save would keep the damaged file as the previous one
            sync(path.parent)
            return progress, f"{found[0]}: going on from the state before"
    raise DamagedState(
        f"{'; '.join(found)}. Restore one from a copy; or delete both, and the run begins again at step 0"
    )


def restore(
    path: Path, model: nn.Module, average: Average, optimizer: torch.optim.Optimizer, rng: np.random.Generator
) -> Progress:
    """Restore one file."""
    path.stat()  # a missing file is a `FileNotFoundError`
    with safe_open(path, framework="pt") as file:
        metadata: dict[str, str] = file.metadata()
        tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    progress, state = Progress(**json.loads(metadata["progress"])), json.loads(metadata["rng"])
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
    torch.set_rng_state(tensors["torch_rng"])
    rng.bit_generator.state = state
    return progress
