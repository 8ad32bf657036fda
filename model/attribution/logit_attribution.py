"""Direct logit attribution: what each component wrote to the residual stream, projected onto the logit.

Elhage et al. 2021 ("A Mathematical Framework for Transformer Circuits"): the logit is linear in what was written to the
stream, except for the LayerNorms on the way. Each divides by the standard deviation of its input; that scale is held
fixed at its value in this run (the mean is linear). So the terms add up to the logit, but removing a component would
also change the scales and what later layers do.

A softmax reads only differences of logits, so a logit can be taken against a second answer, or against the mean logit
of all answers that can be given. A head's term is the sum of what it brings from each key.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Unpack

import torch
from torch import Tensor

from chumoku.model.attribution.keys import KeyReader
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Description, FfnSublayer, Norm
from chumoku.model.explain.anatomy import (
    Options,
    answer_logits,
    check_answer,
    parameter,
    pick_row,
    rows_of,
    unembedding,
)
from chumoku.model.trace import trace

TermKind = Literal[
    "embedding", "position", "head", "attention_bias", "ffn", "ffn_bias", "norm_bias", "output_bias", "edited"
]
"""`edited`: what an intervention made an attention write in addition to its heads and its bias."""


Against = int | Literal["mean"] | None
"""Whose logit is subtracted: a second answer's, or the mean over all answers that can be given. None: nothing."""
Subtracted = Against | Literal["second"]
"""`second`: that of the most likely other answer."""

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
class Contributions:
    """The terms of logit[answer] (− that of `against`) at a row, in the order in which they were written.

    `logit` is the model's own (float32), `total` the sum of the terms (float64), and `error` = logit − total: rounding,
    unless an edit changed the stream itself or the output of a LayerNorm. `scales`: the fixed 1/√(variance + ε) of each
    LayerNorm.
    """

    row: int
    answer: int
    against: Against
    terms: list[Term]
    logit: float
    total: float
    error: float
    scales: dict[str, float]
    units: UnitTerms | None = None


@torch.inference_mode()
def contributions(
    checkpoint: Checkpoint,
    ids: Sequence[int],
    answer: int,
    *,
    row: int | None = None,
    against: Subtracted = None,
    units_of: int | None = None,
    by_key: bool = False,
    **options: Unpack[Options],
) -> Contributions:
    """Decompose logit[answer] at `row` (by default the last, or [CLS]); with `against`, its difference to that; with
    `units_of`, a layer, also the term of its FFN; with `by_key`, also the terms of the heads.

    An answer is a token id, or a class of an encoder-only model. Raises what `trace` raises, and `ValueError` for an
    unknown row or answer, and for a model whose attentions do not write a sum over heads.
    """
    description = checkpoint.description
    if not description.can["contributions"]:
        raise ValueError(f"{checkpoint.name} has an attention whose output is not a sum over heads")
    for token in (answer, *([against] if isinstance(against, int) else [])):
        check_answer(checkpoint, token)
    split = None if units_of is None else splittable_ffn(description, units_of)
    taps = taps_needed(description, options.get("edit") or {})
    if split is not None:
        taps.append(split.roles["post"].tap)
    readers = key_readers(checkpoint) if by_key else {}
    edit = dict(options.get("edit") or {})
    for reader in readers.values():
        edit = reader.watched(edit)
    of_keys = [tap for reader in readers.values() for tap in reader.taps]
    watched: Options = {**options, "edit": edit}
    run = trace(checkpoint, ids, list(dict.fromkeys([*taps, *of_keys])), **watched)
    row = pick_row(rows_of(description, run), row)
    logits = run.tensors[description.logits.tap]
    logit = logits if description.predicts == "classes" else logits[row]  # vocab|class
    against = second(checkpoint, logit, answer) if against == "second" else against
    at_row = {name: run.tensors[name][..., row, :].double() for name in taps if name != description.logits.tap}
    keys = {path: reader.written(run.tensors, row, edit) for path, reader in readers.items()}
    walk = walk_back(checkpoint, at_row, answer, against, split, keys)
    terms, scales = walk.terms[::-1], dict(reversed(walk.scales.items()))
    value = float(logit[answer].double() - subtracted(checkpoint, logit.double(), against))
    total = sum(term.value for term in terms)
    return Contributions(row, answer, against, terms, value, total, value - total, scales, walk.units)


def second(checkpoint: Checkpoint, logit: Tensor, answer: int) -> int:
    """The most likely answer besides `answer`, by its logit [answer]."""
    return int(answer_logits(checkpoint, logit).index_fill(0, torch.tensor([answer]), -torch.inf).argmax())


def subtracted(checkpoint: Checkpoint, x: Tensor, against: Against) -> Tensor:
    """What is subtracted from an answer: of x [answer ..], the row of `against`, their mean, or 0."""
    if against is None:
        return torch.zeros_like(x[0])
    if against != "mean":
        return x[against]
    never = [] if checkpoint.description.predicts == "classes" else checkpoint.tokenizer.never_sampled
    given = torch.ones(len(x), dtype=torch.bool)
    given[never] = False
    return x[given].mean(0)


def key_readers(checkpoint: Checkpoint) -> dict[str, KeyReader]:
    """What the keys of each attention of the stack that answers bring, by the path of its module."""
    description = checkpoint.description
    return {
        part.module: KeyReader(description.attention(part.attention), part.layer, checkpoint.model.get_parameter)
        for part in description.readout.sublayers
        if isinstance(part, AttentionSublayer)
    }


def favoured(checkpoint: Checkpoint, logits: Tensor, k: int) -> Tensor:
    """The k answers with the largest logits [.. answer], of those that can be given; not all of them, which says
    nothing: of two classes one."""
    return answer_logits(checkpoint, logits).topk(min(k, logits.shape[-1] - 1)).indices


def splittable_ffn(description: Description, layer: int) -> FfnSublayer | None:
    """The FFN of a layer of the stack that answers; None if it has none that writes a sum over units."""
    found = [ffn for ffn in description.readout.ffns if ffn.layer == layer and "receptance" not in ffn.roles]
    return found[0] if found else None


def taps_needed(description: Description, edited: Container[str]) -> list[str]:
    """The taps of the terms and of the scales. An attention's whole output is needed only if it was edited."""
    stack = description.readout
    names = [description.logits.tap, *(role.tap for role in stack.embedding.roles.values())]
    for part in stack.sublayers:
        names.append(writes_by_part(description, part))
        if part.writes.tap in edited:
            names.append(part.writes.tap)
    return names + norm_taps(description, edited)


def norm_taps(description: Description, edited: Container[str]) -> list[str]:
    """The taps that give the scales of the norms on the way to the logits: inputs, and outputs that are edited."""
    stack = description.readout
    norms = [part.norm for part in stack.sublayers if part.norm] + ([stack.final_norm] if stack.final_norm else [])
    outs = [out for norm in norms if (out := norm.roles["out"].tap) in edited]
    return [*(norm.roles["input"].tap for norm in norms), *outs]


def writes_by_part(description: Description, part: AttentionSublayer | FfnSublayer) -> str:
    """The tap of what a sublayer wrote; for an attention, of what each head wrote."""
    if isinstance(part, FfnSublayer):
        return part.writes.tap
    return description.attention(part.attention).tap("head_out", part.layer)


def walk_back(
    checkpoint: Checkpoint,
    at_row: dict[str, Tensor],
    answer: int,
    against: Against,
    split: FfnSublayer | None,
    keys: Mapping[str, Tensor],
) -> WalkBack:
    """Walk from the logit back to the embedding with the direction g [d_model] in which the stream is read.

    Its terms are in the reverse of the order in which they were written, as is the scale of each LayerNorm.
    """
    description = checkpoint.description
    w_u, bias = (None if x is None else x.double().cpu() for x in unembedding(checkpoint))
    assert w_u is not None
    g = w_u[answer] - subtracted(checkpoint, w_u, against)
    walk = WalkBack(checkpoint, at_row, w_u, g, split, keys)
    if bias is not None:
        value = float(bias[answer] - subtracted(checkpoint, bias, against))
        walk.terms.append(Term("output_bias", description.logits.tap, value=value))
    stack = description.readout
    if stack.final_norm is not None:
        walk.g = walk.through(stack.final_norm, None)
    for part in reversed(stack.sublayers):
        walk.past(part)
    position, embedding = (stack.embedding.roles[role].tap for role in ("positional", "embedding"))
    walk.add(Component("position", position), at_row[position])
    walk.add(Component("embedding", embedding), at_row[embedding])
    return walk


class WalkBack:
    """The walk back through the stream at one row; the logit reads the stream at this point as x·g, g [d_model]."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        at_row: dict[str, Tensor],
        w_u: Tensor,  # answer d_model
        g: Tensor,
        split: FfnSublayer | None = None,
        keys: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.checkpoint, self.description, self.model = checkpoint, checkpoint.description, checkpoint.model
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
        b_2 = self.parameter(part.parameters["b_2"])
        self.add(Component("ffn_bias", part.module, part.layer), b_2, g)
        self.add(Component("ffn", part.module, part.layer), self.at_row[part.writes.tap] - b_2, g)

    def split_units(self, part: FfnSublayer, g: Tensor) -> UnitTerms:
        """The units of an FFN whose output is read in the direction g [d_model]."""
        post = self.at_row[part.roles["post"].tap]  # d_ff
        written = self.parameter(part.parameters["w_2"]) * post  # d_model d_ff
        values, lengths = g @ written, written.norm(dim=0)  # d_ff
        order = lengths.topk(min(LISTED_UNITS, len(post))).indices
        reads = self.all_through(part)  # answer d_model
        favours = favoured(self.checkpoint, written[:, order].T @ reads.T, FAVOURED).tolist()  # unit k
        listed = [
            UnitTerm(unit, float(post[unit]), float(lengths[unit]), float(values[unit]), best)
            for unit, best in zip(order.tolist(), favours, strict=True)
        ]
        return UnitTerms(part.layer, listed, float(values.sum()))

    def all_through(self, split: FfnSublayer | AttentionSublayer) -> Tensor:
        """The directions in which all answers read what a sublayer writes, [answer d_model]."""
        stack, reads = self.description.readout, self.w_u
        if stack.final_norm is not None:
            reads = self.back_over(stack.final_norm, reads)
        for part in reversed(stack.sublayers):
            place = part.norm.place if part.norm else None
            if part.norm and (place == "post" or (place == "res-post" and part == split)):
                reads = self.back_over(part.norm, reads)
            if part == split:
                break
        return reads

    def attention(self, part: AttentionSublayer, g: Tensor) -> None:
        """The terms of what the heads of an attention wrote, projected onto g."""
        here = Component("head", part.module, part.layer, part.attention)
        b_o = self.parameter(self.description.attention(part.attention).parameters["b_o"][part.layer])
        heads = self.at_row[writes_by_part(self.description, part)]  # head d_model
        if part.writes.tap in self.at_row:
            self.add(replace(here, part="edited"), self.at_row[part.writes.tap] - heads.sum(0) - b_o, g)
        self.add(replace(here, part="attention_bias"), b_o, g)
        brought = self.keys[part.module] @ g if part.module in self.keys else None  # head key
        for head in reversed(range(len(heads))):
            keys = None if brought is None or not adds_up(brought[head], heads[head] @ g) else brought[head].tolist()
            self.add(replace(here, head=head), heads[head], g, keys)

    def through(self, norm: Norm, layer: int | None) -> Tensor:
        """Step g back over a LayerNorm: y = (t − mean(t)) · scale · γ for every term t, plus a term β."""
        if not self.is_off(norm):
            self.add(Component("norm_bias", norm.module, layer), self.parameter(norm.parameters["bias"]))
        return self.back_over(norm, self.g)

    def is_off(self, norm: Norm) -> bool:
        """Whether an intervention made the norm's output 0."""
        out = norm.roles["out"].tap
        return out in self.at_row and not self.at_row[out].any()

    def back_over(self, norm: Norm, g: Tensor) -> Tensor:
        """In which directions g [.. d_model] reads what the norm reads."""
        x, gain = self.at_row[norm.roles["input"].tap], self.parameter(norm.parameters["gain"])
        scale = 1 / (x.var(correction=0) + norm.eps).sqrt()
        out = self.at_row.get(norm.roles["out"].tap)
        if out is not None:  # edited: as frozen in another run
            hat, shown = (x - x.mean()) * gain, out - self.parameter(norm.parameters["bias"])
            scale = hat.new_zeros(()) if self.is_off(norm) else shown @ hat / (hat @ hat)
        self.scales[norm.module] = float(scale)
        read = g * gain * scale
        return read - read.mean(-1, keepdim=True)

    def add(self, place: Component, x: Tensor, g: Tensor | None = None, keys: list[float] | None = None) -> None:
        """The term x·g of x [d_model], with `self.g` by default."""
        self.terms.append(Term(**vars(place), value=float(x @ (self.g if g is None else g)), keys=keys))

    def parameter(self, name: str) -> Tensor:
        return parameter(self.model, name).double().cpu()


def adds_up(parts: Tensor, whole: Tensor) -> bool:
    """Whether parts [part] are a whole, but for the float32 in which the whole was computed."""
    return bool((parts.sum() - whole).abs() <= 1e-4 * (1 + parts.abs().sum()))
