"""A warm start: a run that begins with the weights of another model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.describe import describe
from chumoku.model.training.presets import Preset
from chumoku.model.transformer import Transformer


def keep_vocabulary(preset: Preset, folder: Path | None) -> Preset:
    """`preset`, with [MASK] in its vocabulary if the model in `folder` has it: the embedding is copied whole."""
    if folder is None or preset.config.family != "encoder-only":
        return preset
    source = checkpoint.read_config(folder)
    return replace(preset, config=replace(preset.config, mask_token=source.mask_token))


def begin_with(model: Transformer, folder: Path) -> list[str]:
    """Copy the weights of the model in `folder`. Returns the parameters that are left as they are: the head of a
    classifier that begins with a masked language model, whose unembedding it has no use for. Anything else that does
    not fit raises `ValueError`."""
    source = checkpoint.load(folder)
    ours, theirs = describe(model.config), source.description
    tensors, head = checkpoint.weights(source.model), dict[str, Tensor]()
    if (theirs.predicts, ours.predicts) == ("same", "classes"):
        own, unused = checkpoint.weights(model), theirs.logits.parameters.values()
        tensors = {name: x for name, x in tensors.items() if name not in unused}
        head = {name: own[name] for name in ours.logits.parameters.values() if name is not None}
    checkpoint.load_weights(model, tensors | head)
    return list(head)
