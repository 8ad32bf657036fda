"""A run's state is restored completely, and a kill never leaves half of it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from model.training import run_state
from model.training.average import Average, LastCheckpoints, MovingAverage
from model.training.run_state import Progress, load_state, save_state

Everything = tuple[nn.Module, Average, torch.optim.Optimizer, np.random.Generator]
AVERAGES: dict[str, Callable[[nn.Module], Average]] = {
    "moving": lambda model: MovingAverage(model, 0.9),
    "last checkpoints": lambda model: LastCheckpoints(model, 3, 2),
}


def everything(seed: int, average: str = "moving") -> Everything:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))
    return model, AVERAGES[average](model), torch.optim.AdamW(model.parameters()), np.random.default_rng(seed)


def train_a_step(of: Everything, step: int = 3) -> None:
    model, average, optimizer, rng = of
    x = torch.from_numpy(rng.normal(size=(5, 3))).float()
    model(x).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    average.update(model, step)


@pytest.mark.parametrize("steps", [1, 2, 5, 9])
@pytest.mark.parametrize("average", AVERAGES)
def test_a_run_resumes_as_if_it_had_never_stopped(average: str, steps: int, tmp_path: Path) -> None:
    """Stopped before the first checkpoint of an average, or after some or all of them."""
    ours, theirs = everything(1, average), everything(2, average)
    for step in range(steps):
        train_a_step(ours, step)
    save_state(tmp_path / "state.safetensors", *ours, Progress(steps, 800, 1.5))
    assert load_state(tmp_path / "state.safetensors", *theirs) == Progress(steps, 800, 1.5)
    for step in range(steps, steps + 4):
        for name, tensor in ours[1].tensors.items():
            assert torch.equal(tensor, theirs[1].tensors[name])
        train_a_step(ours, step)
        train_a_step(theirs, step)
    for a, b in zip(ours[0].parameters(), theirs[0].parameters(), strict=True):
        assert torch.equal(a, b)
    assert ours[3].random() == theirs[3].random()


@pytest.mark.parametrize("moment", ["save_file", "replace"])
def test_a_kill_while_saving_leaves_the_old_state(tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, state = tmp_path / "state.safetensors", everything(1)
    save_state(path, *state, Progress(1))

    def killed(*args: object) -> None:
        path.with_suffix(".part").write_bytes(b"half a st")
        raise KeyboardInterrupt

    monkeypatch.setattr(run_state if moment == "save_file" else run_state.os, moment, killed)
    with pytest.raises(KeyboardInterrupt):
        save_state(path, *state, Progress(2))
    monkeypatch.undo()
    assert load_state(path, *everything(2)).step == 1
    save_state(path, *state, Progress(3))
    assert load_state(path, *everything(2)).step == 3


def test_the_average_is_exponential_with_a_shorter_memory_at_first() -> None:
    model = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(2.0)
    average, by_hand = MovingAverage(model, 0.5), 2.0
    for step in range(20):
        with torch.no_grad():
            model.weight.fill_(float(step))
        average.update(model, step)
        decay = min(0.5, (1 + step) / (10 + step))
        by_hand = decay * by_hand + (1 - decay) * step
        assert abs(average.tensors["weight"].item() - by_hand) < 1e-4
    assert model.weight.item() == 19, "the average does not change the model"


def test_the_last_checkpoints_are_averaged_by_hand() -> None:
    """Three checkpoints, every second step: after step 9, those of steps 5, 7 and 9, counted from 0."""
    model = nn.Linear(2, 1)
    average, seen = LastCheckpoints(model, 3, 2), []
    for step in range(10):
        with torch.no_grad():
            model.weight.copy_(torch.tensor([[step**2, 1.0 - step]]))
        average.update(model, step)
        if step % 2:
            seen.append(torch.tensor([[step**2, 1.0 - step]]))
        kept = seen[-3:] or [model.weight.detach()]  # before the first checkpoint: the model itself
        torch.testing.assert_close(average.tensors["weight"], torch.stack(kept).mean(0))
    torch.testing.assert_close(average.tensors["weight"], torch.tensor([[(25 + 49 + 81) / 3, 1.0 - 7]]))
    assert average.tensors["weight"] is not model.weight


def test_before_its_first_checkpoint_an_average_is_a_copy_of_the_model() -> None:
    model = nn.Linear(2, 1)
    tensors = LastCheckpoints(model, 3, 100).tensors
    before = tensors["weight"].clone()
    with torch.no_grad():
        model.weight.add_(1)
    assert torch.equal(tensors["weight"], before)
