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
from dataclasses import dataclass
from typing import Literal, Unpack

import torch
from torch import Tensor

from chumoku.model.attribution.keys import KeyReader
from chumoku.model.attribution.walk_back import (
    Against,
    Component,
    Term,
    UnitTerms,
    WalkBack,
    subtracted,
    writes_by_part,
)
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Description, FfnSublayer
from chumoku.model.explain.anatomy import (
    Options,
    answer_logits,
    check_answer,
    pick_row,
    rows_of,
    unembedding,
)
from chumoku.model.trace import trace

Subtracted = Against | Literal["second"]
"""`second`: that of the most likely other answer."""


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


def key_readers(checkpoint: Checkpoint) -> dict[str, KeyReader]:
    """What the keys of each attention of the stack that answers bring, by the path of its module."""
    description = checkpoint.description
    return {
        part.module: KeyReader(description.attention(part.attention), part.layer, checkpoint.model.get_parameter)
        for part in description.readout.sublayers
        if isinstance(part, AttentionSublayer)
    }


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
