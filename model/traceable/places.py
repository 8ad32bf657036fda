"""Where a model is found by name, and what it is called: as its folder, as its repository, or as was chosen."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint, snapshot_name
from chumoku.model.describe import Description
from chumoku.model.files import read_json
from chumoku.model.run import Run
from chumoku.model.session import Session
from chumoku.model.trace import Trace
from chumoku.model.traceable.protocols import About, ModelSource, TraceableModel, TraceableTokenizer
from chumoku.model.translate import BeamSearch

ID = re.compile(r"(?:[\w-][\w.-]*/)?[\w-][\w.-]*")
"""A repository of Hugging Face's hub: an owner and a name; the oldest have no owner."""
REPOSITORY, SNAPSHOTS, NEWEST = "models--", "snapshots", "refs/main"
"""In Hugging Face's cache: models--OWNER--NAME/snapshots/COMMIT, and the commit of the newest in refs/main."""
ENDINGS = (".safetensors", ".bin", ".h5", ".msgpack", ".gguf")
"""Of files with weights."""
WEIGHTS, INDEX, PART_NAME = "model.safetensors", "model.safetensors.index.json", "model-{:05}-of-{:05}.safetensors"
"""All weights in one file; or which of several files has which tensor, and how those are called."""
PART = re.compile(r"model-\d{5}-of-(?P<of>\d{5})\.safetensors")


def place_of(given: str) -> tuple[str, Path]:
    """The name and the folder in `FOLDER` or `NAME=FOLDER`. Raises `ValueError` for a name that a link cannot hold."""
    name, equals, folder = given.partition("=")
    if not equals or Path(given).exists():
        return name_of(Path(given)), Path(given)
    if not re.fullmatch(r"[\w.-]+", name) or not folder:
        raise ValueError(f"{given}: NAME=FOLDER takes a name of letters, digits, dots and dashes, and a folder")
    return name, Path(folder)


def name_of(folder: Path) -> str:
    """What a model in this folder is called. A snapshot in Hugging Face's cache is called as its repository."""
    if folder.name in ("", ".."):
        folder = folder.resolve()
    repository = folder.parent.parent.name
    if folder.parent.name == SNAPSHOTS and repository.startswith(REPOSITORY):
        return repository.removeprefix(REPOSITORY).split("--", 1)[-1]
    return folder.name


def cache_folder() -> Path:
    """Hugging Face's cache, as its libraries find it."""
    at = os.environ
    if found := at.get("HF_HUB_CACHE") or at.get("HUGGINGFACE_HUB_CACHE"):
        return Path(found).expanduser()
    home = at.get("HF_HOME") or Path(at.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    return Path(home).expanduser() / "hub"


def cached(name: str) -> Path | None:
    """The newest snapshot of a repository in Hugging Face's cache, if it has a config and all weights: what an
    interrupted download left is not opened, but downloaded on."""
    if not ID.fullmatch(name):
        return None
    repository = cache_folder() / (REPOSITORY + name.replace("/", "--"))
    try:
        commit = (repository / NEWEST).read_text().strip()
        files = {path.name for path in (repository / SNAPSHOTS / commit).iterdir()}
    except (OSError, ValueError):
        return None
    snapshot = repository / SNAPSHOTS / commit
    there = "config.json" in files and any(file.endswith(ENDINGS) for file in files)
    return snapshot if there and not missing(snapshot, files) else None


def missing(folder: Path, files: Collection[str]) -> set[str]:
    """The files with weights that belong to a folder with these files and are not there: of a model in several files,
    those that its index names; without the index, those that the number in a file's name counts, and the index."""
    if WEIGHTS in files:
        return set()
    parts = [found for file in files if (found := PART.fullmatch(file))]
    if INDEX not in files:
        of = max((int(found["of"]) for found in parts), default=0)
        return {PART_NAME.format(n, of) for n in range(1, of + 1)} | {INDEX} if of else set()
    try:
        named = read_json(folder / INDEX)["weight_map"].values()
    except (OSError, ValueError, KeyError, AttributeError):
        return set()  # it has arrived: opening the model says what is wrong with it
    return {str(name) for name in named} - set(files)


@dataclass(frozen=True)
class Named:
    """The source of a model that is called otherwise than its folder."""

    source: ModelSource
    name: str

    def can_open(self, folder: Path) -> bool:
        return self.source.can_open(folder)

    def about(self, folder: Path) -> About:
        about = self.source.about(folder)
        snapshots = {step: Named(one, snapshot_name(self.name, step)) for step, one in about.snapshots.items()}
        return replace(about, name=self.name, snapshots=snapshots)

    def files(self, folder: Path) -> list[Path]:
        return self.source.files(folder)

    def open(self, folder: Path, device: torch.device) -> TraceableModel:
        return NamedModel(self.source.open(folder, device), self.name)


def named_source(folder: Path, source: ModelSource, name: str) -> ModelSource:
    return source if name == folder.name else Named(source, name)


class Delegating(TraceableModel):
    """Another model's answers; subclasses change some."""

    def __init__(self, traceable: TraceableModel) -> None:
        self._traceable = traceable

    @property
    def about(self) -> About:
        return self._traceable.about

    @property
    def description(self) -> Description:
        return self._traceable.description

    @property
    def tokenizer(self) -> TraceableTokenizer:
        return self._traceable.tokenizer

    @property
    def device(self) -> torch.device:
        return self._traceable.device

    @property
    def nbytes(self) -> int:
        return self._traceable.nbytes

    @property
    def checkpoint(self) -> Checkpoint | None:
        return self._traceable.checkpoint

    def trace(self, run: Run, names: Sequence[str]) -> Trace:
        return self._traceable.trace(run, names)

    def start(self, run: Run, names: Sequence[str]) -> Session:
        return self._traceable.start(run, names)

    def search(self, run: Run, beams: int, alpha: float) -> BeamSearch:
        return self._traceable.search(run, beams, alpha)

    def read(self, stream: Tensor) -> Tensor:
        return self._traceable.read(stream)

    def weights(self, names: Sequence[str]) -> Mapping[str, Tensor]:
        return self._traceable.weights(names)


class NamedModel(Delegating):
    """A model that is called otherwise than its folder."""

    def __init__(self, traceable: TraceableModel, name: str) -> None:
        super().__init__(traceable)
        self._about = replace(traceable.about, name=name)

    @property
    def about(self) -> About:
        return self._about
