"""Loads a model with transformers, installs our attention and hooks, and checks the model."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor, nn
from torch.nn.modules import module as hooks_of_torch

from chumoku.model.files import shapes_in
from chumoku.model.traceable.huggingface.any_attention import NAME as ANY
from chumoku.model.traceable.huggingface.any_attention import attach_any, check_asks
from chumoku.model.traceable.huggingface.capture import NAME
from chumoku.model.traceable.huggingface.folders import (
    FLOAT32,
    all_shapes,
    available,
    n_parameters,
    names_of,
    weight_files,
)
from chumoku.model.traceable.huggingface.forwards import replace_forwards
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

_building = Lock()
"""While transformers builds a model, it replaces functions of the whole process, such as the one that ties weights: two
that overlap would leave it replaced."""

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
        from chumoku.model.traceable.huggingface.recurrent import forbid_kernels

        forbid_kernels()
    attention = NAME if adapter.is_known else ANY
    model = load_model(folder, settings.architecture, "eager" if adapter.builds_eager else attention)
    if adapter.builds_eager:
        name_attention(model, attention)
    return ready(model, folder, about, settings, adapter, device)


def name_attention(model: nn.Module, attention: str) -> None:
    """Let a model look up this attention function and its mask function. (transformers asks some models first, which
    refuse.)"""
    for module in model.modules():
        if (config := getattr(module, "config", None)) is not None:
            config._attn_implementation = attention


def ready(
    model: nn.Module, folder: Path, about: About, settings: TransformersConfig, adapter: Adapter, device: torch.device
) -> HuggingFaceModel:
    """A model of transformers, watched. Raises `ValueError` if it cannot be shown exactly, or overflows."""
    if adapter.answer is not None:
        model = WithHead(model, adapter.base)
    if adapter.prepare is not None:
        adapter.prepare(model)
    if adapter.is_known:
        replace_forwards(model)
    if adapter.is_recurrent:
        from chumoku.model.traceable.huggingface.recurrent import attach_recurrent

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


@contextmanager
def building() -> Iterator[None]:
    """In this block no other thread builds a model, and transformers only logs errors: it warns of missing weights, and
    uses random ones."""
    quiet = logging.getLogger("transformers")
    with _building:
        before, quiet.level = quiet.level, logging.ERROR
        try:
            yield
        finally:
            quiet.level = before


def load_model(folder: Path, architecture: str, attention: str = NAME) -> nn.Module:
    """The model in float32 and eval mode, from local safetensors only."""
    kind = getattr(transformers, architecture)
    try:
        with building(), no_larger_than(folder):
            loaded = kind.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, trust_remote_code=False, dtype=torch.float32,
                attn_implementation=attention, output_loading_info=True, ignore_mismatched_sizes=True,
            )  # fmt: skip
    except (*UNFIT, StrictDataclassError, RuntimeError) as error:
        if "memory" in str(error) and isinstance(error, RuntimeError):
            raise  # of the allocator: the next request may find more
        kind = "" if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{folder} does not load: {kind}{' '.join(str(error).split())}") from None
    model: nn.Module
    model, info = loaded
    unread = POOLER if model is model.base_model else "\0"  # it is not shown
    missing = sorted(name for name in info["missing_keys"] if not name.startswith(unread))
    check_complete(folder, missing, sorted(info["mismatched_keys"]))
    check_types(folder, model)
    model.eval().requires_grad_(False)
    return model


@dataclass
class Room:
    """What a model may still ask for while transformers builds it on the meta device, where nothing is allocated yet.

    A config that lies asks for any amount, whatever its weights are: a head of a million numbers, a million experts.
    `free`: numbers that fit into memory.
    """

    parameters: int
    buffers: int
    modules: int
    free: float

    def take(self, parameters: int = 0, buffers: int = 0) -> None:
        self.parameters -= parameters
        self.buffers -= buffers
        self.free -= parameters + buffers
        if min(self.parameters, self.buffers) < 0:
            raise ValueError("its config asks for more numbers than its weights have")
        if self.free < 0:
            raise MemoryError("its config asks for more numbers than fit into the memory that is free")

    def take_module(self) -> None:
        self.modules -= 1
        if self.modules < 0:
            raise ValueError("its config asks for more modules than its weights have tensors for")


SPARE_NUMBERS, SPARE_MODULES = 64 * 2**20, 1000
"""Beyond what is stored: causal masks, angles; and modules without numbers."""
TIED = 4
"""The most names of one table: of a translator, the shared one, the encoder's, the decoder's and the logits'."""
MODULES = 32
"""Modules per stored tensor: with experts stored as one tensor, each may still be modules of its own."""
_room: ContextVar[Room | None] = ContextVar("chumoku_room", default=None)


@contextmanager
def no_larger_than(folder: Path) -> Iterator[None]:
    """In this block, building a model that is much larger than the folder's weights raises `ValueError`, and one that
    does not fit into memory `MemoryError`."""
    shapes = all_shapes(folder)
    stored, table = n_parameters(shapes), max(map(math.prod, shapes.values()), default=0)
    bytes_free = available()
    free = math.inf if bytes_free is None else bytes_free / FLOAT32 + (TIED - 1) * table
    room = Room(stored + TIED * table + SPARE_NUMBERS, stored + SPARE_NUMBERS,
                MODULES * len(shapes) + SPARE_MODULES, free)  # fmt: skip
    with within(room):
        yield


@contextmanager
def within(room: Room) -> Iterator[None]:
    token = _room.set(room)
    try:
        yield
    finally:
        _room.reset(token)


def count_parameter(module: nn.Module, name: str, x: Tensor | None) -> None:
    if (room := _room.get()) is not None:
        room.take(parameters=asked(x))


def count_buffer(module: nn.Module, name: str, x: Tensor | None) -> None:
    if (room := _room.get()) is not None:
        room.take(buffers=asked(x))


def count_module(module: nn.Module, name: str, inside: nn.Module | None) -> None:
    if (room := _room.get()) is not None:
        room.take_module()


def asked(x: Tensor | None) -> int:
    """The numbers of a tensor that is only a shape so far; what is loaded later replaces it, under the same name."""
    return 0 if x is None or x.device.type != "meta" else x.numel()


# Once, here: torch's hooks are shared by all threads.
hooks_of_torch.register_module_parameter_registration_hook(count_parameter)
hooks_of_torch.register_module_buffer_registration_hook(count_buffer)
hooks_of_torch.register_module_module_registration_hook(count_module)


def check_complete(folder: Path, missing: list[str], misfits: list[tuple[str, torch.Size, torch.Size]]) -> None:
    """Raise `ValueError` naming a parameter that is not stored, or in another shape."""
    if missing:
        raise ValueError(f"{folder}: its weights do not fit its config: {missing[0]} is missing")
    for name, stored, needed in misfits:
        raise ValueError(
            f"{folder}: its weights do not fit its config: {name} is {tuple(stored)}, the config needs {tuple(needed)}"
        )


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
