"""What the layers do to the residual stream: its length, what each sublayer adds to it, what a LayerNorm changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import torch
from torch import Tensor
from torch.nn import functional as F

from model.block import LayerNorm
from model.checkpoint import Checkpoint
from model.explain.anatomy import Options, Sublayer, norm_at, prefixes, stream_taps, sublayers
from model.trace import trace
from model.transformer import Transformer


@dataclass(frozen=True)
class Written:
    """What one sublayer added to the stream, each [position], float64.

    Post-norm: before the LayerNorm that follows; res-post-norm: behind the LayerNorm of its own, as it is added.
    """

    sublayer: Sublayer
    norm: Tensor
    """‖f‖, in the stream's own units (Euclidean)."""
    relative: Tensor
    """‖f‖ / ‖x‖, x the stream it is added to."""
    cosine: Tensor
    """cos(f, x): 1 repeats what is there, 0 is new, −1 takes it back."""


@dataclass(frozen=True)
class Normed:
    """What one LayerNorm did to x, each [position], float64: x̂ = (x − mean) / √(variance + ε), out = x̂ · γ + β."""

    path: str
    mean: Tensor
    variance: Tensor
    norm_in: Tensor
    """‖x‖"""
    norm_hat: Tensor
    """‖x̂‖: √d_model but for ε."""
    norm_out: Tensor
    """‖out‖"""
    cos_in_out: Tensor
    """cos(x, out): how far the direction stays."""
    cos_in_hat: Tensor
    """cos(x, x̂): what is lost of it with the mean alone."""
    cos_hat_out: Tensor
    """cos(x̂, out): what gain and bias change of it."""
    gain: tuple[float, float]
    """The least and the largest γ."""
    bias_norm: float
    """‖β‖"""


@dataclass(frozen=True)
class Stream:
    """One stack's stream. `taps` and `norm` [depth position]: ‖x‖ before the first layer and after every one."""

    prefix: str
    ids: list[int]
    taps: list[str]
    norm: Tensor
    written: list[Written]
    norms: list[Normed]


@torch.inference_mode()
def streams(checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> list[Stream]:
    """Every stack's residual stream, PADs included. Raises what `trace` raises."""
    model = checkpoint.model
    run = trace(checkpoint, ids, taps_needed(model), **options)
    tensors = {name: x.double() for name, x in run.tensors.items()}
    found = []
    for prefix, stack in prefixes(model).items():
        taps, parts = stream_taps(stack, prefix), sublayers(stack, prefix)
        order = stack.config.norm_order
        last = [] if order == "post" else [f"{prefix}final_norm"]
        on_source = run.target_ids is None or prefix == "encoder."
        found.append(
            Stream(
                prefix,
                run.ids if on_source else run.target_ids or [],
                taps,
                torch.stack([tensors[name].norm(dim=-1) for name in taps]),
                [written(part, tensors, order) for part in parts],
                [normed(path, norm_at(model, path), tensors) for path in [*(part.norm for part in parts), *last]],
            )
        )
    return found


def taps_needed(model: Transformer) -> list[str]:
    names = []
    for prefix, stack in prefixes(model).items():
        names += stream_taps(stack, prefix)
        norms = [] if stack.config.norm_order == "post" else [f"{prefix}final_norm"]
        for part in sublayers(stack, prefix):
            names += [part.before, part.out]
            norms.append(part.norm)
        names += [f"{norm}.{end}" for norm in norms for end in ("input", "out")]
    return list(dict.fromkeys(names))


def written(part: Sublayer, tensors: dict[str, Tensor], norm_order: str) -> Written:
    f = tensors[f"{part.norm}.out" if norm_order == "res-post" else part.out]  # position d_model
    x = tensors[part.before]
    norm = f.norm(dim=-1)
    return Written(part, norm, norm / x.norm(dim=-1).clamp(min=1e-30), F.cosine_similarity(f, x, dim=-1))


def normed(path: str, norm: LayerNorm, tensors: dict[str, Tensor]) -> Normed:
    x, out = tensors[f"{path}.input"], tensors[f"{path}.out"]  # position d_model
    mean, variance = x.mean(-1), x.var(-1, correction=0)
    hat = (x - mean[:, None]) / (variance + norm.eps).sqrt()[:, None]
    return Normed(
        path,
        mean,
        variance,
        x.norm(dim=-1),
        hat.norm(dim=-1),
        out.norm(dim=-1),
        F.cosine_similarity(x, out, dim=-1),
        F.cosine_similarity(x, hat, dim=-1),
        F.cosine_similarity(hat, out, dim=-1),
        (float(norm.weight.min()), float(norm.weight.max())),
        float(norm.bias.double().norm()),
    )
