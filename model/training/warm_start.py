"""A warm start: a run that starts from the weights of another model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from chumoku.model import checkpoint
from chumoku.model.block import FeedForward
from chumoku.model.checkpoint import read_card
from chumoku.model.describe import describe
from chumoku.model.training.presets import Preset
from chumoku.model.transformer import Transformer


def keep_vocabulary(preset: Preset, folder: Path | None) -> Preset:
    """`preset`, with [MASK] in its vocabulary exactly if the model in `folder` has it, because the whole embedding is
    copied. Raises `ValueError` for a masked language model if that model has no [MASK]."""
    if folder is None or preset.config.family != "encoder-only":
        return preset
    source = checkpoint.read_config(folder)
    if preset.config.mask_token and not source.mask_token:
        raise ValueError(f"{preset.name} hides tokens with [MASK], which the vocabulary of {folder} lacks")
    return replace(preset, config=replace(preset.config, mask_token=source.mask_token))


def begin_with(model: Transformer, folder: Path) -> list[str]:
    """Copy the weights of the model in `folder`. Returns the names of the parameters that are not copied: the head of a
    classifier that starts from a masked language model, or the unembedding of a masked language model that starts from
    a classifier, unless it is tied to the embedding. Raises `ValueError` for any other weights that do not fit."""
    source = checkpoint.load(folder)
    ours, theirs = describe(model.config), source.description
    tensors, head = checkpoint.weights(source.model), dict[str, Tensor]()
    if {theirs.predicts, ours.predicts} == {"same", "classes"}:
        fresh, unused = checkpoint.weights(model), theirs.logits.parameters.values()
        tensors = {name: x for name, x in tensors.items() if name not in unused}
        head = {name: fresh[name] for name in ours.logits.parameters.values() if name in fresh}
    checkpoint.load_weights(model, tensors | head)
    return list(head)


@torch.no_grad()
def revive_dead_units(model: Transformer, folder: Path) -> int:
    """Reset the FFN units that the card in `folder` calls dead, and return how many there are.

    ReLU passes no gradient to a unit that never fires, so it stays dead however long the model trains. Such a unit gets
    random input weights as large as the others', and its row of W_2 becomes 0: at first it fires but adds nothing.
    """
    layers = read_card(folder).get("units", {}).get("layers", [])
    for layer in layers:
        ffn, dead = model.get_submodule(layer["path"]), layer["dead"]
        assert isinstance(ffn, FeedForward)
        alive = torch.ones(ffn.w_1.out_features, dtype=torch.bool)
        alive[dead] = False
        new = torch.empty(len(dead), ffn.w_1.in_features)
        ffn.w_1.weight[dead] = nn.init.normal_(new, std=float(ffn.w_1.weight[alive].std())).to(ffn.w_1.weight)
        ffn.w_1.bias[dead] = 0.0
        ffn.w_2.weight[:, dead] = 0.0
    return sum(layer["n_dead"] for layer in layers)
