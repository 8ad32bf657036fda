"""Helpers of explanations: the options of a run, parameters by name, and the step from a last state to an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Description
from chumoku.model.taps import Edit
from chumoku.model.trace import Masks, Padding, Trace
from chumoku.model.transformer import Transformer


class Options(TypedDict, total=False):
    """Options that every explanation passes to `model.trace.trace`."""

    target: Sequence[int] | None
    use: Masks
    pad: Padding
    edit: Mapping[str, Edit] | None


def parameter(model: Transformer, name: str) -> Tensor:
    """A parameter by its name in the description."""
    return model.get_parameter(name)


def unembedding(checkpoint: Checkpoint) -> tuple[Tensor, Tensor | None]:
    """The weights that turn a last state into logits: W_U [vocab|class d_model], and a classifier's bias [class]."""
    names = checkpoint.description.logits.parameters
    w_u, bias = names["unembedding"], names["b_unembedding"]
    assert w_u is not None
    return parameter(checkpoint.model, w_u), None if bias is None else parameter(checkpoint.model, bias)


def read(checkpoint: Checkpoint, stream: Tensor) -> Tensor:
    """The stream [position d_model] decoded as if it were the last: [position vocab|class], float32 on the CPU."""
    readout, x = checkpoint.description.readout, stream.to(checkpoint.device)[None]
    if readout.final_norm is not None:
        x = checkpoint.model.get_submodule(readout.final_norm.module)(x)
    logits = F.linear(x, *unembedding(checkpoint))[0]
    return logits.cpu()


def answer_logits(checkpoint: Checkpoint, logits: Tensor) -> Tensor:
    """`logits` [.. vocab] with −∞ for tokens that are never sampled (PAD, START, [MASK]); a classifier's stay."""
    if checkpoint.description.predicts == "classes":
        return logits
    return without(logits, checkpoint.tokenizer.never_sampled)


def without(logits: Tensor, never_sampled: Sequence[int]) -> Tensor:
    """`logits` [.. vocab] with −∞ for these tokens. The list may be empty: models of the hub often have no PAD."""
    never = torch.tensor(never_sampled, dtype=torch.long, device=logits.device)  # an empty list would be float32
    return logits.index_fill(-1, never, -torch.inf)


def rows_read(description: Description, is_pad: Sequence[bool], n_target: int) -> list[int]:
    """The positions of the predicting stack that have logits: only [CLS], or all except PADs. `is_pad` is the source's;
    `n_target` is the length of an encoder-decoder's target."""
    if description.readout.side == "target":
        return list(range(n_target))
    rows = [t for t, padded in enumerate(is_pad) if not padded]
    return rows[:1] if description.predicts == "classes" else rows


def rows_of(description: Description, run: Trace) -> list[int]:
    """The positions that have logits, in a trace."""
    return rows_read(description, run.is_pad, len(run.target_ids or []))


def pick_row(rows: Sequence[int], row: int | None) -> int:
    """`row`, or the last of `rows` if it is None. Raises `ValueError` for a row that predicts nothing."""
    if row is None:
        return rows[-1]
    if row not in rows:
        raise ValueError(f"row {row} predicts nothing; rows that do are {rows[0]} to {rows[-1]}, PADs left out")
    return row


def check_answer(checkpoint: Checkpoint, answer: int) -> int:
    """`answer`, a token id or a class of an encoder-only model. Raises `ValueError` if the model has no logit for
    it."""
    n_answer = unembedding(checkpoint)[0].shape[0]
    if not 0 <= answer < n_answer:
        what = "class" if checkpoint.description.predicts == "classes" else "token id"
        raise ValueError(f"{what} {answer} is not one of 0 to {n_answer - 1}")
    return answer
