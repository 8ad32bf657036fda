"""Snapshots of a run: when they are taken, what they hold, and that the run is the same with and without them."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from chumoku.model import checkpoint
from chumoku.model.evaluate import bits_per_byte
from chumoku.model.training import command
from chumoku.model.training.card import log_of
from chumoku.model.training.command import command_line, run_training
from chumoku.model.training.snapshots import Snapshots, fractions
from chumoku.model.training.train import TrainingRun
from chumoku.model.transformer import DecoderOnly, build
from tests.training.helpers import assert_same_weights, tiny_preset, tiny_run, train
from tests.training.test_train import make_trainer


def listed(run_folder: Path) -> list[dict[str, Any]]:
    """The snapshots in `snapshots.json`; there is a file for each."""
    taken: list[dict[str, Any]] = json.loads((run_folder / "snapshots.json").read_text())["taken"]
    files = {file.name for file in (run_folder / "snapshots").iterdir()}
    assert {f"{one['step']}.safetensors" for one in taken} <= files
    return taken


@pytest.fixture(scope="module")
def watched(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DecoderOnly]:
    folder = tmp_path_factory.mktemp("watched")
    return folder, train(tiny_preset(dropout=0.2), tiny_run(folder, data, snapshots=5))


def test_they_begin_before_the_first_step_and_grow_by_a_constant_factor() -> None:
    assert fractions(2) == [0, 1]
    assert fractions(4) == pytest.approx([0, 0.01, 0.1, 1])
    run = Snapshots(Path("nowhere"), 8, 0)
    steps = []
    for step in range(3001):
        if run.due(step, step / 3000):
            steps.append(step)
            run.taken.append({"step": step})
    assert steps == [0, 30, 65, 140, 300, 647, 1393, 3000]


def test_watching_changes_nothing(data: Path, tmp_path: Path, watched: tuple[Path, DecoderOnly]) -> None:
    """Not even what dropout draws."""
    assert_same_weights(watched[1], train(tiny_preset(dropout=0.2), tiny_run(tmp_path, data)))
    assert [one["step"] for one in listed(watched[0])] == [0, 1, 2, 7, 30]


def test_the_first_is_the_untrained_model_in_float16(data: Path, watched: tuple[Path, DecoderOnly]) -> None:
    torch.manual_seed(5)
    untrained = build(tiny_preset().config)
    kept = load_file(watched[0] / "snapshots" / "0.safetensors")
    for name, x in checkpoint.weights(untrained).items():
        assert torch.equal(kept[name], x.half())


def test_figures_are_of_the_weights_that_are_stored(data: Path, watched: tuple[Path, DecoderOnly]) -> None:
    trainer = make_trainer(tiny_run(watched[0], data, snapshots=5))
    for one in listed(watched[0]):
        model = build(trainer.preset.config).eval()
        assert isinstance(model, DecoderOnly)
        checkpoint.load_weights(model, load_file(watched[0] / "snapshots" / f"{one['step']}.safetensors"))
        measured = bits_per_byte(model, trainer.task.tokenizer, trainer.task.held_out)  # type: ignore[attr-defined]
        assert one["held_out"] == {"bits_per_byte": pytest.approx(measured, abs=1e-4)}
        assert one["tokens"] == one["step"] * 4 * 32


def test_gradients_at_step_0_are_those_of_the_first_step(data: Path, tmp_path: Path) -> None:
    trainer = make_trainer(tiny_run(tmp_path, data, steps=1, snapshots=2))
    reports: list[dict[str, Any]] = []
    trainer.fit(reports.append)
    first = listed(tmp_path)[0]
    assert first["gradient_norm"] == pytest.approx(reports[0]["gradient_norm"], abs=1e-4)
    assert first["loss"] == pytest.approx(reports[0]["loss"], abs=1e-4)
    layers = torch.tensor(first["gradients"]["main"])
    assert layers.shape == (2, 2)  # layer sublayer
    assert 0 < layers.square().sum().sqrt() < first["gradient_norm"]  # the rest are embeddings and norms


def test_a_killed_run_neither_loses_nor_doubles_them(
    data: Path, tmp_path: Path, watched: tuple[Path, DecoderOnly]
) -> None:
    """Killed at step 8, with a state of step 3: the snapshot of step 7 is taken again."""
    preset, run = tiny_preset(dropout=0.2), tiny_run(tmp_path, data, snapshots=5)

    def stop(metrics: dict[str, Any]) -> None:
        if metrics["step"] == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    train(preset, run, stop)
    (tmp_path / "kept").write_bytes((tmp_path / "state.safetensors").read_bytes())
    train(preset, run, lambda metrics: os.kill(os.getpid(), signal.SIGTERM) if metrics["step"] == 8 else None)
    (tmp_path / "state.safetensors").write_bytes((tmp_path / "kept").read_bytes())
    assert listed(tmp_path)[-1]["step"] == 7
    train(preset, run)
    assert listed(tmp_path) == listed(watched[0])
    for one in listed(tmp_path):
        name = f"snapshots/{one['step']}.safetensors"
        assert (tmp_path / name).read_bytes() == (watched[0] / name).read_bytes()


def test_a_run_keeps_the_number_it_began_with(data: Path, tmp_path: Path) -> None:
    train(tiny_preset(), tiny_run(tmp_path, data, steps=2, snapshots=2))
    with pytest.raises(ValueError, match=r"at step 2 and takes 2 snapshots, not 3: resume it with --snapshots 2"):
        make_trainer(tiny_run(tmp_path, data, steps=4, snapshots=3))


@pytest.mark.parametrize(("steps", "count"), [(10, 1), (10, 12), (10, -1)])
def test_a_number_that_no_run_can_take_is_refused(steps: int, count: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at most one a step between, got"):
        tiny_run(tmp_path, tmp_path, steps=steps, snapshots=count)


def test_minutes_too_end_with_a_snapshot(data: Path, tmp_path: Path) -> None:
    run = TrainingRun(tmp_path, data, torch.device("cpu"), minutes=0.2 / 60, precision="float32", snapshots=3)
    reports: list[dict[str, Any]] = []
    train(tiny_preset(), run, reports.append)
    steps = [one["step"] for one in listed(tmp_path)]
    assert (steps[0], steps[-1]) == (0, reports[-1]["step"])


def test_the_model_s_folder_and_card_have_them(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(command.PRESETS, "tiny", tiny_preset())
    folder = run_training(
        preset="tiny", data=data, device="cpu", steps=4, out=tmp_path, precision="float32", snapshots=3
    )
    card = checkpoint.load(folder).card
    assert card["snapshots"] == listed(tmp_path)
    assert sorted(file.name for file in (folder / "snapshots").iterdir()) == [
        f"{step}.safetensors" for step in (0, 1, 4)
    ]
    assert card["log"]["step"] == [1, 2, 3, 4]
    assert "--snapshots 3" in card["command"]
    run = tiny_run(tmp_path, data, snapshots=4)
    assert command_line("tiny", run, "float32").endswith("--precision float32 --snapshots 4")


def test_the_log_on_a_card_is_dense_at_first_and_ends_with_the_last_step() -> None:
    steps = [*range(1, 50), *range(50, 30_001, 50)]
    log = log_of([{"step": step, "loss": 1 / step, "rate": 1e-3} for step in steps])
    assert log["step"][:49] == steps[:49]
    assert log["step"][-1] == 30_000
    assert len(log["step"]) == 49 + 100
    assert log_of([])["step"] == []
