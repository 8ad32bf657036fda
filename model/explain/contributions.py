"""Direct contributions to a logit: what each part of the model wrote into the stream, read as the logit reads it.

Elhage et al. 2021 ("A Mathematical Framework for Transformer Circuits"): the logit is linear in what was written into
the stream, but for the LayerNorms on the way. Each of these divides by the standard deviation of its input: that scale
is held fixed at the value it has here (the mean needs no such thing: it is linear). So the terms add up to the logit,
but a part that was missing would also have changed the scales, and what later layers do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Unpack

import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.explain.anatomy import (
    Options,
    Sublayer,
    attention_at,
    check_answer,
    ffn_at,
    norm_at,
    pick_row,
    readout,
    rows_read,
    sublayers,
    unembedding,
)
from model.trace import trace
from model.transformer import Transformer

Part = Literal["embedding", "position", "head", "attention_bias", "ffn", "ffn_bias", "norm_bias", "output_bias"]


@dataclass(frozen=True)
class Term:
    """What one part adds to the logit. `path` is its module; `layer` and `head` are None where there is none."""

    part: Part
    path: str
    layer: int | None
    head: int | None
    value: float


@dataclass(frozen=True)
class Contributions:
    """The terms of logit[answer] (− logit[against]) at a row, in the order in which they are written.

    `logit` is the model's own (float32), `total` the terms' sum (float64), `error` = logit − total: rounding, unless an
    intervention changed the stream itself. `scales`: 1/√(variance + ε) of each LayerNorm on the way, held fixed.
    """

    row: int
    answer: int
    against: int | None
    terms: list[Term]
    logit: float
    total: float
    error: float
    scales: dict[str, float]


@torch.inference_mode()
def contributions(
    checkpoint: Checkpoint,
    ids: Sequence[int],
    answer: int,
    *,
    row: int | None = None,
    against: int | None = None,
    **options: Unpack[Options],
) -> Contributions:
    """Take logit[answer] at `row` (the last, or [CLS], by default) apart; with `against`, logit[answer] −
    logit[against].

    An answer is a token id, or a class of an encoder-only model. Raises what `trace` raises, and `ValueError` for a row
    or an answer that is not there.
    """
    for one in (answer, *([] if against is None else [against])):
        check_answer(checkpoint, one)
    model = checkpoint.model
    run = trace(checkpoint, ids, taps_needed(model), **options)
    row = pick_row(rows_read(checkpoint, run.ids, run.target_ids), row)
    logits = run.tensors.pop("logits")
    logit = logits if checkpoint.config.family == "encoder-only" else logits[row]  # vocab|class
    at_row = {name: x[..., row, :].double() for name, x in run.tensors.items()}  # (head) d_model
    terms, scales = walk_back(model, at_row, answer, against)
    value = float(logit[answer].double() - (0 if against is None else logit[against].double()))
    total = sum(term.value for term in terms)
    return Contributions(row, answer, against, terms, value, total, value - total, scales)


def taps_needed(model: Transformer) -> list[str]:
    prefix, stack = readout(model)
    names = [f"{prefix}embedding", f"{prefix}positional", "logits"]
    for part in sublayers(stack, prefix):
        names += [f"{part.norm}.input", part.out if part.kind == "ffn" else f"{part.path}.head_out"]
    return names if stack.config.norm_order == "post" else [*names, f"{prefix}final_norm.input"]


def walk_back(
    model: Transformer, at_row: dict[str, Tensor], answer: int, against: int | None
) -> tuple[list[Term], dict[str, float]]:
    """From the logit down to the embedding, with the direction g [d_model] in which the stream is read."""
    prefix, stack = readout(model)
    w_u, bias = (None if x is None else x.double().cpu() for x in unembedding(model))
    assert w_u is not None
    g = w_u[answer] - (0 if against is None else w_u[against])
    way = Way(model, at_row, g)
    if bias is not None:
        value = float(bias[answer] - (0 if against is None else bias[against]))
        way.terms.append(Term("output_bias", "classifier", None, None, value))
    if stack.config.norm_order != "post":
        way.g = way.through(f"{prefix}final_norm", None)
    for part in reversed(sublayers(stack, prefix)):
        way.past(part, stack.config.norm_order)
    way.add("position", f"{prefix}positions", at_row[f"{prefix}positional"])
    way.add("embedding", f"{prefix}token_embedding", at_row[f"{prefix}embedding"])
    return way.terms[::-1], dict(reversed(way.scales.items()))


class Way:
    """The way back through the stream at one row: `g` [d_model] is what the stream is multiplied with at this place."""

    def __init__(self, model: Transformer, at_row: dict[str, Tensor], g: Tensor) -> None:
        self.model, self.at_row, self.g = model, at_row, g
        self.terms: list[Term] = []
        self.scales: dict[str, float] = {}

    def past(self, part: Sublayer, norm_order: str) -> None:
        """Back past one sublayer: its terms, and g as it is before it."""
        g_out = self.g
        if norm_order == "post":  # LayerNorm(x + f): both are read through the norm
            g_out = self.g = self.through(part.norm, part.layer)
        elif norm_order == "res-post":  # x + LayerNorm(f): f alone is
            g_out = self.through(part.norm, part.layer)
        self.written(part, g_out)

    def written(self, part: Sublayer, g: Tensor) -> None:
        """The terms of what a sublayer wrote, read by g."""
        if part.kind == "ffn":
            b_2 = ffn_at(self.model, part.path).w_2.bias.double().cpu()
            self.add("ffn_bias", part.path, b_2, part.layer, g=g)
            self.add("ffn", part.path, self.at_row[part.out] - b_2, part.layer, g=g)
            return
        b_o = attention_at(self.model, part.path).w_o.bias.double().cpu()
        self.add("attention_bias", part.path, b_o, part.layer, g=g)
        heads = self.at_row[f"{part.path}.head_out"]  # head d_model
        for head in reversed(range(len(heads))):
            self.add("head", part.path, heads[head], part.layer, head, g=g)

    def through(self, path: str, layer: int | None) -> Tensor:
        """g as it is before a LayerNorm: y = (t − mean(t)) · scale · γ for every term t, and β, which is its own."""
        norm, x = norm_at(self.model, path), self.at_row[f"{path}.input"]
        scale = 1 / (x.var(correction=0) + norm.eps).sqrt()
        self.scales[path] = float(scale)
        self.add("norm_bias", path, norm.bias.double().cpu(), layer)
        read = self.g * norm.weight.double().cpu() * scale
        return read - read.mean()

    def add(
        self,
        part: Part,
        path: str,
        x: Tensor,
        layer: int | None = None,
        head: int | None = None,
        *,
        g: Tensor | None = None,
    ) -> None:
        """The term x·g of x [d_model]; read by `self.g` unless it is read elsewhere."""
        self.terms.append(Term(part, path, layer, head, float(x @ (self.g if g is None else g))))
