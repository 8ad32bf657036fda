"""A model taken apart: its stacks, what writes into their residual streams, and which taps lie before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import torch
from torch import Tensor

from model.attention import MultiHeadAttention
from model.block import LayerNorm
from model.checkpoint import Checkpoint
from model.feedforward import FeedForward
from model.stack import Stack
from model.taps import Edit
from model.trace import Masks, Padding
from model.transformer import EncoderDecoder, EncoderOnly, Transformer

Kind = Literal["attn", "cross_attn", "ffn"]


class Options(TypedDict, total=False):
    """What every function of this room hands on to `model.trace.trace`."""

    target: Sequence[int] | None
    use: Masks
    pad: Padding
    edit: Mapping[str, Edit] | None


@dataclass(frozen=True)
class Sublayer:
    """An attention or FFN with its residual connection; the rest are names of taps, and of modules, in the model."""

    layer: int
    kind: Kind
    path: str
    """The sublayer, e.g. `decoder.layers.0.cross_attn`."""
    norm: str
    """Its LayerNorm; `norm + ".input"` and `norm + ".out"` are taps."""
    before: str
    """The residual stream that comes in …"""
    after: str
    """… and that goes out."""

    @property
    def out(self) -> str:
        """The tap of what the sublayer computed, its bias included."""
        return f"{self.path}.out" if self.kind == "ffn" else f"{self.path}.attn_out"


def prefixes(model: Transformer) -> dict[str, Stack]:
    """The stacks of a model in the order of the forward pass; the key stands before the names of their taps."""
    if isinstance(model, EncoderDecoder):
        return {"encoder.": model.encoder, "decoder.": model.decoder}
    return {"": model}


def readout(model: Transformer) -> tuple[str, Stack]:
    """The stack whose last state is read as logits, with its prefix."""
    return list(prefixes(model).items())[-1]


def sublayers(stack: Stack, prefix: str) -> list[Sublayer]:
    """What writes into a stack's residual stream, first to last."""
    found = []
    for n, block in enumerate(stack.layers):
        crosses = hasattr(block, "cross_attn")
        stations: list[tuple[Kind, str, str]] = [("attn", "resid_pre", "resid_mid")]
        stations += [("cross_attn", "resid_mid", "resid_cross")] if crosses else []
        stations += [("ffn", "resid_cross" if crosses else "resid_mid", "resid_post")]
        at = f"{prefix}layers.{n}."
        found += [
            Sublayer(n, kind, at + kind, f"{at}{kind}_residual.norm", at + before, at + after)
            for kind, before, after in stations
        ]
    return found


def stream_taps(stack: Stack, prefix: str) -> list[str]:
    """The stream before the first layer and after every layer: n_layer + 1 names."""
    last = [f"{prefix}layers.{n}.resid_post" for n in range(len(stack.layers))]
    return [f"{prefix}layers.0.resid_pre", *last]


def attention_at(model: Transformer, path: str) -> MultiHeadAttention:
    """The attention of that name."""
    module = model.get_submodule(path)
    assert isinstance(module, MultiHeadAttention)
    return module


def ffn_at(model: Transformer, path: str) -> FeedForward:
    """The FFN of that name."""
    module = model.get_submodule(path)
    assert isinstance(module, FeedForward)
    return module


def norm_at(model: Transformer, path: str) -> LayerNorm:
    """The LayerNorm of that name."""
    module = model.get_submodule(path)
    assert isinstance(module, LayerNorm)
    return module


def unembedding(model: Transformer) -> tuple[Tensor, Tensor | None]:
    """What turns a last state into logits: W_U [vocab|class d_model], and a classifier's bias [class]."""
    if isinstance(model, EncoderOnly):
        return model.classifier.weight, model.classifier.bias
    return model.unembedding.weight, None


def answer_logits(checkpoint: Checkpoint, logits: Tensor) -> Tensor:
    """`logits` [.. vocab] with −∞ for the tokens that are never sampled (PAD, START); a classifier's as they are."""
    if checkpoint.config.family == "encoder-only":
        return logits
    never = torch.tensor(checkpoint.tokenizer.never_sampled, device=logits.device)
    return logits.index_fill(-1, never, -torch.inf)


def rows_read(checkpoint: Checkpoint, ids: Sequence[int], target_ids: Sequence[int] | None) -> list[int]:
    """The positions of the reading stack that have logits: [CLS] alone, or all but PADs. `ids` are a trace's."""
    if checkpoint.config.family == "encoder-only":
        return [list(ids).index(checkpoint.tokenizer.first_id)]
    if target_ids is not None:
        return list(range(len(target_ids)))
    return [t for t, i in enumerate(ids) if i != checkpoint.tokenizer.pad_id]


def pick_row(rows: Sequence[int], row: int | None) -> int:
    """`row`, the last of `rows` by default. Raises `ValueError` for one that predicts nothing."""
    if row is None:
        return rows[-1]
    if row not in rows:
        raise ValueError(f"row {row} predicts nothing; rows that do are {rows[0]} to {rows[-1]}, PADs left out")
    return row


def check_answer(checkpoint: Checkpoint, answer: int) -> int:
    """`answer`, if the model has a logit for it: a token id, or a class of an encoder-only model; else `ValueError`."""
    n_answer = unembedding(checkpoint.model)[0].shape[0]
    if not 0 <= answer < n_answer:
        what = "class" if checkpoint.config.family == "encoder-only" else "token id"
        raise ValueError(f"{what} {answer} is not one of 0 to {n_answer - 1}")
    return answer
