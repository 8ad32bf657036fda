"""The models: found once, loaded once, shared by every request."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from app.errors import unknown_name
from app.services.languages import languages_of
from app.services.weights import shapes
from app.settings import Settings
from model import checkpoint
from model import describe as description
from model.attentions import attentions
from model.checkpoint import ZOO, Checkpoint
from model.taps import tap_dims
from model.tokenizer import Tokenizer

log = logging.getLogger("chumoku")

PREFERRED = "stories-gpt"


@dataclass(frozen=True)
class Library:
    """The loaded models by name, and the name that stands in where a request gives none."""

    checkpoints: dict[str, Checkpoint]
    default: str

    def get(self, name: str | None) -> Checkpoint:
        """The model of this name (None: the default); raises `unknown_model` (404) listing those there are."""
        found = self.checkpoints.get(self.default if name is None else name)
        if found is None:
            raise unknown_name("unknown_model", "model", str(name), self.names, status=404, where="model")
        return found

    def translator(self, name: str | None) -> Checkpoint:
        """The model of this name; without a name the default, or else the first that is an encoder-decoder."""
        able = [model for model in self.checkpoints.values() if model.config.family == "encoder-decoder"]
        asked = self.get(name)
        return asked if name is not None or asked in able or not able else able[0]

    @property
    def languages(self) -> dict[str, list[str]]:
        """The languages of each model."""
        return {name: languages_of(model) for name, model in self.checkpoints.items()}

    @property
    def names(self) -> list[str]:
        return list(self.checkpoints)


def folders(settings: Settings) -> dict[str, Path]:
    """Where the models lie, by name: the folders that are set, then the zoo."""
    return checkpoint.find_models(*settings.models_dir, ZOO)


def load(settings: Settings) -> Library:
    """Load every model on the device that is set.

    A folder that does not load is left out with a line in the log. Raises `ValueError` when the device is not there,
    no model is left, or the default is not among them.
    """
    device = checkpoint.pick_device(settings.device)
    torch.set_num_threads(settings.threads_per_job)
    loaded = {name: model for name, path in folders(settings).items() if (model := try_load(path, device))}
    if not loaded:
        raise no_model(settings)
    return Library(loaded, pick_default(settings.default_model, list(loaded)))


def locate(name: str | None, settings: Settings) -> Path:
    """The folder of one model: by name, by its own path, or the default's (None).

    Raises `unknown_model` listing the names there are, and `ValueError` when there is no model at all.
    """
    if name is not None and (Path(name) / "config.json").is_file():
        return Path(name)
    there = folders(settings)
    if not there:
        raise no_model(settings)
    if name is None:
        name = pick_default(settings.default_model, list(there))
    if name not in there:
        raise unknown_name("unknown_model", "model", name, list(there))
    return there[name]


def no_model(settings: Settings) -> ValueError:
    searched = ", ".join(str(path) for path in (*settings.models_dir, ZOO))
    return ValueError(f"there is no model in {searched}; train one with `chumoku train stories-gpt`")


def try_load(folder: Path, device: torch.device) -> Checkpoint | None:
    """The model in `folder`, or None and a line in the log."""
    try:
        return checkpoint.load(folder, device)
    except (OSError, ValueError, TypeError) as error:
        log.error("model %s left out: %s", folder, error)
        return None


def pick_default(asked: str | None, names: list[str]) -> str:
    """The default's name; raises `ValueError` when the one asked for is not among `names`."""
    if asked is None:
        return PREFERRED if PREFERRED in names else names[0]
    if asked not in names:
        raise ValueError(f"the default model {asked!r} is not there; known are {', '.join(names)}")
    return asked


def describe(loaded: Checkpoint) -> dict[str, Any]:
    """What `/api/models` and `chumoku models --json` say of one model: its numbers, its card, its taps."""
    config = loaded.config.to_json()
    shape = ("family", "n_layer", "n_head", "d_model", "d_ff", "vocab_size", "max_seq_len")
    kinds = ("position", "norm_order", "tie_embeddings", "scale_embeddings", "layer_norm_eps", "text_form")
    return {
        "name": loaded.name,
        **{name: config[name] for name in (*shape, *kinds)},
        "attentions": [asdict(attention) for attention in attentions(loaded.config)],
        "description": description.describe(loaded.config).to_json(),
        "classes": list(loaded.config.classes),
        "languages": languages_of(loaded),
        "d_head": loaded.config.d_head,
        "n_parameters": sum(x.numel() for x in loaded.model.parameters()),
        "end_id": loaded.tokenizer.end_id,
        "pad_id": loaded.tokenizer.pad_id,
        "first": first(loaded.tokenizer),
        "never_sampled": loaded.tokenizer.never_sampled,
        "device": str(loaded.device),
        "card": loaded.card,
        "units": loaded.card.get("units"),
        "weights": shapes(loaded),
        "taps": [{"name": name, "dims": dims} for name, dims in tap_dims(loaded.model).items()],
    }


def first(tokenizer: Tokenizer) -> dict[str, Any] | None:
    """The special token that a sequence of the model begins with, [CLS] or START; None where there is none."""
    if tokenizer.first_id < 0:
        return None
    return {"id": tokenizer.first_id, "text": tokenizer.token_bytes(tokenizer.first_id).decode()}
