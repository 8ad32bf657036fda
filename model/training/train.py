"""The training loop: data → batches → loss → AdamW, stopped by a clock, resumable after a kill at any moment."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from model import checkpoint, masks
from model import tokenizer as tokenizers
from model.attention import fuse_attention
from model.evaluate import bits_per_byte
from model.tokenizer import Tokenizer
from model.training import bpe
from model.training.data import Mixture, Stream, is_held_out, read_documents, sample_texts
from model.training.presets import Preset
from model.training.run_state import Averaged, Progress, load_state, save_state
from model.training.schedule import warm_up_then_linear
from model.transformer import DecoderOnly, build

BPE_BYTES = 24_000_000


@dataclass(frozen=True)
class Run:
    """Where and for how long to train. `steps` 0 means: as many as fit into `minutes`."""

    folder: Path
    data: Path
    device: torch.device
    minutes: float
    steps: int = 0
    seed: int = 0
    warm_start: Path | None = None
    validate_every: float = 240.0
    save_every: float = 60.0

    def done(self, progress: Progress) -> float:
        """The part of the run that lies behind, from 0 to 1."""
        part = progress.step / self.steps if self.steps else progress.seconds / (60 * self.minutes)
        return min(1.0, part)


Report = Callable[[dict[str, Any]], None]


def train(preset: Preset, run: Run, report: Report = lambda metrics: None) -> DecoderOnly:
    """Train `preset`, or go on where `run.folder` stopped; returns the averaged model. `report` gets a dict a step.

    SIGTERM and Ctrl-C save first; a SIGKILL loses at most `save_every` seconds.
    """
    seed_everything(run)
    trainer = Trainer(preset, run, *prepare(preset, run))
    trainer.fit(report)
    return trainer.averaged_model()


def seed_everything(run: Run) -> None:
    """Fix torch's seed; let denormals be zero: they make a CPU's backward pass 20 to 50 times slower."""
    torch.manual_seed(run.seed)
    torch.set_flush_denormal(True)


def prepare(preset: Preset, run: Run) -> tuple[Mixture, list[str], Tokenizer]:
    """Everything that is made from the data before the first step."""
    run.folder.mkdir(parents=True, exist_ok=True)
    tokenizer = prepare_tokenizer(preset, run)
    return *prepare_data(preset, run, tokenizer), tokenizer


def prepare_tokenizer(preset: Preset, run: Run) -> Tokenizer:
    """The run's own tokenizer: kept from before, taken from the warm start, or learned from the data."""
    ranks_file = run.folder / "tokenizer.tiktoken"
    if not ranks_file.exists():
        if run.warm_start is not None:
            ranks_file.write_bytes((run.warm_start / "tokenizer.tiktoken").read_bytes())
        else:
            texts = sample_texts({run.data / s.file: s.weight for s in preset.sources}, BPE_BYTES)
            bpe.save_ranks(bpe.learn_ranks(texts, preset.config.vocab_size - 2), ranks_file)
    tokenizer = tokenizers.load(ranks_file)
    if tokenizer.vocab_size != preset.config.vocab_size:
        raise ValueError(
            f"{ranks_file} has {tokenizer.vocab_size} ids, {preset.name} needs {preset.config.vocab_size}: "
            "too little text to learn them from?"
        )
    return tokenizer


def prepare_data(preset: Preset, run: Run, tokenizer: Tokenizer) -> tuple[Mixture, list[str]]:
    """Token streams of the training documents, and the validation documents of `preset.validate_on`."""
    streams, held_out = [], []
    for source in preset.sources:
        documents = read_documents(run.data / source.file)
        if source.file == preset.validate_on:
            held_out = [d for d in documents if is_held_out(d, source.held_out)]
        stream = Stream.of([d for d in documents if not is_held_out(d, source.held_out)], tokenizer)
        if len(stream.tokens) <= preset.config.max_seq_len:
            raise ValueError(f"{source.file} has {len(stream.tokens)} tokens to train on, less than one row of them")
        streams.append(stream)
    weights = np.array([source.weight for source in preset.sources])
    return Mixture(streams, weights / weights.sum()), held_out


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices decay; gains and biases do not."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]


class Trainer:
    """The state of one run and the loop over it."""

    def __init__(self, preset: Preset, run: Run, mixture: Mixture, held_out: list[str], tokenizer: Tokenizer) -> None:
        self.preset, self.run, self.mixture, self.held_out, self.tokenizer = preset, run, mixture, held_out, tokenizer
        self.model = build(preset.config).to(run.device)
        if run.warm_start is not None:
            checkpoint.load_weights(self.model, checkpoint.weights(checkpoint.load(run.warm_start).model))
        fuse_attention(self.model)
        self.average = Averaged(self.model, preset.ema_decay)
        self.optimizer = torch.optim.AdamW(
            parameter_groups(self.model, preset.weight_decay), lr=preset.peak_rate, betas=preset.betas, fused=True
        )
        self.rng = np.random.default_rng(run.seed)
        self.progress = Progress()
        self.state_file = run.folder / "state.safetensors"
        if self.state_file.exists():
            self.progress = load_state(self.state_file, self.model, self.average, self.optimizer, self.rng)
        self.stopped = False

    def fit(self, report: Report) -> None:
        """Steps until the run is done or someone stops it; validates and saves on the way."""
        previous = [signal.signal(s, self._stop) for s in (signal.SIGTERM, signal.SIGINT)]
        saved = validated = self.progress.seconds
        try:
            while self.run.done(self.progress) < 1.0 and not self.stopped:
                metrics = self.step()
                if self.progress.seconds - validated > self.run.validate_every:
                    validated = self.progress.seconds
                    metrics["bits_per_byte"] = self.validate()
                if self.progress.seconds - saved > self.run.save_every:
                    saved = self.progress.seconds
                    self.save()
                report(metrics)
                self.log(metrics)
        finally:
            self.save()
            for s, handler in zip((signal.SIGTERM, signal.SIGINT), previous, strict=True):
                signal.signal(s, handler)

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        self.stopped = True

    def step(self) -> dict[str, Any]:
        """One batch: forward, loss, backward, update."""
        began = time.monotonic()
        config, preset = self.preset.config, self.preset
        rate = preset.peak_rate * warm_up_then_linear(self.run.done(self.progress), preset.warm_up)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        inputs, targets = self.mixture.batch(self.rng, preset.batch_size, config.max_seq_len)
        loss = self.loss(inputs.to(self.run.device), targets.to(self.run.device))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), preset.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.average.update(self.model, self.progress.step)
        self.progress.step += 1
        self.progress.tokens += inputs.numel()
        self.progress.seconds += time.monotonic() - began
        return {
            "step": self.progress.step, "tokens": self.progress.tokens, "seconds": round(self.progress.seconds, 2),
            "rate": rate, "loss": loss.item(), "gradient_norm": norm.item(),
        }  # fmt: skip

    def loss(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy over the batch; matrix products in bfloat16, weights and softmax in float32."""
        self.model.train()
        mask = masks.causal(inputs.shape[1], inputs.shape[1], inputs.device)[None, None]
        with torch.autocast(inputs.device.type, dtype=torch.bfloat16):
            logits = self.model(inputs, mask)  # batch position vocab
        smoothing = self.preset.label_smoothing
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), label_smoothing=smoothing)

    def validate(self) -> float:
        """Bits per byte of the averaged weights on the held-out documents."""
        return bits_per_byte(self.averaged_model(), self.tokenizer, self.held_out)

    def averaged_model(self) -> DecoderOnly:
        with torch.random.fork_rng(devices=[]):  # building draws from the generator that dropout draws from
            model = build(self.preset.config).to(self.run.device).eval()
        checkpoint.load_weights(model, self.average.tensors)
        return model

    def save(self) -> None:
        save_state(self.state_file, self.model, self.average, self.optimizer, self.rng, self.progress)

    def log(self, metrics: dict[str, Any]) -> None:
        """A line of JSON every 50 steps, and whenever there is a validation."""
        if metrics["step"] % 50 == 0 or "bits_per_byte" in metrics:
            with (self.run.folder / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(metrics) + "\n")
