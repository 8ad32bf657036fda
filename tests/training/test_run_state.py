"""A run's state: everything comes back, and no kill leaves half of it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from model.training import run_state
from model.training.run_state import Averaged, Progress, load_state, save_state

Everything = tuple[nn.Module, Averaged, torch.optim.Optimizer, np.random.Generator]


def everything(seed: int) -> Everything:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4))
    return model, Averaged(model, 0.9), torch.optim.AdamW(model.parameters()), np.random.default_rng(seed)


def train_a_step(of: Everything) -> None:
    model, average, optimizer, rng = of
    x = torch.from_numpy(rng.normal(size=(5, 3))).float()
    model(x).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    average.update(model, 3)


def test_a_run_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    ours, theirs = everything(1), everything(2)
    train_a_step(ours)
    save_state(tmp_path / "state.safetensors", *ours, Progress(7, 800, 1.5))
    assert load_state(tmp_path / "state.safetensors", *theirs) == Progress(7, 800, 1.5)
    for _ in range(3):
        train_a_step(ours)
        train_a_step(theirs)
    for a, b in zip(ours[0].parameters(), theirs[0].parameters(), strict=True):
        assert torch.equal(a, b)
    for name, tensor in ours[1].tensors.items():
        assert torch.equal(tensor, theirs[1].tensors[name])
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
    average, by_hand = Averaged(model, 0.5), 2.0
    for step in range(20):
        with torch.no_grad():
            model.weight.fill_(float(step))
        average.update(model, step)
        decay = min(0.5, (1 + step) / (10 + step))
        by_hand = decay * by_hand + (1 - decay) * step
        assert abs(average.tensors["weight"].item() - by_hand) < 1e-4
    assert model.weight.item() == 19, "the average leaves the model alone"
