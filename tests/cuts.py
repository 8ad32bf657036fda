"""A run without some looks, for tests of what decides an answer."""

from __future__ import annotations

import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.masks import EDITED
from chumoku.model.taps import Edit


def without(checkpoint: Checkpoint, row: int, key: int) -> dict[str, Edit]:
    """The edits that forbid a row of the last attention to look at a key, in all layers and heads."""
    cut = cut_in(slice(None), row, key)
    return dict.fromkeys(checkpoint.description.attentions[-1].roles["mask"].taps, cut)


def cut_in(heads: int | slice, row: int, key: int) -> Edit:
    """The edit of one layer's mask that forbids a row to look at a key in some heads."""

    def cut(x: Tensor, _: int) -> Tensor:
        x = x.clone(memory_format=torch.contiguous_format)
        x[:, heads, row, key] |= EDITED
        return x

    return cut
