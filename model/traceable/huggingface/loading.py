"""Loads a model with transformers, installs our attention and hooks, and checks the model."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

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

POOLER = "pooler."
"""What a model without a head has after its last state, and folders often lack."""
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
    if adapter.answer is not None:
        model = WithHead(model, adapter.base)
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


class WithHead(nn.Module):
    """A model with another head or none, whose base is found under the name that it has in the usual class."""

    def __init__(self, model: Any, base: str) -> None:
        super().__init__()
        self.whole = model
        setattr(self, base, model.base_model)

    def forward(self, **given: Any) -> Any:
        return self.whole(**given)


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
    unread = POOLER if model is model.base_model else "\0"  # it is not shown
    missing = sorted(name for name in info["missing_keys"] if not name.startswith(unread))
    lacks = missing + sorted(str(key) for key in info["mismatched_keys"])
    if lacks:
        raise ValueError(f"{folder}: its weights do not fit its config: {lacks[0]} is missing or of another shape")
    check_types(folder, model)
    model.eval().requires_grad_(False)
    return model


def check_types(folder: Path, model: nn.Module) -> None:
    """Raise `ValueError` for a parameter that is not stored as a number with a fraction: transformers converts it."""
    base = getattr(model, "base_model_prefix", "")
    names = [name for parameter, _ in model.named_parameters() for name in (parameter, f"{base}.{parameter}")]
    taken = {stored for name in names for stored in names_of(name)}
    for path in weight_files(folder):
        shapes_in(path, taken.__contains__)


def check_runs(traceable: HuggingFaceModel, folder: Path) -> None:
    """Raise `ValueError` for weights that overflow, as for our models."""
    tap = traceable.description.logits.tap
    if not traceable.trace(traceable.simplest, [tap]).tensors[tap].isfinite().all():
        raise ValueError(f"{folder}: the model's answer to its first token is not finite")
