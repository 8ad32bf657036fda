"""A model of transformers that is in memory already, as of a notebook: a second one that shares its numbers is watched.

The first one keeps its forward, its hooks, its mode and its attention function.
"""

from __future__ import annotations

import copy
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from chumoku.model.traceable.huggingface.any_attention import NAME as ANY
from chumoku.model.traceable.huggingface.capture import NAME
from chumoku.model.traceable.huggingface.folders import CONFIG, about, adapt
from chumoku.model.traceable.huggingface.loading import name_attention, ready
from chumoku.model.traceable.places import name_of
from chumoku.model.traceable.protocols import TraceableModel

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def open_in_memory(model: Any, tokenizer: Any, device: torch.device) -> TraceableModel:
    """The model, ready to be traced. Raises `ValueError` for a class that is none of transformers', and for what a
    folder is refused for."""
    kind = type(model)
    if not issubclass(kind, nn.Module) or getattr(transformers, kind.__name__, None) is not kind:
        raise ValueError(
            f"a {kind.__module__}.{kind.__name__} is no model of transformers: give one of its models, or a folder "
            "(of a model with an adapter, what peft's merge_and_unload returns)"
        )
    with tempfile.TemporaryDirectory() as written:
        folder = Path(written) / (name_of(Path(model.config.name_or_path or kind.__name__)) or kind.__name__)
        model.config.save_pretrained(folder)
        config = json.loads((folder / CONFIG).read_text()) | {"architectures": [kind.__name__]}
        (folder / CONFIG).write_text(json.dumps(config))
        tokenizer.save_pretrained(folder)
        shapes = {name: tuple(x.shape) for name, x in model.named_parameters()}
        settings, adapter = adapt(folder, shapes)
        known = replace(about(folder, settings, adapter, shapes), name=folder.name)
        second = sharing(model, NAME if adapter.is_known else ANY)
        return ready(second, folder, known, settings, adapter, device)


def sharing(model: nn.Module, attention: str) -> nn.Module:
    """A second model with the same numbers (of half precision: copied as float32), without hooks, in eval mode."""
    same = {id(x): nn.Parameter(x.detach(), requires_grad=False) for x in model.parameters()}
    found: Any = copy.deepcopy(model, dict(same))
    for module in found.modules():
        for hooks in HOOKS:
            getattr(module, hooks).clear()
    name_attention(found, attention)
    return found.eval().float()  # type: ignore[no-any-return]
