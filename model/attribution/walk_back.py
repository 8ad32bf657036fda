"""The walk back from a logit through the residual stream, with the direction in which each point of it is read.

The terms of direct logit attribution (logit_attribution.py) are what is read on the way: the logit is linear in them
once the scale of each LayerNorm is held fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Description, FfnSublayer, Norm
from chumoku.model.explain.anatomy import parameter, without

TermKind = Literal[
    "embedding", "position", "head", "attention_bias", "ffn", "ffn_bias", "norm_bias", "output_bias", "edited"
]
"""`edited`: what an intervention made an attention write in addition to its heads and its bias."""


Against = int | Literal["mean"] | None
"""Whose logit is subtracted: a second answer's, or the mean over all answers that can be given. None: nothing."""

LISTED_UNITS = 8
FAVOURED = 3


@dataclass(frozen=True)
class Component:
    """The source of a term. `path` is its module, or the tap of an embedding or of the logits; `attention` is an id;
    `layer`, `attention` and `head` are None for a component that has none."""

    part: TermKind
    path: str
    layer: int | None = None
    attention: str | None = None
    head: int | None = None


@dataclass(frozen=True)
class Term(Component):
    """What one component adds to the logit. `keys` [key]: what a head brings from each key, whose sum is its value;
    None if it was not asked for, or if an intervention wrote something else."""

    value: float = 0.0
    keys: list[float] | None = None


@dataclass(frozen=True)
class UnitTerm:
    """One FFN unit: what it writes is its activation times its column of W_2."""

    unit: int
    activation: float
    length: float
    """‖what it writes‖, before any LayerNorm."""
    value: float
    """What it adds to the logit."""
    favours: list[int]
    """The answers whose logits it raises most."""


@dataclass(frozen=True)
class UnitTerms:
    """The term of one FFN, split into its units: those that write most, longest first."""

    layer: int
    units: list[UnitTerm]
    total: float
    """Sum over all units: the FFN's term."""


@dataclass(frozen=True)
class Weights:
    """What a walk needs of a model: its description, its parameters by name, and the answers that are never given."""

    description: Description
    parameter: Callable[[str], Tensor]
    never: Sequence[int] = ()


def weights_of(checkpoint: Checkpoint) -> Weights:
    never = [] if checkpoint.description.predicts == "classes" else checkpoint.tokenizer.never_sampled
    return Weights(checkpoint.description, lambda name: parameter(checkpoint.model, name), never)


class WalkBack:
    """The walk back through the stream at one row; the logit reads the stream at this point as x·g, g [d_model]."""

    def __init__(
        self,
        weights: Weights,
        at_row: dict[str, Tensor],
        w_u: Tensor,  # answer d_model
        g: Tensor,
        split: FfnSublayer | None = None,
        keys: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.weights, self.description = weights, weights.description
        self.at_row, self.w_u, self.g, self.split = at_row, w_u, g, split
        self.keys = keys or {}  # head key d_model, by the path of an attention
        self.terms: list[Term] = []
        self.scales: dict[str, float] = {}
        self.units: UnitTerms | None = None

    def past(self, part: AttentionSublayer | FfnSublayer) -> None:
        """Step back over one sublayer: adds its terms and updates g."""
        g_out = self.g
        if part.norm and part.norm.place == "post":  # LayerNorm(x + f): both go through the norm
            g_out = self.g = self.through(part.norm, part.layer)
        elif part.norm and part.norm.place == "res-post":  # x + LayerNorm(f): only f does
            g_out = self.through(part.norm, part.layer)
        if isinstance(part, FfnSublayer):
            self.ffn(part, g_out)
            if part == self.split:
                self.units = self.split_units(part, g_out)
        else:
            self.attention(part, g_out)

    def ffn(self, part: FfnSublayer, g: Tensor) -> None:
        """The terms of what an FFN wrote, projected onto g."""
        written = self.at_row[part.writes.tap]
        if "b_2" in part.parameters:
            b_2 = self.parameter(part.parameters["b_2"])
            self.add(Component("ffn_bias", part.module, part.layer), b_2, g)
            written = written - b_2
        self.add(Component("ffn", part.module, part.layer), written, g)

    def split_units(self, part: FfnSublayer, g: Tensor) -> UnitTerms:
        """The units of an FFN whose output is read in the direction g [d_model]."""
        post = self.at_row[part.roles["post"].tap]  # d_ff
        written = self.parameter(part.parameters["w_2"]) * post  # d_model d_ff
        values, lengths = g @ written, written.norm(dim=0)  # d_ff
        order = lengths.topk(min(LISTED_UNITS, len(post))).indices
        logits = self.as_read(written[:, order].T, part) @ self.w_u.T  # unit answer
        favours = favoured(self.weights, logits, FAVOURED).tolist()  # unit k
        listed = [
            UnitTerm(unit, float(post[unit]), float(lengths[unit]), float(values[unit]), best)
            for unit, best in zip(order.tolist(), favours, strict=True)
        ]
        return UnitTerms(part.layer, listed, float(values.sum()))

    def all_through(self, split: FfnSublayer | AttentionSublayer) -> Tensor:
        """The directions in which all answers read what a sublayer writes, [answer d_model]."""
        reads = self.w_u
        for norm in self.norms_after(split):
            reads = self.back_over(norm, reads)
        return reads

    def as_read(self, written: Tensor, split: FfnSublayer | AttentionSublayer) -> Tensor:
        """What the unembedding reads of vectors [.. d_model] that a sublayer writes: `all_through` from the other end,
        for vectors that are fewer than the answers."""
        for norm in reversed(self.norms_after(split)):
            centred = written - written.mean(-1, keepdim=True) if norm.kind == "layer_norm" else written
            written = centred * self.parameter(norm.parameters["gain"]) * self.scale(norm)
        return written

    def norms_after(self, split: FfnSublayer | AttentionSublayer) -> list[Norm]:
        """The norms that what a sublayer writes goes through, from the answers back."""
        stack = self.description.readout
        found = [] if stack.final_norm is None else [stack.final_norm]
        for part in reversed(stack.sublayers):
            if part.norm and (part.norm.place == "post" or (part.norm.place == "res-post" and part == split)):
                found.append(part.norm)
            if part == split:
                break
        return found

    def attention(self, part: AttentionSublayer, g: Tensor) -> None:
        """The terms of what the heads of an attention wrote, projected onto g."""
        here = Component("head", part.module, part.layer, part.attention)
        about = self.description.attention(part.attention)
        heads = self.at_row[writes_by_part(self.description, part)]  # head d_model
        if "head_out" not in about.roles:
            w_o = self.parameter(about.parameters["w_o"][part.layer])  # d_model head·d_head
            heads = torch.einsum("hd,mhd->hm", heads, w_o.unflatten(1, heads.shape))
        b_o = self.parameter(about.parameters["b_o"][part.layer]) if "b_o" in about.parameters else None
        if part.writes.tap in self.at_row:
            own = heads.sum(0) if b_o is None else heads.sum(0) + b_o
            self.add(replace(here, part="edited"), self.at_row[part.writes.tap] - own, g)
        if b_o is not None:
            self.add(replace(here, part="attention_bias"), b_o, g)
        brought = self.keys[part.module] @ g if part.module in self.keys else None  # head key
        for head in reversed(range(len(heads))):
            keys = None if brought is None or not adds_up(brought[head], heads[head] @ g) else brought[head].tolist()
            self.add(replace(here, head=head), heads[head], g, keys)

    def through(self, norm: Norm, layer: int | None) -> Tensor:
        """Step g back over a LayerNorm: y = (t − mean(t)) · scale · γ for every term t, plus a term β."""
        if "bias" in norm.parameters and not self.is_off(norm):
            self.add(Component("norm_bias", norm.module, layer), self.parameter(norm.parameters["bias"]))
        return self.back_over(norm, self.g)

    def is_off(self, norm: Norm) -> bool:
        """Whether an intervention made the norm's output 0."""
        out = norm.roles["out"].tap
        return out in self.at_row and not self.at_row[out].any()

    def back_over(self, norm: Norm, g: Tensor) -> Tensor:
        """In which directions g [.. d_model] reads what the norm reads."""
        scale = self.scale(norm)
        self.scales[norm.module] = float(scale)
        read = g * self.parameter(norm.parameters["gain"]) * scale
        return read - read.mean(-1, keepdim=True) if norm.kind == "layer_norm" else read

    def scale(self, norm: Norm) -> Tensor:
        """By what a norm multiplies what it has centred, before its gain: [.. 1]."""
        x, gain = self.at_row[norm.roles["input"].tap], self.parameter(norm.parameters["gain"])
        x = x - x.mean(-1, keepdim=True) if norm.kind == "layer_norm" else x
        scale = 1 / (x.square().mean(-1, keepdim=True) + norm.eps).sqrt()
        out = self.at_row.get(norm.roles["out"].tap)
        if out is not None:  # edited: as frozen in another run
            hat, shown = x * gain, out - self.parameter(norm.parameters["bias"]) if "bias" in norm.parameters else out
            scale = hat.new_zeros(1) if self.is_off(norm) else ((shown @ hat) / (hat @ hat))[None]
        return scale

    def add(self, place: Component, x: Tensor, g: Tensor | None = None, keys: list[float] | None = None) -> None:
        """The term x·g of x [d_model], with `self.g` by default."""
        self.terms.append(Term(**vars(place), value=float(x @ (self.g if g is None else g)), keys=keys))

    def parameter(self, name: str) -> Tensor:
        return self.weights.parameter(name).double().cpu()


def adds_up(parts: Tensor, whole: Tensor) -> bool:
    """Whether parts [part] are a whole, but for the float32 in which the whole was computed."""
    return bool((parts.sum() - whole).abs() <= 1e-4 * (1 + parts.abs().sum()))


def subtracted(weights: Weights, x: Tensor, against: Against) -> Tensor:
    """What is subtracted from an answer: of x [answer ..], the row of `against`, their mean, or 0."""
    if against is None:
        return torch.zeros_like(x[0])
    if against != "mean":
        return x[against]
    given = torch.ones(len(x), dtype=torch.bool)
    given[list(weights.never)] = False
    return x[given].mean(0)


def favoured(weights: Weights, logits: Tensor, k: int) -> Tensor:
    """The k answers with the largest logits [.. answer], of those that can be given; not all of them, which says
    nothing: of two classes one."""
    return without(logits, weights.never).topk(min(k, logits.shape[-1] - 1)).indices


def writes_by_part(description: Description, part: AttentionSublayer | FfnSublayer) -> str:
    """The tap of what a sublayer wrote; for an attention, of what each head wrote, or of each head's z before W_O."""
    if isinstance(part, FfnSublayer):
        return part.writes.tap
    about = description.attention(part.attention)
    return about.tap("head_out" if "head_out" in about.roles else "z", part.layer)
