"""Two tables at the start of a stream: embeddings with their nearest neighbours, positions with their similarity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import PositionKind
from chumoku.model.explain.anatomy import parameter
from chumoku.model.positions import POSITIONS

Measure = Literal["cosine", "dot"]


@dataclass(frozen=True)
class Neighbours:
    """The neighbours of a token, nearest first: ids int64 [k], and both scores of each, float64 [k], whichever measure
    ranked them."""

    id: int
    norm: float
    """‖E[id]‖"""
    ids: Tensor
    cosine: Tensor
    dot: Tensor
    mean_cosine: float
    """The mean over all pairs of different tokens, without special ones: the baseline for a neighbour's cosine,
    because embeddings all lean one way (Ethayarajh 2019)."""


@torch.inference_mode()
def neighbours(checkpoint: Checkpoint, token_id: int, *, k: int = 10, measure: Measure = "cosine") -> Neighbours:
    """The k tokens with the largest cosine (or dot product) with E[token_id], except itself and special tokens.

    A dot product favours tokens with long embeddings. Raises `ValueError` for an id that is not in the vocabulary,
    a k below 1 or an unknown measure.
    """
    e = embeddings(checkpoint)  # vocab d_model
    if not 0 <= token_id < len(e):
        raise ValueError(f"token id {token_id} is not in the vocabulary: ids run from 0 to {len(e) - 1}")
    if k < 1:
        raise ValueError(f"k must be at least 1, got k={k}")
    e = e.cpu().double()
    unit = F.normalize(e, dim=-1)
    scores = {"dot": e @ e[token_id], "cosine": unit @ unit[token_id]}  # vocab
    if measure not in scores:
        raise ValueError(f"unknown measure {measure!r}; known are cosine, dot")
    plain = torch.ones(len(e), dtype=torch.bool)
    plain[list(checkpoint.tokenizer.special_ids.values())] = False
    ranked = torch.where(plain, scores[measure], -torch.inf)
    ranked[token_id] = -torch.inf
    ids = ranked.topk(min(k, int(ranked.isfinite().sum()))).indices
    return Neighbours(
        token_id, float(e[token_id].norm()), ids, scores["cosine"][ids], scores["dot"][ids], mean_cosine(unit[plain])
    )


def embeddings(checkpoint: Checkpoint) -> Tensor:
    """E [vocab d_model] of the stack that reads the source."""
    name = checkpoint.description.stacks[0].embedding.parameters["embedding"]
    assert name is not None
    return parameter(checkpoint.model, name)


def mean_cosine(unit: Tensor) -> float:
    """The mean over all pairs of different rows of `unit` [n d_model], whose rows have length 1."""
    n = len(unit)
    return float((unit.sum(0).square().sum() - n) / (n * (n - 1)))


MAX_TIMES = 8
"""A sinusoid is continued up to this many times the model's window."""


@dataclass(frozen=True)
class PositionTable:
    """The table that is added to the embeddings, float32 [position d_model], and the cosine of every pair of its rows,
    float64 [position position].

    `trained`: the number of positions in the model's window (0 for kind `none`, which has no rows). `beyond`: a
    sinusoid `continues` after them by its formula, although the model was never trained on those rows; learned
    positions have `nothing` there, because the table ends.
    """

    kind: PositionKind
    table: Tensor
    similarity: Tensor
    trained: int
    beyond: Literal["continues", "nothing"]


@torch.inference_mode()
def position_table(checkpoint: Checkpoint, length: int | None = None, *, stack: str | None = None) -> PositionTable:
    """The first `length` rows (by default, the model's window) of the table of a stack (by default, the one that reads
    the source).

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
        return PositionTable(embedding.positions, table, cosines(table), window, "nothing")
    formula = POSITIONS[embedding.positions].formula
    if formula is not None:
        if length > MAX_TIMES * window:
            raise ValueError(f"{length} positions are more than {MAX_TIMES} × the window of {window}")
        table = formula(length, description.d_model)
        return PositionTable(embedding.positions, table, cosines(table), window, "continues")
    return PositionTable(
        embedding.positions, torch.empty(0, description.d_model), torch.empty(0, 0).double(), 0, "nothing"
    )


def cosines(x: Tensor) -> Tensor:
    """The cosine of every pair of rows of x [n d]: [n n], float64."""
    x = F.normalize(x.double(), dim=-1)
    return x @ x.mT
