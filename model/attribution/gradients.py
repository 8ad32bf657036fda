"""How the gradient of a log-probability reaches each layer, with and without residual connections.

He et al. 2016 ("Identity Mappings in Deep Residual Networks", equation 5): ∂(x + f(x))/∂x = 1 + ∂f/∂x, so part of the
gradient passes every layer unchanged. Without the 1, the gradient is a product over all layers.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import torch
from torch import Tensor, nn

from chumoku.model.block import PreNormResidual, SublayerFunction
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import NormOrder
from chumoku.model.explain.anatomy import Options, answer_logits, check_answer, pick_row, rows_of
from chumoku.model.taps import Edit, record
from chumoku.model.trace import Masks, Trace, run, trace
from chumoku.model.transformer import Transformer


class WithoutSkip(nn.Module):
    """A sublayer without its residual connection: f(x) instead of x + f(x). Its LayerNorm stays."""

    def __init__(self, residual: PreNormResidual, norm_order: NormOrder) -> None:
        super().__init__()
        self.norm, self.norm_first = residual.norm, norm_order == "pre"

    def forward(self, x: Tensor, sublayer: SublayerFunction) -> Tensor:
        return sublayer(self.norm(x)) if self.norm_first else self.norm(sublayer(x))


@dataclass(frozen=True)
class StackGradient:
    """‖∂ ln p / ∂x‖ of one stack, float64 [depth position]; depth 0 is before the first layer, the last depth after the
    last layer. `total` [depth]: the norm over all positions (Frobenius)."""

    stack: str
    taps: list[str]
    norm: Tensor
    total: Tensor


@dataclass(frozen=True)
class Gradient:
    """Gradients of ln p(answer) at `row`; p is the softmax over the classes, or over the tokens that can be sampled.

    `log_p` in nats, in this run. Without residual connections this is in effect a different, untrained model.
    """

    residuals: bool
    row: int
    answer: int
    log_p: float
    stacks: list[StackGradient]


def gradient_norms(
    checkpoint: Checkpoint, ids: Sequence[int], answer: int, *, row: int | None = None, **options: Unpack[Options]
) -> list[Gradient]:
    """Gradients with residual connections, then without; `row` defaults to the last position (or [CLS]).

    The shared model does not change, and its parameters need no gradients: gradients start at the stream of layer 0.
    The model without residual connections is a copy that shares the tensors. Raises what `trace` raises, and
    `ValueError` for an unknown row or answer, or a token that is never sampled.
    """
    check_answer(checkpoint, answer)
    check_sampled(checkpoint, answer)
    given = trace(checkpoint, ids, [], **options)
    row = pick_row(rows_of(checkpoint.description, given), row)
    without = replace(checkpoint, model=without_residuals(checkpoint.model))
    return [gradient(variant, given, answer, row, variant is checkpoint, options) for variant in (checkpoint, without)]


def check_sampled(checkpoint: Checkpoint, answer: int) -> None:
    """Raise `ValueError` for a token without a probability: its logarithm has no gradient."""
    if checkpoint.description.predicts != "classes" and answer in checkpoint.tokenizer.never_sampled:
        raise ValueError(f"token id {answer} is never sampled: it has no probability")


def without_residuals(model: Transformer) -> Transformer:
    """A copy of the modules, with the same parameters, without residual connections."""
    shared = {id(x): x for x in [*model.parameters(), *model.buffers()]}
    twin = copy.deepcopy(model, dict(shared))
    for parent in list(twin.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, PreNormResidual):
                setattr(parent, name, WithoutSkip(child, model.config.norm_order))
    return twin


def gradient(
    checkpoint: Checkpoint, given: Trace, answer: int, row: int, residuals: bool, options: Options
) -> Gradient:
    streams = {stack.id: stack.stream for stack in checkpoint.description.stacks}
    names = [name for stream in streams.values() for name in stream]
    edits = {**(options.get("edit") or {})}
    for first, *_ in streams.values():
        edits[first] = leaf(edits.get(first))
    with torch.inference_mode(False), torch.enable_grad(), record(names, edits) as recording:
        logits = forward(checkpoint, given, options.get("use", Masks()))
        log_p = answer_logits(checkpoint, logits if logits.dim() == 1 else logits[row]).log_softmax(-1)[answer]
        gradients = slopes(log_p, [recording.tensors[name] for name in names])
    norms = {name: g[0].cpu().double().norm(dim=-1) for name, g in zip(names, gradients, strict=True)}
    stacks = []
    for id, stream in streams.items():
        norm = torch.stack([norms[name] for name in stream])
        stacks.append(StackGradient(id, stream, norm, norm.norm(dim=-1)))
    return Gradient(residuals, row, answer, float(log_p.detach()), stacks)


def slopes(y: Tensor, xs: list[Tensor]) -> tuple[Tensor, ...]:
    """∂y/∂x for each x; zeros where y does not depend on it (an edit may have removed the path)."""
    if not y.requires_grad:
        return tuple(torch.zeros_like(x) for x in xs)
    return torch.autograd.grad(y, xs, allow_unused=True, materialize_grads=True)


def leaf(edit: Edit | None) -> Edit:
    """An edit that makes a tap's tensor a leaf, where gradients start, after `edit` if given."""
    return lambda x, first: (edit(x, first) if edit else x).detach().clone().requires_grad_()


def forward(checkpoint: Checkpoint, given: Trace, use: Masks) -> Tensor:
    """The logits for the ids of a trace: [position vocab] or [class]."""
    token_ids = torch.tensor([given.ids], device=checkpoint.device)
    position_ids = torch.tensor([given.position_ids], device=checkpoint.device)
    is_pad = torch.tensor([given.is_pad], device=checkpoint.device)
    target = None if given.target_ids is None else torch.tensor([given.target_ids], device=checkpoint.device)
    return run(checkpoint, token_ids, position_ids, is_pad, use, target)[0]
