"""A run without some attention edges, for tests of what decides an answer."""

from __future__ import annotations

import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.masks import EDITED
from chumoku.model.taps import Edit


def without(checkpoint: Checkpoint, row: int, key: int) -> dict[str, Edit]:
    """The edits that forbid a row of the last attention to attend to a key, in all layers and heads."""
    knockout = knockout_in(slice(None), row, key)
    return dict.fromkeys(checkpoint.description.attentions[-1].roles["mask"].taps, knockout)


def knockout_in(heads: int | slice, row: int, key: int) -> Edit:
    """The edit of one layer's mask that forbids a row to attend to a key in some heads."""

    def knockout(x: Tensor, _: int) -> Tensor:
        x = x.clone(memory_format=torch.contiguous_format)
        x[:, heads, row, key] |= EDITED
        return x

    return knockout
