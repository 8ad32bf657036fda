"""Statistics of the residual stream: its norm, what each sublayer adds, and what each LayerNorm changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Description, FfnSublayer, Norm, Stack
from chumoku.model.explain.anatomy import Options, parameter
from chumoku.model.trace import trace
from chumoku.model.transformer import Transformer


@dataclass(frozen=True)
class Written:
    """What one sublayer added to the stream, each [position], float64.

    Post-norm: before the LayerNorm that follows. Res-post-norm: after its own LayerNorm, as it is added.
    """

    stack: str
    sublayer: AttentionSublayer | FfnSublayer
    norm: Tensor
    """‖f‖ (Euclidean)."""
    relative: Tensor
    """‖f‖ / ‖x‖, x being the stream to which f is added."""
    cosine: Tensor
    """cos(f, x): 1 repeats x, 0 adds a new direction, −1 cancels x."""


@dataclass(frozen=True)
class Normed:
    """What one LayerNorm did to x, each [position], float64: x̂ = (x − mean) / √(variance + ε), out = x̂ · γ + β."""

    path: str
    """The LayerNorm's module."""
    layer: int | None
    """None for the final one, after all layers."""
    mean: Tensor
    variance: Tensor
    norm_in: Tensor
    """‖x‖"""
    norm_hat: Tensor
    """‖x̂‖: √d_model, up to ε."""
    norm_out: Tensor
    """‖out‖"""
    cos_in_out: Tensor
    """cos(x, out): how much of the direction is kept."""
    cos_in_hat: Tensor
    """cos(x, x̂): the effect of subtracting the mean."""
    cos_hat_out: Tensor
    """cos(x̂, out): the effect of gain and bias."""
    gain: tuple[float, float]
    """The smallest and the largest γ."""
    bias_norm: float
    """‖β‖"""


@dataclass(frozen=True)
class ResidualStream:
    """One stack's stream. `norm` [depth position]: ‖x‖ before the first layer and after every layer, at `taps`."""

    stack: str
    ids: list[int]
    taps: list[str]
    norm: Tensor
    written: list[Written]
    norms: list[Normed]


@torch.inference_mode()
def streams(checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> list[ResidualStream]:
    """Every stack's residual stream, PADs included. Raises what `trace` raises."""
    description = checkpoint.description
    run = trace(checkpoint, ids, taps_needed(description), **options)
    tensors = {name: x.double() for name, x in run.tensors.items()}
    read = {"source": run.ids, "target": run.target_ids or []}
    return [
        ResidualStream(
            stack.id,
            read[stack.side],
            stack.stream,
            torch.stack([tensors[name].norm(dim=-1) for name in stack.stream]),
            [written(stack.id, part, tensors) for part in stack.sublayers],
            [normed(checkpoint.model, norm, layer, tensors) for norm, layer in norms(stack)],
        )
        for stack in description.stacks
    ]


def norms(stack: Stack) -> list[tuple[Norm, int | None]]:
    """Every LayerNorm of a stack, in the order of the forward pass, with its layer."""
    last = [] if stack.final_norm is None else [(stack.final_norm, None)]
    return [*((part.norm, part.layer) for part in stack.sublayers if part.norm is not None), *last]


def taps_needed(description: Description) -> list[str]:
    names = []
    for stack in description.stacks:
        names += stack.stream
        for part in stack.sublayers:
            names += [part.reads.tap, part.writes.tap]
        names += [role.tap for norm, _ in norms(stack) for role in norm.roles.values()]
    return list(dict.fromkeys(names))


def written(stack: str, part: AttentionSublayer | FfnSublayer, tensors: dict[str, Tensor]) -> Written:
    f, x = tensors[part.added.tap], tensors[part.reads.tap]  # position d_model
    norm = f.norm(dim=-1)
    return Written(stack, part, norm, norm / x.norm(dim=-1).clamp(min=1e-30), F.cosine_similarity(f, x, dim=-1))


def normed(model: Transformer, norm: Norm, layer: int | None, tensors: dict[str, Tensor]) -> Normed:
    x, out = (tensors[norm.roles[role].tap] for role in ("input", "out"))  # position d_model
    gain, bias = (parameter(model, norm.parameters[role]) for role in ("gain", "bias"))
    mean, variance = x.mean(-1), x.var(-1, correction=0)
    hat = (x - mean[:, None]) / (variance + norm.eps).sqrt()[:, None]
    return Normed(
        norm.module,
        layer,
        mean,
        variance,
        x.norm(dim=-1),
        hat.norm(dim=-1),
        out.norm(dim=-1),
        F.cosine_similarity(x, out, dim=-1),
        F.cosine_similarity(x, hat, dim=-1),
        F.cosine_similarity(hat, out, dim=-1),
        (float(gain.min()), float(gain.max())),
        float(bias.double().norm()),
    )
