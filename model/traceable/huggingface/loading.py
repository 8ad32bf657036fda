"""Loads a model with transformers, installs our attention and hooks, and checks the model."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from torch import nn

from chumoku.model.files import shapes_in
from chumoku.model.traceable.huggingface.any_attention import NAME as ANY
from chumoku.model.traceable.huggingface.any_attention import attach_any, check_asks
from chumoku.model.traceable.huggingface.capture import NAME
from chumoku.model.traceable.huggingface.folders import names_of, weight_files
from chumoku.model.traceable.huggingface.hooks import attach
from chumoku.model.traceable.huggingface.layout import Adapter
from chumoku.model.traceable.huggingface.model import HuggingFaceModel, Translator
from chumoku.model.traceable.huggingface.pictures import PictureReader
from chumoku.model.traceable.huggingface.tokenizer_files import tokenizer_of
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig
from chumoku.model.traceable.protocols import About

UNFIT = (OSError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What transformers raises for a config that it cannot read. Running out of memory is another error."""

transformers.utils.logging.disable_progress_bar()
os.environ["DISABLE_SAFETENSORS_CONVERSION"] = "1"
"""Otherwise transformers asks a service to convert a repository that has only pickles."""


def load(
    folder: Path, about: About, settings: TransformersConfig, adapter: Adapter, device: torch.device
) -> HuggingFaceModel:
    """A folder's model, ready to be traced. Raises `ValueError` for weights that are missing, have another shape, or
    overflow."""
    if not adapter.is_known:
        check_asks(settings.architecture, str(folder))
    if adapter.is_recurrent:
        from chumoku.model.traceable.huggingface.recurrent import attach_recurrent, forbid_kernels

        forbid_kernels()
    model = load_model(folder, settings.architecture, NAME if adapter.is_known else ANY)
    if adapter.prepare is not None:
        adapter.prepare(model)
    if adapter.is_recurrent:
        attach_recurrent(model, adapter, str(folder))
    elif adapter.is_known:
        attach(model, adapter)
    else:
        attach_any(model, adapter.description, str(folder))
    tokenizer = tokenizer_of(folder, settings, adapter.description)
    traceable = kind_of(adapter)(about, adapter, model.to(device), tokenizer, device)
    check_runs(traceable, folder)
    return traceable


def kind_of(adapter: Adapter) -> type[HuggingFaceModel]:
    if adapter.processing is not None:
        return PictureReader
    if adapter.is_recurrent:
        from chumoku.model.traceable.huggingface.recurrent import Recurrent

        return Recurrent
    return Translator if adapter.description.writes == "target" else HuggingFaceModel


def load_model(folder: Path, architecture: str, attention: str = NAME) -> nn.Module:
    """The model in float32 and eval mode, from local safetensors only."""
    kind = getattr(transformers, architecture)
    quiet = logging.getLogger("transformers")
    before, quiet.level = quiet.level, logging.ERROR  # it only warns of missing weights, and uses random ones
    try:
        loaded = kind.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, trust_remote_code=False, dtype=torch.float32,
            attn_implementation=attention, output_loading_info=True,
        )  # fmt: skip
    except (*UNFIT, StrictDataclassError) as error:
        kind = "" if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{folder} does not load: {kind}{' '.join(str(error).split())}") from None
    finally:
        quiet.level = before
    model: nn.Module
    model, info = loaded
    lacks = sorted(info["missing_keys"]) + sorted(str(key) for key in info["mismatched_keys"])
    if lacks:
        raise ValueError(f"{folder}: its weights do not fit its config: {lacks[0]} is missing or of another shape")
    check_types(folder, model)
    model.eval().requires_grad_(False)
    return model


def check_types(folder: Path, model: nn.Module) -> None:
    """Raise `ValueError` for a parameter that is not stored as a number with a fraction: transformers converts it."""
    taken = {name for parameter, _ in model.named_parameters() for name in names_of(parameter)}
    for path in weight_files(folder):
        shapes_in(path, taken.__contains__)


def check_runs(traceable: HuggingFaceModel, folder: Path) -> None:
    """Raise `ValueError` for weights that overflow, as for our models."""
    tap = traceable.description.logits.tap
    if not traceable.trace(traceable.simplest, [tap]).tensors[tap].isfinite().all():
        raise ValueError(f"{folder}: the model's answer to its first token is not finite")
