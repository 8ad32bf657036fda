"""The position table: its rows, their similarity, and what follows after the trained length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import PositionKind
from chumoku.model.explain.anatomy import parameter
from chumoku.model.positions import sinusoid

MAX_TIMES = 8
"""A sinusoid is continued up to this many times the model's window."""


@dataclass(frozen=True)
class PositionTable:
    """Table float32 [position d_model], as added to the embeddings. Similarity float64 [position position], the cosine
    of every pair of rows.

    `trained`: the number of positions in the model's window (0 for kind `none`, which has no rows). `beyond`: a
    sinusoid `continues` after them by its formula, although the model has never seen those rows; learned positions
    have `nothing` there, because the table ends.
    """

    kind: PositionKind
    table: Tensor
    similarity: Tensor
    trained: int
    beyond: Literal["continues", "nothing"]


@torch.inference_mode()
def position_table(checkpoint: Checkpoint, length: int | None = None, *, stack: str | None = None) -> PositionTable:
    """The first `length` rows (the model's window by default) of a stack's table (of the one that reads the source).

    Raises `ValueError` for rows that do not exist (learned: beyond the window; sinusoid: beyond 8 times the window) and
    `KeyError` for an unknown stack.
    """
    description = checkpoint.description
    embedding = (description.stacks[0] if stack is None else description.stack(stack)).embedding
    window = description.max_seq_len
    if length is not None and length < 1:
        raise ValueError(f"a table has one row or more, got {length}")
    length = window if length is None else length
    name = embedding.parameters["positions"]
    if name is not None:
        if length > window:
            raise ValueError(f"{length} learned positions: the table ends after {window}, none was trained")
        table = parameter(checkpoint.model, name)[:length].cpu()
        return PositionTable("learned", table, cosines(table), window, "nothing")
    if embedding.positions == "sinusoidal":
        if length > MAX_TIMES * window:
            raise ValueError(f"{length} positions are more than {MAX_TIMES} × the window of {window}")
        table = sinusoid(length, description.d_model)
        return PositionTable("sinusoidal", table, cosines(table), window, "continues")
    return PositionTable("none", torch.empty(0, description.d_model), torch.empty(0, 0).double(), 0, "nothing")


def cosines(x: Tensor) -> Tensor:
    """The cosine of every pair of rows of x [n d]: [n n], float64."""
    x = F.normalize(x.double(), dim=-1)
    return x @ x.mT
