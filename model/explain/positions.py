"""The table of positions: its rows, how alike they are, and what there is beyond the length that was trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from model.checkpoint import Checkpoint
from model.config import PositionKind
from model.explain.anatomy import prefixes
from model.positions import LearnedPositions, SinusoidalPositions, sinusoid

MAX_TIMES = 8
"""A sinusoid is continued to this many times the model's window at most."""


@dataclass(frozen=True)
class PositionTable:
    """table float32 [position d_model] as it is added to the embeddings; similarity float64 [position position], the
    cosine of each two rows.

    `trained`: how many positions the model's window has (0 for kind `none`, which has no rows). `beyond`: a sinusoid
    `continues` behind them, by its formula, though the model has never seen those rows; of learned positions there is
    `nothing`, the table ends.
    """

    kind: PositionKind
    table: Tensor
    similarity: Tensor
    trained: int
    beyond: Literal["continues", "nothing"]


@torch.inference_mode()
def position_table(checkpoint: Checkpoint, length: int | None = None, *, prefix: str | None = None) -> PositionTable:
    """The first `length` rows (the model's window by default) of a stack's table (of the one that reads the source).

    Raises `ValueError` for rows that there are not: of a learned table beyond the window, of a sinusoid beyond 8 times
    it; `KeyError` for a stack that is not there.
    """
    stacks = prefixes(checkpoint.model)
    module = (next(iter(stacks.values())) if prefix is None else stacks[prefix]).positions
    config = checkpoint.config
    if length is not None and length < 1:
        raise ValueError(f"a table has one row or more, got {length}")
    length = config.max_seq_len if length is None else length
    if isinstance(module, LearnedPositions):
        if length > config.max_seq_len:
            raise ValueError(f"{length} learned positions: the table ends after {config.max_seq_len}, none was trained")
        table = module.table.weight[:length].cpu()
    elif isinstance(module, SinusoidalPositions):
        if length > MAX_TIMES * config.max_seq_len:
            raise ValueError(f"{length} positions are more than {MAX_TIMES} × the window of {config.max_seq_len}")
        table = sinusoid(length, config.d_model)
    else:
        return PositionTable("none", torch.empty(0, config.d_model), torch.empty(0, 0).double(), 0, "nothing")
    beyond: Literal["continues", "nothing"] = "continues" if config.position == "sinusoidal" else "nothing"
    return PositionTable(config.position, table, cosines(table), config.max_seq_len, beyond)


def cosines(x: Tensor) -> Tensor:
    """cos of each two rows of x [n d]: [n n], float64."""
    x = F.normalize(x.double(), dim=-1)
    return x @ x.mT
