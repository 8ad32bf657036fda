"""The training loop: data → batches → loss → AdamW. It stops after a time or a number of steps, and can be resumed
after a kill at any moment."""

from __future__ import annotations

import json
import logging
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from chumoku.model import checkpoint
from chumoku.model.describe import describe
from chumoku.model.mechanisms import fuse_attention, mixers
from chumoku.model.training.average import LastCheckpoints, MovingAverage
from chumoku.model.training.machine import PRECISIONS, Precision, faster, products_in, unwritten, when_there_is_space
from chumoku.model.training.presets import Preset
from chumoku.model.training.recipe import cross_entropy
from chumoku.model.training.run_state import Progress, before, load_state, save_state
from chumoku.model.training.snapshots import Snapshots, gradient_norms, stored
from chumoku.model.training.task import Batch, Task
from chumoku.model.training.warm_start import begin_with, revive_dead_units
from chumoku.model.transformer import Transformer, build


@dataclass(frozen=True)
class TrainingRun:
    """Where and how long to train. `steps` 0: as many as fit into `minutes`; `precision` None: the faster one.

    `rate_scale` multiplies the preset's learning rates: a warm start needs lower ones than random weights. `snapshots`
    is how many to take, including step 0 and the end. `revive` resets the dead FFN units of a warm start.
    `validate_every` and `save_every` are in seconds.
    """

    folder: Path
    data: Path
    device: torch.device
    minutes: float
    steps: int = 0
    seed: int = 0
    warm_start: Path | None = None
    precision: Precision | None = None
    rate_scale: float = 1.0
    snapshots: int = 0
    revive: bool = False
    validate_every: float = 240.0
    save_every: float = 60.0

    def __post_init__(self) -> None:
        if self.steps < 0 or not (self.steps or self.minutes > 0):
            raise ValueError(f"a run lasts some minutes or some steps, got {self.minutes:g} and {self.steps}")
        if self.revive and self.warm_start is None:
            raise ValueError("only a warm start has dead units to revive: name the model that the run begins with")
        if not self.rate_scale > 0:
            raise ValueError(f"learning rates are scaled by a number above 0, got {self.rate_scale}")
        if self.precision not in (None, *PRECISIONS):
            raise ValueError(f"unknown precision {self.precision!r}; known are {', '.join(PRECISIONS)}")
        if self.snapshots and not 2 <= self.snapshots <= (self.steps or self.snapshots) + 1:
            raise ValueError(
                f"snapshots are of step 0, of the end, and at most one a step between, got {self.snapshots}"
            )

    def done(self, progress: Progress) -> float:
        """The fraction of the run that is done, from 0 to 1."""
        part = progress.step / self.steps if self.steps else progress.seconds / (60 * self.minutes)
        return min(1.0, part)


Report = Callable[[dict[str, Any]], None]
log = logging.getLogger("chumoku")


def seed_everything(run: TrainingRun) -> None:
    """Fix torch's seed and flush denormals to zero: they make a CPU's backward pass 20 to 50 times slower."""
    torch.manual_seed(run.seed)
    torch.set_flush_denormal(True)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Weight decay applies to matrices, except for a mixer's `undecayed` ones, and not to gains and biases."""
    spared = {id(p) for mixer in mixers(model) for p in mixer.undecayed()}
    decayed = [p for p in model.parameters() if p.dim() >= 2 and id(p) not in spared]
    rest = [p for p in model.parameters() if p.dim() < 2 or id(p) in spared]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


class Trainer:
    """The state of one run and the loop over it. `fresh` names the parameters that a warm start left random, `revived`
    counts the FFN units that it reset; `tell` is called with messages for the person at the terminal."""

    def __init__(self, preset: Preset, run: TrainingRun, task: Task, tell: Callable[[str], None] = log.warning) -> None:
        self.preset, self.run, self.task, self.tell = preset, run, task, tell
        self.model = build(preset.config).to(run.device)
        self.fresh = [] if run.warm_start is None else begin_with(self.model, run.warm_start)
        self.revived = revive_dead_units(self.model, run.warm_start) if run.warm_start and run.revive else 0
        fuse_attention(self.model, preset.config.max_seq_len)
        self.average = (
            LastCheckpoints(self.model, *preset.last_checkpoints)
            if preset.last_checkpoints
            else MovingAverage(self.model, preset.ema_decay)
        )
        self.optimizer = torch.optim.AdamW(
            parameter_groups(self.model, preset.weight_decay), betas=preset.betas, eps=preset.adam_eps, fused=True
        )
        self.rng = np.random.default_rng(run.seed)
        self.progress = Progress()
        self.state_file = run.folder / "state.safetensors"
        if self.state_file.exists() or before(self.state_file).exists():
            self.progress, said = load_state(self.state_file, self.model, self.average, self.optimizer, self.rng)
            if said:
                tell(said)
        self.snapshots = Snapshots(run.folder, run.snapshots, self.progress.step)
        self.progress.precision = self.precision = self.pick_precision()
        self.stopped = False

    def pick_precision(self) -> Precision:
        """The precision that the run began with, so that it resumes bit for bit; otherwise the requested one; otherwise
        the faster one."""
        given = self.progress.precision or self.run.precision
        if given:
            return given
        batch = self.task.batch(np.random.default_rng(self.run.seed)).to(self.run.device)
        precision, _ = faster(lambda precision: self.loss(batch, precision), self.run.device)
        self.optimizer.zero_grad()
        return precision

    def fit(self, report: Report) -> None:
        """Run steps until the run is done or stopped; validate and save on the way. `report` gets a dict for each step.

        SIGTERM and Ctrl-C save first; a SIGKILL loses at most `save_every` seconds.
        """
        previous = [signal.signal(s, self._stop) for s in (signal.SIGTERM, signal.SIGINT)]
        saved = validated = self.progress.seconds
        try:
            self.snapshot()
            while self.run.done(self.progress) < 1.0 and not self.stopped:
                metrics = self.step()
                self.snapshot()
                is_last = self.run.done(self.progress) >= 1.0
                if is_last or self.progress.seconds - validated > self.run.validate_every:
                    validated = self.progress.seconds
                    metrics[self.task.metric] = self.task.validate(self.averaged_model())
                if self.progress.seconds - saved > self.run.save_every:
                    saved = self.progress.seconds
                    self.save()
                report(metrics)
                self.log(metrics)
        finally:
            try:
                self.save()
            finally:
                for s, handler in zip((signal.SIGTERM, signal.SIGINT), previous, strict=True):
                    signal.signal(s, handler)

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        self.stopped = True

    def step(self) -> dict[str, Any]:
        """One batch: forward, loss, backward, update."""
        began = time.monotonic()
        rate = self.run.rate_scale * self.preset.schedule.rate(self.progress.step, self.run.done(self.progress))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        batch = self.task.batch(self.rng)
        loss = self.loss(batch.to(self.run.device))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.preset.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.average.update(self.model, self.progress.step)
        self.progress.step += 1
        self.progress.tokens += batch.n_targets
        self.progress.seconds += time.monotonic() - began
        return {
            "step": self.progress.step, "tokens": self.progress.tokens, "seconds": round(self.progress.seconds, 2),
            "rate": rate, "loss": loss.item(), "gradient_norm": norm.item(),
        }  # fmt: skip

    def loss(self, batch: Batch, precision: Precision | None = None) -> Tensor:
        """Mean cross-entropy over the batch, in nats; matrix products in `precision` (None: the run's)."""
        self.model.train()
        with products_in(precision or self.precision, self.run.device):
            logits = self.task.forward(self.model, batch)  # ... class
        return cross_entropy(logits, batch.targets, self.preset.label_smoothing, self.preset.smoothing_form)

    def averaged_model(self) -> Transformer:
        return self.model_of(self.average.tensors)

    def model_of(self, parameters: dict[str, Tensor]) -> Transformer:
        with torch.random.fork_rng(devices=[]):  # building the model uses the generator that dropout uses
            model = build(self.preset.config).to(self.run.device).eval()
        checkpoint.load_weights(model, parameters)
        return model

    def snapshot(self) -> None:
        """Take a snapshot if one is due. Changes nothing in the run."""
        if not self.snapshots.due(self.progress.step, self.run.done(self.progress)):
            return
        parameters = stored(self.model)
        held_out = {self.task.metric: round(self.task.validate(self.model_of(parameters)), 4)}
        progress = {"step": self.progress.step, "tokens": self.progress.tokens}
        figures = {**progress, "held_out": held_out, **self.gradients()}
        when_there_is_space(
            lambda: self.snapshots.take(parameters, figures), self.snapshots.list, lambda: self.stopped, self.tell
        )

    def gradients(self) -> dict[str, Any]:
        """Loss and gradients on the run's first batch, which is the same for all snapshots. Changes nothing in the
        run."""
        batch = self.task.batch(np.random.default_rng(self.run.seed)).to(self.run.device)
        with torch.random.fork_rng(devices=[]):
            loss = self.loss(batch)
            loss.backward()
        total = nn.utils.get_total_norm([p.grad for p in self.model.parameters() if p.grad is not None])
        norms = gradient_norms(self.model, describe(self.preset.config))
        self.optimizer.zero_grad()
        return {"loss": round(loss.item(), 4), "gradient_norm": round(total.item(), 4), "gradients": norms}

    def save(self) -> None:
        """Save the state. On a full disk the run waits, so that nothing is lost; a run that was asked to stop raises
        `OSError`, and the previous state is kept."""
        state = (self.model, self.average, self.optimizer, self.rng, self.progress)
        when_there_is_space(
            lambda: save_state(self.state_file, *state), self.state_file, lambda: self.stopped, self.tell
        )

    def log(self, metrics: dict[str, Any]) -> None:
        """Log a line of JSON for each of the first 50 steps, every 50 steps, and at every validation. If the disk is
        full, the curve lacks that point."""
        if metrics["step"] < 50 or metrics["step"] % 50 == 0 or self.task.metric in metrics:
            path = self.run.folder / "metrics.jsonl"
            try:
                with path.open("a") as file:
                    file.write(json.dumps(metrics) + "\n")
            except OSError as error:
                self.tell(unwritten(path, error))
