"""Our own models: a folder with `config.json`, `weights.safetensors`, `tokenizer.tiktoken`, and perhaps `card.json`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import torch
from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe, parameters
from chumoku.model.explain import anatomy
from chumoku.model.means import FILE as MEANS
from chumoku.model.means import Means, read_means
from chumoku.model.pictures.examples import FILE as PICTURES
from chumoku.model.pictures.examples import Example, read_examples
from chumoku.model.run import Run
from chumoku.model.session import DecoderSession, Session, TargetSession
from chumoku.model.special_tokens import special_of
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.trace import Trace, trace
from chumoku.model.traceable.protocols import About, TraceableModel, Weight
from chumoku.model.transformer import skeleton
from chumoku.model.translate import BeamSearch

FILES = ("config.json", "weights.safetensors")
"""A folder with any of these files counts as a model."""


class ZooFolders:
    """Folders written by `chumoku train`."""

    def can_open(self, folder: Path) -> bool:
        return any(os.path.lexists(folder / name) for name in FILES)

    def about(self, folder: Path) -> About:
        config, card = checkpoint.read_config(folder), checkpoint.read_card(folder)
        checkpoint.check_files(folder, config)
        snapshots = {snapshot["step"]: ZooSnapshot(snapshot["step"]) for snapshot in card.get("snapshots", [])}
        known = about_config(folder.name, config, card)
        return replace(known, snapshots=snapshots, pictures=pictures_in(folder, config), means=read_means(folder))

    def files(self, folder: Path) -> list[Path]:
        return files_of(folder)

    def open(self, folder: Path, device: torch.device) -> ZooModel:
        return opened(checkpoint.load(folder, device), checkpoint.weights_file(folder), read_means(folder))


@dataclass(frozen=True)
class ZooSnapshot:
    """A folder's model as it was at one step of its training. The snapshot's file is checked when it is opened."""

    step: int

    def can_open(self, folder: Path) -> bool:
        return os.path.lexists(checkpoint.weights_file(folder, self.step))

    def about(self, folder: Path) -> About:
        config, card = checkpoint.read_config(folder), checkpoint.read_card(folder)
        name = checkpoint.snapshot_name(folder.name, self.step)
        return about_config(name, config, checkpoint.card_at(card, self.step))

    def files(self, folder: Path) -> list[Path]:
        return files_of(folder, self.step)

    def open(self, folder: Path, device: torch.device) -> ZooModel:
        return opened(checkpoint.load(folder, device, self.step), checkpoint.weights_file(folder, self.step))


def pictures_in(folder: Path, config: ModelConfig) -> list[Example]:
    return read_examples(folder, config.picture, len(config.classes)) if config.picture is not None else []


def files_of(folder: Path, step: int | None = None) -> list[Path]:
    names = ("config.json", "tokenizer.tiktoken", "card.json", PICTURES)
    return [
        checkpoint.weights_file(folder, step),
        *(folder / name for name in names),
        *([] if step else [folder / MEANS]),
    ]


def opened(loaded: Checkpoint, file: Path, means: Means | None = None) -> ZooModel:
    """The model, ready to be traced. Raises `ValueError` for weights that overflow."""
    traceable = ZooModel(loaded, means)
    check_runs(traceable, file)
    return traceable


def check_runs(traceable: ZooModel, file: Path) -> None:
    """Raise `ValueError` for weights that overflow: they are finite, but the logits are not."""
    special = traceable.tokenizer.special
    target = [special.first] if special.first is not None and traceable.description.writes == "target" else None
    logits = traceable.description.logits.tap
    if not traceable.trace(Run([0], target=target), [logits]).tensors[logits].isfinite().all():
        raise ValueError(f"{file}: the model's answer to its first token is not finite")


def about_config(name: str, config: ModelConfig, card: Mapping[str, object]) -> About:
    weights, n_parameters = shapes(config)
    special = special_of(config.family, config.vocab_size, config.mask_token)
    return About(name, describe(config), special, special.never_sampled, card, config.to_json(), weights, n_parameters)


@lru_cache(maxsize=32)
def shapes(config: ModelConfig) -> tuple[dict[str, Weight], int]:
    """The parameters, and how many numbers they have in all, with a tied matrix counted once."""
    model, described = skeleton(config), parameters(config)
    weights = {name: Weight(list(x.shape), described[name].dims) for name, x in model.state_dict().items()}
    return weights, sum(x.numel() for x in model.parameters())


class ZooModel(TraceableModel):
    """A model built from our own modules, so that everything can be explained."""

    def __init__(self, loaded: Checkpoint, means: Means | None = None) -> None:
        self._loaded, self._means = loaded, means

    @property
    def checkpoint(self) -> Checkpoint:
        return self._loaded

    @property
    def tokenizer(self) -> Tokenizer:
        return self._loaded.tokenizer

    @cached_property
    def about(self) -> About:
        known = about_config(self._loaded.name, self._loaded.config, self._loaded.card)
        return replace(known, means=self._means)

    @property
    def device(self) -> torch.device:
        return self._loaded.device

    @cached_property
    def nbytes(self) -> int:
        model = self._loaded.model
        return sum(x.nbytes for x in (*model.parameters(), *model.buffers()))

    def trace(self, run: Run, names: Sequence[str]) -> Trace:
        return trace(self._loaded, run.ids, names, target=run.target, use=run.use, pad=run.pad, edit=run.edit)

    def start(self, run: Run, names: Sequence[str]) -> Session:
        kind = TargetSession if self.about.description.writes == "target" else DecoderSession
        return kind(self._loaded, run, names)

    def search(self, run: Run, beams: int, alpha: float) -> BeamSearch:
        return BeamSearch(self._loaded, run, beams, alpha)

    def read(self, stream: Tensor) -> Tensor:
        return anatomy.read(self._loaded, stream)

    def weights(self, names: Sequence[str]) -> dict[str, Tensor]:
        parameters = self._loaded.model.state_dict()
        return {name: parameters[name] for name in names}
