"""Training learns, stops on request, and resumes after a kill with identical results."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import nn

from chumoku.model import checkpoint, masks
from chumoku.model.evaluate import bits_per_byte
from chumoku.model.training.language_modelling import LanguageModelling
from chumoku.model.training.prepare import prepare
from chumoku.model.training.run_state import Progress
from chumoku.model.training.task import Batch
from chumoku.model.training.train import Trainer, TrainingRun, parameter_groups
from chumoku.model.transformer import DecoderOnly, build
from tests.model.helpers import randomise
from tests.training.helpers import assert_same_weights, tiny_preset, tiny_run, train

ROOT = Path(__file__).parent.parent.parent


def make_trainer(run: TrainingRun, dropout: float = 0.0, **changes: Any) -> Trainer:
    preset = tiny_preset(dropout, **changes)
    return Trainer(preset, run, prepare(preset, run.folder, run.data, run.warm_start))


@pytest.fixture(scope="module")
def uninterrupted(data: Path, tmp_path_factory: pytest.TempPathFactory) -> DecoderOnly:
    """30 steps in one run."""
    torch.set_num_threads(1)
    return train(tiny_preset(), tiny_run(tmp_path_factory.mktemp("whole"), data))


def test_training_learns(data: Path, tmp_path: Path) -> None:
    reports: list[dict[str, Any]] = []
    run = tiny_run(tmp_path, data, steps=150)
    trained = train(tiny_preset(), run, reports.append)
    losses = [report["loss"] for report in reports]
    assert abs(losses[0] - 5.7) < 0.2  # ln 300: a uniform distribution
    assert sum(losses[-10:]) / 10 < 2.5
    task = prepare(tiny_preset(), run.folder, run.data)
    assert task.validate(trained) < 0.5 * task.validate(build(trained.config))
    assert not trained.training


def test_a_report_counts_steps_and_tokens(data: Path, tmp_path: Path) -> None:
    reports: list[dict[str, Any]] = []
    train(tiny_preset(), tiny_run(tmp_path, data, steps=10), reports.append)
    assert [report["step"] for report in reports] == list(range(1, 11))
    assert [report["tokens"] for report in reports] == [4 * 32 * n for n in range(1, 11)]
    assert [report["rate"] for report in reports] == pytest.approx([1e-2 * r for r in (
        0, 1, 8 / 9, 7 / 9, 6 / 9, 5 / 9, 4 / 9, 3 / 9, 2 / 9, 1 / 9)])  # fmt: skip


def stop_at(step: int, signum: int, reports: list[dict[str, Any]] | None = None) -> Any:
    def report(metrics: dict[str, Any]) -> None:
        if reports is not None:
            reports.append(metrics)
        if metrics["step"] == step:
            os.kill(os.getpid(), signum)

    return report


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_resumes_bit_for_bit(signum: int, data: Path, tmp_path: Path, uninterrupted: DecoderOnly) -> None:
    before = signal.getsignal(signum)
    first: list[dict[str, Any]] = []
    train(tiny_preset(), tiny_run(tmp_path, data), stop_at(7, signum, first))
    assert first[-1]["step"] == 7
    assert signal.getsignal(signum) == before
    second: list[dict[str, Any]] = []
    resumed = train(tiny_preset(), tiny_run(tmp_path, data), second.append)
    assert [report["step"] for report in second] == list(range(8, 31))
    assert_same_weights(resumed, uninterrupted)


def test_a_stopped_run_with_dropout_resumes_bit_for_bit(data: Path, tmp_path: Path) -> None:
    """Dropout draws from torch's generator, so its state is part of the run's state."""
    preset = tiny_preset(dropout=0.2)
    whole = train(preset, tiny_run(tmp_path / "whole", data))
    train(preset, tiny_run(tmp_path / "parts", data), stop_at(7, signal.SIGTERM))
    assert_same_weights(train(preset, tiny_run(tmp_path / "parts", data)), whole)


def saved_progress(folder: Path) -> Progress:
    with safe_open(folder / "state.safetensors", framework="pt") as state:
        return Progress(**json.loads(state.metadata()["progress"]))


def test_a_killed_run_resumes(data: Path, tmp_path: Path) -> None:
    """After SIGKILL during a save, the next start resumes from the last saved step and reaches the same weights."""
    process = subprocess.Popen([sys.executable, "-m", "tests.training.helpers", tmp_path / "run", data], cwd=ROOT)
    state, part = tmp_path / "run" / "state.safetensors", tmp_path / "run" / "state.safetensors.part"
    deadline = time.monotonic() + 300  # on a busy machine, importing torch alone takes a minute
    while not (state.exists() and part.exists()):
        time.sleep(0.0001 if state.exists() else 0.05)  # a save is short; importing torch before it is not
        assert time.monotonic() < deadline
        assert process.poll() is None
    process.kill()
    process.wait()
    progress = saved_progress(tmp_path / "run")
    saved = progress.step
    assert 1 <= saved < 400

    reports: list[dict[str, Any]] = []
    resumed = train(tiny_preset(), tiny_run(tmp_path / "run", data, 400), stop_at(saved + 5, signal.SIGTERM, reports))
    assert [report["step"] for report in reports] == list(range(saved + 1, saved + 6))
    assert reports[0]["tokens"] == progress.tokens + 4 * 32
    assert reports[0]["seconds"] >= round(progress.seconds, 2)
    whole = train(tiny_preset(), tiny_run(tmp_path / "whole", data, 400), stop_at(saved + 5, signal.SIGTERM))
    assert_same_weights(resumed, whole)


def test_a_run_that_is_done_does_nothing_more(data: Path, tmp_path: Path) -> None:
    done = train(tiny_preset(), tiny_run(tmp_path, data, 5))
    reports: list[dict[str, Any]] = []
    assert_same_weights(train(tiny_preset(), tiny_run(tmp_path, data, 5), reports.append), done)
    assert reports == []


def test_minutes_end_a_run_too(data: Path, tmp_path: Path) -> None:
    run = dataclasses.replace(tiny_run(tmp_path, data), steps=0, minutes=0.3 / 60)
    reports: list[dict[str, Any]] = []
    train(tiny_preset(), run, reports.append)
    assert all(report["seconds"] < 0.31 for report in reports[:-1])
    assert reports[-1]["seconds"] >= 0.29


def test_validation_is_of_the_average_on_what_was_held_out(data: Path, tmp_path: Path) -> None:
    trainer = make_trainer(tiny_run(tmp_path, data, steps=3, validate_every=0.0))
    reports: list[dict[str, Any]] = []
    trainer.fit(reports.append)
    assert isinstance(trainer.task, LanguageModelling)
    expected = bits_per_byte(trainer.averaged_model(), trainer.task.tokenizer, trainer.task.held_out)
    assert reports[-1]["bits_per_byte"] == expected
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert lines == reports


def test_matrices_decay_and_gains_and_biases_do_not(data: Path, tmp_path: Path) -> None:
    model = build(tiny_preset().config)
    decayed, plain = parameter_groups(model, 0.1)
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.1, 0.0)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    named = [{names[id(p)] for p in group["params"]} for group in (decayed, plain)]
    assert named[0] | named[1] == set(names.values())
    assert len(decayed["params"]) + len(plain["params"]) == len(names)
    assert named[0] == {name for name in names.values() if name.endswith("weight") and "norm" not in name}


def test_gradients_are_clipped(data: Path, tmp_path: Path) -> None:
    trainer = make_trainer(tiny_run(tmp_path, data), clip_norm=0.01)
    seen: list[float] = []
    step = trainer.optimizer.step
    trainer.optimizer.step = lambda: (seen.append(gradient_norm(trainer.model)), step())[1]  # type: ignore[method-assign]
    assert trainer.step()["gradient_norm"] > 0.01
    assert seen == [pytest.approx(0.01, rel=1e-3)]


def gradient_norm(model: nn.Module) -> float:
    return float(torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm())


def test_dropout_works_while_training(data: Path, tmp_path: Path) -> None:
    trainer = make_trainer(tiny_run(tmp_path, data), dropout=0.5)
    randomise(trainer.model)
    inputs = torch.arange(10)[None]
    batch = Batch((inputs,), inputs)
    trainer.task.validate(trainer.averaged_model())  # evaluation must not leave dropout off
    assert trainer.loss(batch) != trainer.loss(batch)


def test_label_smoothing_is_in_the_loss(data: Path, tmp_path: Path) -> None:
    smooth, sharp = (make_trainer(tiny_run(tmp_path, data), label_smoothing=s) for s in (0.3, 0.0))
    # Random weights: the predictions of an untrained model are already nearly uniform.
    smooth.model.load_state_dict(randomise(sharp.model).state_dict())
    inputs = torch.arange(10)[None]
    with torch.no_grad():
        targets = sharp.model(inputs, masks.causal(10, 10)[None, None]).argmax(-1)  # its most certain prediction
        logits = sharp.model(inputs, masks.causal(10, 10)[None, None])
        uniform = -logits.log_softmax(-1).mean()
        a, b = smooth.loss(Batch((inputs,), targets)), sharp.loss(Batch((inputs,), targets))
    assert abs(a - b) > 0.2  # far more than bfloat16's rounding
    assert a.item() == pytest.approx((0.7 * b + 0.3 * uniform).item(), rel=1e-2)


def test_a_warm_start_begins_with_the_shipped_weights_and_tokens(data: Path, tmp_path: Path) -> None:
    trained = train(tiny_preset(), tiny_run(tmp_path / "first", data, 20))
    checkpoint.save(tmp_path / "shipped", trained, tmp_path / "first" / "tokenizer.tiktoken")
    trainer = make_trainer(tiny_run(tmp_path / "second", data, 20, warm_start=tmp_path / "shipped"))
    shipped = checkpoint.load(tmp_path / "shipped").model
    assert_same_weights(trainer.model, shipped)
    assert_same_weights(trainer.averaged_model(), shipped)
    names = ("first", "second")
    first, second = ((tmp_path / name / "tokenizer.tiktoken").read_bytes() for name in names)
    assert first == second
    assert trainer.step()["loss"] < 4


def test_data_that_makes_too_few_tokens_is_refused_before_training(data: Path, tmp_path: Path) -> None:
    """The preset asks for 300 ids. With a smaller tokenizer, the model could be trained but never loaded."""
    for kind in ("animals", "weather"):
        (tmp_path / f"{kind}.txt").write_text("ab " * 200)
    with pytest.raises(ValueError, match="300"):
        make_trainer(tiny_run(tmp_path / "run", tmp_path))


def test_a_kill_while_the_tokenizer_is_written_leaves_none(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed run would take half a file of ranks for its tokenizer."""

    def killed(_: int) -> None:
        assert list(tmp_path.glob("tokenizer.tiktoken*")), "it is being written"
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        prepare(tiny_preset(), tmp_path, data)
    monkeypatch.undo()
    assert list(tmp_path.glob("tokenizer.tiktoken*")) == []
