"""`chumoku train`, which shows its progress and writes a model folder with a card.

Also `chumoku units`, `chumoku lengths`, `chumoku speed` and `chumoku seeds`, which add to a card.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.checkpoint import read_card
from chumoku.model.evaluate import LENGTHS
from chumoku.model.training.average import LastCheckpoints
from chumoku.model.training.card import corpus_lengths, corpus_units, make_card, write_card
from chumoku.model.training.compared import other_seeds, speed_beside, stages_of
from chumoku.model.training.curve import draw_curve
from chumoku.model.training.machine import Precision, keep_freed_memory
from chumoku.model.training.pictures import Pictures
from chumoku.model.training.prepare import prepare
from chumoku.model.training.presets import PRESETS, Preset
from chumoku.model.training.snapshots import stored
from chumoku.model.training.train import Trainer, TrainingRun, seed_everything
from chumoku.model.training.warm_start import keep_vocabulary

Found = TypeVar("Found")

console = Console(stderr=True)
REPORT_SECONDS = 60.0
"""Seconds between lines of progress where there is no terminal."""


def run_training(
    *, preset: str, data: Path, device: str = "auto", minutes: float = 120.0, steps: int = 0, seed: int = 0,
    out: Path | None = None, warm_start: Path | None = None, precision: Precision | None = None,
    rate_scale: float = 1.0, snapshots: int = 0, revive: bool = False,
) -> Path:  # fmt: skip
    """Train `preset` on the files in `data`, resuming the run in `out`. Returns the model's folder, `out/NAME`.

    Raises `ValueError` for an unknown preset or device, or missing data.
    """
    if preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}; known are {', '.join(PRESETS)}")
    chosen = keep_vocabulary(PRESETS[preset], warm_start)
    chosen.check_data(data)
    folder = out or Path("runs") / preset
    picked = checkpoint.pick_device(device)
    run = TrainingRun(folder, data, picked, minutes, steps, seed, warm_start, precision, rate_scale, snapshots, revive)
    seed_everything(run)
    keep_freed_memory()
    console.print(f"[bold]{preset}[/] on {run.device}, run in {folder}: reading the data, learning the tokens …")
    trainer = Trainer(chosen, run, prepare(chosen, folder, data, warm_start), tell=console.print)
    if trainer.progress.step:
        console.print(f"going on from step {trainer.progress.step:,}, {trainer.progress.seconds / 60:.1f} minutes in")
    elif warm_start is not None:
        console.print(f"begins with the weights of {warm_start}{but_for(trainer.fresh, trainer.revived)}")
    console.print(f"matrix products in {trainer.precision}")
    fit_with_progress(trainer)
    draw_curve(folder, trainer.task.metric)
    if trainer.stopped:
        console.print(f"stopped and saved; the same command goes on from step {trainer.progress.step:,}")
        return folder
    return export(
        trainer,
        {"command": command_line(preset, run, trainer.precision), "seed": seed, "device": run.device, "data": data},
    )


def but_for(fresh: Sequence[str], revived: int) -> str:
    """What a warm start did not copy, e.g. `; a new head: classifier.weight, classifier.bias`."""
    units = f"; {revived:,} dead FFN units reset" if revived else ""
    return (f"; a new head: {', '.join(fresh)}" if fresh else "") + units


def command_line(preset: str, run: TrainingRun, precision: Precision) -> str:
    """The command that reproduces the model."""
    budget = ["--steps", str(run.steps)] if run.steps else ["--minutes", f"{run.minutes:g}"]
    warm_start = ["--warm-start", str(run.warm_start)] if run.warm_start is not None else []
    scale = ["--rate-scale", f"{run.rate_scale:g}"] if run.rate_scale != 1 else []
    revived = ["--revive"] if run.revive else []
    snapshots = ["--snapshots", str(run.snapshots)] if run.snapshots else []
    how = ["--seed", str(run.seed), "--precision", precision, *scale, *warm_start, *revived, *snapshots]
    from_files = any(source.reads != "package" for source in PRESETS[preset].sources)
    words = ["chumoku", "train", preset, *(["--data", str(run.data)] if from_files else []), *budget, *how]
    return shlex.join(words)


def fit_with_progress(trainer: Trainer) -> None:
    """Run `trainer.fit` with a progress bar that shows the time left, the loss and the last validation."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.1f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, speed_estimate_period=120) as bar:
        task = bar.add_task("starting", total=1.0)
        shown: dict[str, Any] = {}
        due = Every(REPORT_SECONDS)
        metric = trainer.task.metric

        def report(metrics: dict[str, Any]) -> None:
            shown.update(metrics)
            speed = metrics["tokens"] / max(metrics["seconds"], 1e-9)
            held_out = f" · held-out {metric.replace('_', ' ')} {shown[metric]:.3f}" if metric in shown else ""
            text = f"step {metrics['step']:,} · loss {metrics['loss']:.3f}{held_out} · {speed:,.0f} tokens/s"
            done = trainer.run.done(trainer.progress)
            bar.update(task, completed=done, description=text)
            if not console.is_terminal and due(metrics["seconds"]):
                console.print(f"{done:6.1%} · {text} · {time_left(done, metrics['seconds'])} left")

        trainer.fit(report)


class Every:
    """Returns True at most once every `seconds`, for a clock that only grows."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.last = seconds, float("-inf")

    def __call__(self, now: float) -> bool:
        if now - self.last < self.seconds:
            return False
        self.last = now
        return True


def time_left(done: float, seconds: float) -> str:
    """The time left at the average speed, e.g. `1:05:00`."""
    return str(timedelta(seconds=round(seconds * (1 - done) / done))) if done else "unknown"


def export(trainer: Trainer, how: dict[str, Any]) -> Path:
    """Write the averaged weights as float16 with config, tokenizer and card into `run/NAME`."""
    run_folder, preset = trainer.run.folder, trainer.preset
    folder = run_folder / preset.name
    checkpoint.save(folder, trainer.averaged_model(), run_folder / "tokenizer.tiktoken")
    trainer.snapshots.copy_to(folder)
    if isinstance(trainer.task, Pictures):
        trainer.task.ship(folder)
    card = make_card(preset, folder, run_folder, trainer.progress, trainer.task, how)
    card["averaging"] = averaging(trainer, card["curve"])
    if trainer.snapshots.taken:
        card["snapshots"] = trainer.snapshots.taken
    if trainer.run.warm_start is not None:
        began_with = read_card(trainer.run.warm_start)
        card["stages"] = stages_of(card, began_with)
        # Written by hand, so the next training of the same model keeps it.
        if began_with.get("name") == preset.name and "tried" in began_with:
            card["tried"] = began_with["tried"]
    write_card(folder / "card.json", card)
    console.print(f"{folder}: {json.dumps(card['evaluation'], ensure_ascii=False)}")
    return folder


def averaging(trainer: Trainer, curve: list[dict[str, float]]) -> dict[str, Any]:
    """The held-out figures of the average (the end of its curve), of the last step alone (from the last snapshot, if
    there are any) and, if checkpoints are averaged, of each of them."""
    metric, taken = trainer.task.metric, trainer.snapshots.taken

    def alone(parameters: dict[str, Tensor]) -> dict[str, float]:
        return {metric: round(trainer.task.validate(trainer.model_of(parameters)), 4)}

    last_step = taken[-1]["held_out"] if taken else alone(stored(trainer.model))
    found = {"average": {metric: curve[-1][metric]}, "last_step": last_step}
    if isinstance(trainer.average, LastCheckpoints):
        found["checkpoints"] = [alone(averaged) for averaged in trainer.average.checkpoints]
    return found


def add_units(folder: Path, data: Path, device: torch.device) -> dict[str, Any]:
    """Count the units of the model in `folder` on the texts that its preset holds out of `data`, and add them to its
    card.

    Raises `ValueError` for a card without a preset, or missing data.
    """
    loaded, preset = with_its_preset(folder, data, device)
    with console.status(f"counting the units of {loaded.name}"):
        units = corpus_units(loaded, preset, data)
    return added(folder, "units", units)


def add_lengths(folder: Path, data: Path, device: torch.device) -> dict[str, Any]:
    """Measure the model in `folder` at several lengths on texts that its preset holds out of `data`, and add the losses
    to its card.

    Raises `ValueError` for a card without a preset, for missing data, or if no text is long enough.
    """
    loaded, preset = with_its_preset(folder, data, device)
    if loaded.config.max_seq_len < min(LENGTHS):
        window = loaded.config.max_seq_len
        raise ValueError(f"{loaded.name} reads {window} tokens, and the shortest length measured is {min(LENGTHS)}")
    with console.status(f"measuring {loaded.name} over lengths"):
        lengths = corpus_lengths(loaded, preset, data)
    if lengths is None:
        size = max(LENGTHS) + 1
        raise ValueError(f"{data} has no two documents of {size:,} tokens that {loaded.name} could continue")
    return added(folder, "lengths", lengths)


def add_speed(folder: Path, device: torch.device) -> dict[str, Any]:
    """Time a training step of the model's preset and of its baseline, and add both times to the card in `folder`.

    Raises `ValueError` for a card without a preset, or a preset without a baseline.
    """
    preset = preset_of(folder)
    with console.status(f"timing steps of {preset.name} and {preset.baseline}"):
        speed = speed_beside(preset, device)
    return added(folder, "speed", speed)


def add_seeds(folder: Path, runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Add the figures of `runs`, the same training from other seeds, to the card in `folder`.

    Raises `ValueError` for a card without a preset, or a run that differs in more than its seed.
    """
    preset_of(folder)
    return added(folder, "seeds", other_seeds(read_card(folder), map(read_card, runs)))


def with_its_preset(folder: Path, data: Path, device: torch.device) -> tuple[checkpoint.Checkpoint, Preset]:
    """A model and the preset that its card names. Raises `ValueError` if `data` lacks a file of the preset."""
    loaded = checkpoint.load(folder, device)
    preset = preset_of(folder)
    preset.check_data(data)
    return loaded, preset


def preset_of(folder: Path) -> Preset:
    """The preset that a model's card names. Raises `ValueError` for a card without one."""
    preset = PRESETS.get(read_card(folder).get("name", ""))
    if preset is None:
        raise ValueError(
            f"the card of {folder} names no preset, which would say what the model never saw; "
            f"presets are {', '.join(PRESETS)}"
        )
    return preset


def added(folder: Path, name: str, found: Found) -> Found:
    """Add `found` to a model's card, which is read again, because measuring took a while. Returns `found`."""
    file = folder / "card.json"
    write_card(file, json.loads(file.read_text(encoding="utf-8")) | {name: found})
    return found
