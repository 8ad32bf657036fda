"""Tasks: each makes batches from files and evaluates a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.units import Sample
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.training.presets import Preset
from chumoku.model.transformer import Transformer


@dataclass(frozen=True)
class Batch:
    """Inputs of a forward pass and the expected outputs: `targets` int64, −1 where nothing is to be predicted."""

    inputs: tuple[Tensor, ...]
    targets: Tensor

    def to(self, device: torch.device) -> Batch:
        return Batch(tuple(x.to(device) for x in self.inputs), self.targets.to(device))

    @property
    def n_targets(self) -> int:
        return int((self.targets >= 0).sum())


@dataclass(frozen=True)
class Unseen:
    """Held-out texts as ids (with a target in an encoder-decoder), and their description for the card."""

    samples: list[Sample]
    on: str


class Task(Protocol):
    """Made from a preset, the data folder and the tokenizer. Raises `ValueError` if there is too little data."""

    metric: ClassVar[str]
    """What `validate` measures, by its name in `metrics.jsonl` and on the card."""

    learned_from: ClassVar[str]
    """A description of `texts` for the card."""

    tokenizer: Tokenizer

    def __init__(self, preset: Preset, data: Path, tokenizer: Tokenizer) -> None: ...

    @staticmethod
    def texts(preset: Preset, data: Path) -> Iterator[str]:
        """The texts that the tokenizer is learned from."""
        ...

    @staticmethod
    def unseen(preset: Preset, data: Path, tokenizer: Tokenizer, most: int) -> Unseen:
        """Up to `most` held-out texts, evenly spaced, each cut to the model's window."""
        ...

    def batch(self, rng: np.random.Generator) -> Batch: ...

    def forward(self, model: Transformer, batch: Batch) -> Tensor:
        """Logits [... class], one row for each of `batch.targets` [...]."""
        ...

    def validate(self, model: Transformer) -> float:
        """The metric of the model (in eval mode) on held-out data, or on a part of it, because it is called often."""
        ...

    def evaluation(self, loaded: Checkpoint) -> dict[str, Any]:
        """The figures for the card, on all held-out data, with the weights as shipped."""
        ...

    def samples(self, loaded: Checkpoint) -> list[dict[str, Any]]:
        """Unedited outputs of the model for some inputs."""
        ...
