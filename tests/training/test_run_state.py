"""A run's state is restored completely, and a kill never leaves half of it."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from chumoku.model.training import machine
from chumoku.model.training.average import Average, LastCheckpoints, MovingAverage
from chumoku.model.training.run_state import DamagedState, Progress, load_state, save_state
from tests.conftest import room_for

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
    assert load_state(tmp_path / "state.safetensors", *theirs) == (Progress(steps, 800, 1.5), None)
    for step in range(steps, steps + 4):
        for name, tensor in ours[1].tensors.items():
            assert torch.equal(tensor, theirs[1].tensors[name])
        train_a_step(ours, step)
        train_a_step(theirs, step)
    for a, b in zip(ours[0].parameters(), theirs[0].parameters(), strict=True):
        assert torch.equal(a, b)
    assert ours[3].random() == theirs[3].random()


@pytest.mark.parametrize("moment", ["fsync", "link", "replace"])
@pytest.mark.parametrize("saved", [1, 2])
def test_a_kill_while_saving_leaves_a_whole_state(
    tmp_path: Path, moment: str, saved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, state = tmp_path / "state.safetensors", everything(1)
    for step in range(1, saved + 1):
        save_state(path, *state, Progress(step))

    def killed(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, moment, killed)
    with pytest.raises(KeyboardInterrupt):
        save_state(path, *state, Progress(8))
    monkeypatch.undo()
    assert load_state(path, *everything(2)) == (Progress(saved), None)
    save_state(path, *state, Progress(9))
    assert load_state(path, *everything(2)) == (Progress(9), None)


def test_without_hard_links_a_state_is_saved_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*args: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", unsupported)
    path, state = tmp_path / "state.safetensors", everything(1)
    for step in (1, 2):
        save_state(path, *state, Progress(step))
    path.unlink()  # a kill between the two renames
    said = f"{path} is missing: going on from the state before"
    assert load_state(path, *everything(2)) == (Progress(1), said)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "cut in the header": lambda whole: whole[:100],
    "cut in the numbers": lambda whole: whole[:-100],
    "zeros": lambda whole: bytes(len(whole)),
    "a header of terabytes": lambda whole: (2**42).to_bytes(8, "little") + whole[8:],
    "without its progress": lambda whole: whole.replace(b"progress", b"regress_"),
    "of another model": lambda whole: whole.replace(b"model.0", b"model.7"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_state_falls_back_to_the_one_before(tmp_path: Path, damage: str) -> None:
    path, ours = tmp_path / "state.safetensors", everything(1)
    for step in (1, 2):
        train_a_step(ours, step)
        save_state(path, *ours, Progress(step))
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    theirs = everything(2)
    progress, said = load_state(path, *theirs)
    assert progress.step == 1
    assert said is not None
    assert said.startswith(f"{path} cannot be read (")
    assert said.endswith("going on from the state before")
    assert load_state(path, *everything(3)) == (progress, None), "the good one has taken its place"
    train_a_step(theirs, 2)
    for a, b in zip(ours[0].parameters(), theirs[0].parameters(), strict=True):
        assert torch.equal(a, b), "it goes on exactly as the run did"


@pytest.mark.parametrize("damage", DAMAGE)
def test_without_a_state_before_the_error_says_which_file_and_what_to_do(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "state.safetensors"
    save_state(path, *everything(1), Progress(1))
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(DamagedState, match=r"cannot be read .*Restore one .* or delete both") as said:
        load_state(path, *everything(2))
    assert str(said.value).startswith(f"{path} cannot be read (")
    assert "\n" not in str(said.value)


def test_a_full_disk_loses_no_saved_state(tmp_path: Path) -> None:
    path, state = tmp_path / "state.safetensors", everything(1)
    for step in (1, 2):
        save_state(path, *state, Progress(step))
    files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with room_for(1000), pytest.raises(OSError, match="File too large"):
        save_state(path, *state, Progress(3))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == files


def test_a_run_waits_for_space_and_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, state, told, waited = tmp_path / "state.safetensors", everything(1), list[str](), list[int]()

    def make_room(gives_up: Callable[[], bool]) -> None:
        waited.append(1)
        if len(waited) == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    monkeypatch.setattr(machine, "pause", make_room)
    with room_for(1000):
        machine.when_there_is_space(lambda: save_state(path, *state, Progress(5)), path, lambda: False, told.append)
    assert told == [f"{path} cannot be written (File too large): the run waits for space; Ctrl+C ends it"]
    assert (len(waited), load_state(path, *everything(2))[0].step) == (3, 5)


def test_a_run_that_is_asked_to_stop_does_not_wait(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    with room_for(1000), pytest.raises(OSError, match="File too large") as said:
        machine.when_there_is_space(lambda: save_state(path, *everything(1), Progress(5)), path, lambda: True, print)
    assert said.value.filename == str(path), "the command line names it"


def test_what_a_kill_left_goes_with_the_next_save_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    for name in ("state.safetensors.part", "state.before.safetensors.part", "film.part", ".tmpabcdef"):
        (tmp_path / name).write_text("x")
    for step in (1, 2):
        save_state(path, *everything(1), Progress(step))
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        ".tmpabcdef", "film.part", "state.before.safetensors", "state.safetensors",
    ]  # fmt: skip


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
