"""A model on disk: a folder of `weights.safetensors`, `config.json`, `tokenizer.tiktoken`, `card.json`. No pickle."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as serialize
from torch import Tensor, nn

from chumoku.model import tokenizer as tokenizers
from chumoku.model.config import ModelConfig
from chumoku.model.describe import Description, describe
from chumoku.model.files import check_shapes, read_small, shapes_in, write_whole
from chumoku.model.mechanisms import Mixer
from chumoku.model.pictures.tokenizer import PatchTokenizer
from chumoku.model.special_tokens import special_names
from chumoku.model.taps import tap_dims
from chumoku.model.tokenizer import Tokenizer, read_ranks
from chumoku.model.transformer import (
    DecoderOnly,
    EncoderDecoder,
    EncoderOnly,
    NoNumbers,
    Transformer,
    build,
    stored_shapes,
)

T = TypeVar("T", bound=nn.Module)

ZOO = Path(__file__).parent / "zoo"
"""The models that ship with the project."""
CARD = 2**20
"""Most bytes of a card: it is in the list of all models. Ours have up to 28 KB."""
SHIPPED = ("evaluation", "samples", "units", "minutes")
"""The parts of a card that were measured on the final weights and do not hold for a snapshot."""


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model with its tokenizer and card, in eval mode and float32."""

    name: str
    model: Transformer
    tokenizer: Tokenizer
    card: dict[str, Any]

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    @property
    def description(self) -> Description:
        return describe(self.config)

    @cached_property
    def taps(self) -> dict[str, str]:
        """All taps in the model's order: name → dimensions."""
        return tap_dims(self.model)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def decoder_only(self) -> DecoderOnly:
        """The model, if it is of this family; else `ValueError`."""
        return self._of(DecoderOnly)

    @property
    def encoder_only(self) -> EncoderOnly:
        return self._of(EncoderOnly)

    @property
    def encoder_decoder(self) -> EncoderDecoder:
        return self._of(EncoderDecoder)

    def _of(self, family: type[T]) -> T:
        if isinstance(self.model, family):
            return self.model
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", family.__name__).lower()
        raise ValueError(f"{self.name} is {self.config.family}; this needs a model that is {words}")


def pick_device(name: str) -> torch.device:
    """`auto` (the first available of cuda, mps, cpu), or a device by name. Raises `ValueError` if unavailable."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(device for device, there in available.items() if there))
    if not available.get(name, False):
        there = ", ".join(device for device, there in available.items() if there)
        raise ValueError(f"device {name!r} is not available here; available: auto, {there}")
    return torch.device(name)


def load(folder: Path, device: torch.device | str = "cpu", step: int | None = None) -> Checkpoint:
    """Read a model folder; with `step`, the snapshot of that training step.

    Raises `FileNotFoundError` or `ValueError` saying which file is missing or does not fit.
    """
    config = read_config(folder)
    check_files(folder, config, step)
    with NoNumbers():
        model = build(config)
    load_weights(model, read_weights(weights_file(folder, step)))
    model.requires_grad_(False).eval().to(device)
    lay_out_for_reading(model)
    tokenizer = read_tokenizer(folder, config)
    card = read_card(folder)
    if step is None:
        return Checkpoint(folder.name, model, tokenizer, card)
    return Checkpoint(snapshot_name(folder.name, step), model, tokenizer, card_at(card, step))


def weights_file(folder: Path, step: int | None = None) -> Path:
    """The file of the final weights; with `step`, of that snapshot."""
    return folder / "weights.safetensors" if step is None else folder / "snapshots" / f"{step}.safetensors"


def snapshot_name(name: str, step: int) -> str:
    """The name of a model's snapshot, which is a model like any other."""
    return f"{name}@{step}"


def card_at(card: dict[str, Any], step: int) -> dict[str, Any]:
    """A snapshot's card, without what was measured on the final weights. `run_steps`: the steps of the whole run."""
    kept = {name: said for name, said in card.items() if name not in SHIPPED}
    if "steps" in card:
        kept["run_steps"] = card["steps"]
    tokens = [
        snapshot["tokens"]
        for snapshot in card.get("snapshots", [])
        if snapshot["step"] == step and "tokens" in snapshot
    ]
    return {**kept, "steps": step, **({"tokens_seen": tokens[0]} if tokens else {})}


def check_files(folder: Path, config: ModelConfig, step: int | None = None) -> None:
    """Raise `OSError` or `ValueError` if weights or tokenizer do not fit the config; reads no weights."""
    path = weights_file(folder, step)
    found = shapes_in(path)
    if config.n_layer > len(found):  # before a model of `n_layer` layers is built
        raise ValueError(f"{path} has {len(found)} tensors, the config {config.n_layer:,} layers")
    check_shapes(stored_shapes(config), found)
    if config.picture is not None:
        return check_patches(folder, config, PatchTokenizer(config.picture))
    ranks, special = read_ranks(folder / "tokenizer.tiktoken"), special_names(config.family, config.mask_token)
    check_vocabulary(folder, config, len(ranks) + len(special))


def read_tokenizer(folder: Path, config: ModelConfig) -> Tokenizer:
    """A folder's tokenizer: for text, read from its file of ranks; for patches, built without a file."""
    if config.picture is not None:
        return PatchTokenizer(config.picture)
    return tokenizers.load(folder / "tokenizer.tiktoken", config.family, config.text_form, config.mask_token)


def check_patches(folder: Path, config: ModelConfig, tokenizer: PatchTokenizer) -> None:
    if tokenizer.vocab_size != config.vocab_size:
        raise ValueError(f"{folder / 'config.json'}: vocab_size must be {tokenizer.vocab_size} for such patches")


def check_vocabulary(folder: Path, config: ModelConfig, n_ids: int) -> None:
    """Raise `ValueError` unless the tokenizer's `n_ids` is the model's vocabulary size."""
    if n_ids != config.vocab_size:
        raise ValueError(f"{folder / 'tokenizer.tiktoken'} has {n_ids} ids, the model {config.vocab_size}")


def read_config(folder: Path) -> ModelConfig:
    """A model's `config.json`. Raises `OSError` or `ValueError` naming the file."""
    path = folder / "config.json"
    data = read_small(path)
    try:
        return ModelConfig.from_json(data)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def read_card(folder: Path) -> dict[str, Any]:
    """A model's `card.json`; empty without one. Raises `ValueError` for a card that the app could not read."""
    path = folder / "card.json"
    card = read_small(path, CARD) if os.path.lexists(path) else {}
    units, languages = card.get("units") or {}, card.get("languages", [])
    if not isinstance(card.get("evaluation", {}), dict):
        raise ValueError(f"{path}: evaluation must be an object")
    if not isinstance(languages, list) or not all(isinstance(name, str) for name in languages):
        raise ValueError(f"{path}: languages must be a list of texts")
    layers = units.get("layers", []) if isinstance(units, dict) else None
    if not isinstance(layers, list) or not all(
        isinstance(layer, dict) and {"path", "stack"} <= layer.keys() for layer in layers
    ):
        raise ValueError(f"{path}: units must be an object with layers, each with its path and stack")
    snapshots = card.get("snapshots", [])
    if not isinstance(snapshots, list) or not all(
        isinstance(snapshot, dict) and is_step(snapshot) for snapshot in snapshots
    ):
        raise ValueError(f"{path}: snapshots must be a list of objects, each with its step")
    return card


def is_step(snapshot: dict[str, Any]) -> bool:
    step = snapshot.get("step")
    return type(step) is int and step >= 0


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file that passed `check_files`. Raises `OSError`, and `ValueError` for NaN and infinity."""
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is not a safetensors file: {error}") from None
    for name, x in tensors.items():
        if not x.isfinite().all():
            raise ValueError(f"{path}: {name} holds NaN or infinity")
    return tensors


def save(folder: Path, model: Transformer, ranks_file: Path) -> None:
    """Write weights (float16), config and tokenizer of `model` into `folder`; a model of pictures has no file of ranks.
    Raises `OSError` on a full disk."""
    folder.mkdir(parents=True, exist_ok=True)
    ranks = None if model.config.picture is not None else ranks_file.read_bytes()
    write_whole(weights_file(folder), serialize({name: x.half() for name, x in weights(model).items()}))
    write_whole(folder / "config.json", (json.dumps(model.config.to_json(), indent=2) + "\n").encode())
    if ranks is not None:
        write_whole(folder / "tokenizer.tiktoken", ranks)


def weights(model: nn.Module) -> dict[str, Tensor]:
    """The parameters by name, on the CPU; a tied pair once."""
    return {name: x.detach().cpu().contiguous() for name, x in model.named_parameters()}


def load_weights(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Copy `tensors` into the parameters of the same names. Raises `ValueError` naming those that do not fit."""
    parameters = dict(model.named_parameters())
    check_shapes(
        {name: tuple(x.shape) for name, x in parameters.items()}, {name: tuple(x.shape) for name, x in tensors.items()}
    )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])


def lay_out_for_reading(model: nn.Module) -> None:
    """Let mixers arrange their matrices, and make all others contiguous along their longer side. Shapes and values
    stay.

    A single token is one row times each matrix: nearly all the time goes into reading the matrices, and the CPU's BLAS
    reads short rows at a third of the speed of long ones (W [4096 256]: 0.45 ms, as its transpose 0.15 ms).
    """
    for module in model.modules():
        if isinstance(module, Mixer):
            module.lay_out_for_reading()
        elif isinstance(module, nn.Linear) and module.weight.is_contiguous() and wide(module):
            module.weight.data = module.weight.data.T.contiguous().T


def wide(linear: nn.Linear) -> bool:
    return linear.out_features >= linear.in_features
