"""A model's parameters by name and shape, without their numbers: what a config needs, before any weights are read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from chumoku.model.config import ModelConfig
from chumoku.model.transformer import Transformer, build


class NoNumbers(TorchFunctionMode):
    """Parameters are made without random numbers: they are read next. What is not read (zeros, tables) is made."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in ("normal_", "uniform_"):
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)


class ShapesOnly(NoNumbers):
    """Parameters are made without memory, too.

    Not `torch.device("meta")`: that also moves buffers (tables of sines, say), and makes torch import its compiler.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        more = {"device": "meta"} if func is torch.empty else {}
        return super().__torch_function__(func, types, args, (kwargs or {}) | more)


@lru_cache(maxsize=32)
def skeleton(config: ModelConfig) -> Transformer:
    """The model of a config; its parameters have shapes and no numbers. For looking at only: it is shared."""
    with ShapesOnly():
        return build(config)


def stored_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The shapes in `weights.safetensors`, where a tied matrix has one name."""
    return {name: tuple(x.shape) for name, x in skeleton(config).named_parameters()}
