"""Folders written by `save_pretrained` of transformers, whose import takes seconds and waits for the first `open`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch

from chumoku.model.describe.parameters import references
from chumoku.model.pictures.places import PlaceTokenizer
from chumoku.model.traceable.huggingface import files, memory
from chumoku.model.traceable.huggingface.layout import Adapter
from chumoku.model.traceable.huggingface.processing import FILE as PROCESSOR
from chumoku.model.traceable.huggingface.tokenizer_files import TOKENIZERS, tokenizer_of
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig
from chumoku.model.traceable.protocols import About, TraceableModel, Weight

EXTRA = "pip install -c constraints.txt -e '.[hf]'"


class HuggingFaceFolders:
    """Of the families in `families/`. Only local files are read, only safetensors, and no code of theirs is run."""

    def can_open(self, folder: Path) -> bool:
        return files.is_folder(folder)

    def about(self, folder: Path) -> About:
        settings, adapter = files.adapt(folder)
        return about(folder, settings, adapter)

    def files(self, folder: Path) -> list[Path]:
        try:
            weights = files.weight_files(folder)
        except (OSError, ValueError):
            weights = []
        return [*weights, *(folder / name for name in (files.CONFIG, files.INDEX, PROCESSOR, *TOKENIZERS))]

    def open(self, folder: Path, device: torch.device) -> TraceableModel:
        settings, adapter = files.adapt(folder)
        known = about(folder, settings, adapter)
        memory.check(known.name, known.n_parameters)
        try:
            from chumoku.model.traceable.huggingface.loading import load
        except ModuleNotFoundError as error:
            raise needs(error) from None
        return load(folder, known, settings, adapter, device)


def about(folder: Path, settings: TransformersConfig, adapter: Adapter) -> About:
    shapes = files.stored_shapes(folder, adapter)
    try:
        tokenizer = tokenizer_of(folder, settings, adapter.description)
    except ModuleNotFoundError as error:
        raise needs(error) from None
    special = tokenizer.special
    config = dict(settings.values) | {"tie_embeddings": adapter.tied}
    if adapter.description.picture is not None:
        config["picture"] = asdict(adapter.description.picture)
    first = None if special.first is None else tokenizer.tokens([special.first])[0].text
    weights = described(adapter)
    fit = adapter.processing.fitted if adapter.processing and isinstance(tokenizer, PlaceTokenizer) else None
    return About(folder.name, adapter.description, special, tokenizer.never_sampled, {}, config, weights,
                 files.n_parameters(shapes), n_positions=adapter.n_positions, fit=fit, first_name=first)  # fmt: skip


def described(adapter: Adapter) -> Mapping[str, Weight]:
    """The parameters that the description names, as they are shown."""
    found = references(adapter.description, adapter.dims)
    return {name: Weight([adapter.size(dim) for dim in one.dims.split()], one.dims) for name, one in found.items()}


def needs(error: ModuleNotFoundError) -> ValueError:
    return ValueError(f"a model of Hugging Face's needs {error.name}: {EXTRA}")
