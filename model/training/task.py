"""What a model learns: a task makes batches from files, and says how good a model is at it. One for each family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.explain.unit_counts import Sample
from model.tokenizer import Tokenizer
from model.training.presets import Preset
from model.transformer import Transformer


@dataclass(frozen=True)
class Batch:
    """Inputs of a forward pass, and what should have come out: `targets` int64, −1 where nothing is asked."""

    inputs: tuple[Tensor, ...]
    targets: Tensor

    def to(self, device: torch.device) -> Batch:
        return Batch(tuple(x.to(device) for x in self.inputs), self.targets.to(device))

    @property
    def n_targets(self) -> int:
        return int((self.targets >= 0).sum())


@dataclass(frozen=True)
class Unseen:
    """Texts that a model never saw, as ids (with a target in an encoder-decoder), and what they are, for the card."""

    samples: list[Sample]
    on: str


class Task(Protocol):
    """Made of a preset, the data folder and the tokenizer; raises `ValueError` where the data is too little."""

    metric: ClassVar[str]
    """What `validate` measures, as it is called in `metrics.jsonl` and on the card."""

    learned_from: ClassVar[str]
    """What `texts` are, for the card."""

    tokenizer: Tokenizer

    def __init__(self, preset: Preset, data: Path, tokenizer: Tokenizer) -> None: ...

    @staticmethod
    def texts(preset: Preset, data: Path) -> Iterator[str]:
        """What the tokenizer is learned from."""
        ...

    @staticmethod
    def unseen(preset: Preset, data: Path, tokenizer: Tokenizer, most: int) -> Unseen:
        """Up to `most` of what is held out, spread evenly, each cut to the model's window."""
        ...

    def batch(self, rng: np.random.Generator) -> Batch: ...

    def forward(self, model: Transformer, batch: Batch) -> Tensor:
        """Logits [... class], a row for each of `batch.targets` [...]."""
        ...

    def validate(self, model: Transformer) -> float:
        """The metric of the model (in eval mode) on what it never saw, or on a part of that: it is often asked."""
        ...

    def evaluation(self, loaded: Checkpoint) -> dict[str, Any]:
        """The card's figures: everything held out, on the weights as they ship."""
        ...

    def samples(self, loaded: Checkpoint) -> list[dict[str, Any]]:
        """What the model makes of some inputs, as it came out."""
        ...
