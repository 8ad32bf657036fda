"""The loss of the same tokens at the end of texts of several lengths: what more context gives, and whether a model can
read texts longer than any that it was trained on."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model.config import ModelConfig
from chumoku.model.describe import parameters
from chumoku.model.evaluate import trained_mask
from chumoku.model.mechanisms import fuse_attention
from chumoku.model.positions import build_positions
from chumoku.model.transformer import DecoderOnly

LENGTHS = (32, 64, 96, 128, 192, 256, 384, 512, 1024)
SCORED = 32
"""How many tokens are predicted at each length, always the same ones."""


@dataclass(frozen=True)
class AtLength:
    """`apart` is the loss less that at the longest length in training; `error`: its standard error over documents."""

    length: int
    loss: float
    apart: float
    error: float


def readable(config: ModelConfig) -> tuple[int, ...]:
    """The lengths that a model can read."""
    return tuple(n for n in LENGTHS if n <= config.max_seq_len or not ends(config))


def ends(config: ModelConfig) -> bool:
    """Whether it has a table with a row for each position, and so none beyond its window."""
    return any("position" in one.dims.split() for one in parameters(config).values())


def reading_on(model: DecoderOnly) -> DecoderOnly:
    """A copy for long texts: sines and cosines are a formula, so their table is made longer; mixers in fast forms."""
    longest = max(LENGTHS)
    copy = deepcopy(model)
    if model.config.position == "sinusoidal":
        copy.positions = build_positions(replace(model.config, max_seq_len=longest)).to(next(copy.parameters()).device)
    fuse_attention(copy, longest)
    return copy


@torch.inference_mode()
def losses_by_length(model: DecoderOnly, passages: Tensor, documents: Tensor) -> list[AtLength]:
    """The mean −ln p of each passage's last `SCORED` tokens, predicted from the end of a text of each length.

    `passages` int64 [passage position] are one token longer than the longest length: the rows of a text of n tokens
    predict up to the token after it. `documents` int64 [passage] number the documents from 0.
    """
    model = reading_on(model)
    read = {n: of_passages(model, passages[:, -n - 1 :]) for n in readable(model.config)}
    trained = read[max(n for n in read if n <= model.config.max_seq_len)]
    return [AtLength(n, float(nats.mean()), float((nats - trained).mean()), error(nats - trained, documents))
            for n, nats in read.items()]  # fmt: skip


def of_passages(model: DecoderOnly, ids: Tensor) -> Tensor:
    """The mean −ln p of the last `SCORED` of ids [passage position], each given all before it: [passage]."""
    return torch.stack([nats(model, row)[-SCORED:].mean() for row in ids])


def nats(model: DecoderOnly, ids: Tensor) -> Tensor:
    """−ln p of every token but the first, in one pass; ids [position]."""
    mask = trained_mask(model.config, len(ids) - 1, ids.device)
    return F.cross_entropy(model(ids[None, :-1], mask)[0].float(), ids[1:], reduction="none")


def error(apart: Tensor, documents: Tensor) -> float:
    """The standard error of the mean of `apart` [passage]. Passages of one document are alike, so what counts as one
    observation is a document: the sum of how far its passages are from the mean."""
    n = int(documents.max()) + 1
    off = torch.zeros(n, dtype=apart.dtype, device=apart.device).index_add_(0, documents, apart - apart.mean())
    return float((off.square().sum() * n / (n - 1)).sqrt() / len(apart))
