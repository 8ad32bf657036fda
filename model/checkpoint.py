"""A model on disk: a folder of `weights.safetensors`, `config.json`, `tokenizer.tiktoken`, `card.json`. No pickle."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from model import tokenizer as tokenizers
from model.config import ModelConfig
from model.describe import Description, describe
from model.layout import lay_out_for_reading
from model.tokenizer import Tokenizer
from model.transformer import DecoderOnly, EncoderDecoder, EncoderOnly, Transformer, build

T = TypeVar("T", bound=nn.Module)

ZOO = Path(__file__).parent / "zoo"
"""The models that ship with the project."""


@dataclass(frozen=True)
class Checkpoint:
    """A loaded model with its tokenizer and card; in eval mode, in float32."""

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


def load(folder: Path, device: torch.device | str = "cpu") -> Checkpoint:
    """Read a model folder. Raises `FileNotFoundError` or `ValueError` saying which file is missing or does not fit."""
    config = ModelConfig.from_json(read_json(folder / "config.json"))
    model = build(config)
    load_weights(model, read_weights(folder / "weights.safetensors"))
    model.requires_grad_(False).eval().to(device)
    lay_out_for_reading(model)
    tokenizer = tokenizers.load(folder / "tokenizer.tiktoken", config.family, config.text_form, config.mask_token)
    if tokenizer.vocab_size != config.vocab_size:
        raise ValueError(f"{folder}: the tokenizer has {tokenizer.vocab_size} ids, the model {config.vocab_size}")
    return Checkpoint(folder.name, model, tokenizer, read_card(folder))


def read_card(folder: Path) -> dict[str, Any]:
    """A model's `card.json`; empty if there is none."""
    path = folder / "card.json"
    return read_json(path) if path.is_file() else {}


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object. Raises `ValueError` naming the file that is not JSON, or is JSON of another kind."""
    try:
        data = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path} is not a JSON object but a {type(data).__name__}")
    return data


def read_weights(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is not a safetensors file: {error}") from None


def save(folder: Path, model: Transformer, ranks_file: Path) -> None:
    """Write weights (float16), config and tokenizer of `model` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    weights_file = folder / "weights.safetensors"
    save_file({name: x.half() for name, x in weights(model).items()}, weights_file)
    weights_file.chmod(0o644)  # safetensors makes it readable by its owner only
    (folder / "config.json").write_text(json.dumps(model.config.to_json(), indent=2) + "\n")
    target = folder / "tokenizer.tiktoken"
    if ranks_file.resolve() != target.resolve():
        target.write_bytes(ranks_file.read_bytes())


def weights(model: nn.Module) -> dict[str, Tensor]:
    """The parameters by name, on the CPU; a tied pair once."""
    return {name: x.detach().cpu().contiguous() for name, x in model.named_parameters()}


def load_weights(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Copy `tensors` into the parameters of the same names. Raises `ValueError` naming missing and unknown ones."""
    parameters = dict(model.named_parameters())
    if parameters.keys() != tensors.keys():
        raise ValueError(
            f"weights do not fit the config: missing {sorted(parameters.keys() - tensors.keys())}, "
            f"unknown {sorted(tensors.keys() - parameters.keys())}"
        )
    misfits = [
        f"{name} is {tuple(tensors[name].shape)}, the config needs {tuple(parameter.shape)}"
        for name, parameter in parameters.items()
        if tensors[name].shape != parameter.shape
    ]
    if misfits:
        raise ValueError(f"weights do not fit the config: {'; '.join(misfits)}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])
