"""The tokens whose embeddings are nearest to that of a given token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.anatomy import parameter

Measure = Literal["cosine", "dot"]


@dataclass(frozen=True)
class Neighbours:
    """Nearest first: ids int64 [k], and both scores of each, float64 [k], whichever measure ranked them."""

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
    a k below 1 and an unknown measure.
    """
    e = embeddings(checkpoint)  # vocab d_model
    if not 0 <= token_id < len(e):
        raise ValueError(f"token id {token_id} is not in the vocabulary: ids run from 0 to {len(e) - 1}")
    if k < 1:
        raise ValueError(f"there is one neighbour or more to show, got k={k}")
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
