"""Direct logit attribution: what each component wrote to the residual stream, projected onto the logit.

Elhage et al. 2021 ("A Mathematical Framework for Transformer Circuits"): the logit is linear in what was written to the
stream, except for the LayerNorms on the way. Each divides by the standard deviation of its input; that scale is held
fixed at its value in this run (the mean is linear). So the terms add up to the logit, but removing a component would
also change the scales and what later layers do.

A softmax reads only differences of logits, so a logit can be taken against a second answer, or against the mean logit
of all answers that can be given. A head's term is the sum of what it brings from each key.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
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
    Weights,
    subtracted,
    weights_of,
    writes_by_part,
)
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Description, FfnSublayer, Stack
from chumoku.model.explain.anatomy import Options, check_answer, pick_row, rows_of, without
from chumoku.model.run import Run
from chumoku.model.taps import Edit
from chumoku.model.trace import Trace, trace
from chumoku.model.traceable import TraceableModel

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

    def passed(names: Sequence[str], edit: Mapping[str, Edit]) -> Trace:
        watched: Options = {**options, "edit": edit}
        return trace(checkpoint, ids, names, **watched)

    split = None if units_of is None else splittable_ffn(description, units_of)
    about = weights_of(checkpoint)
    return decomposed(about, passed, answer, options.get("edit") or {}, row, against, split=split, by_key=by_key)


@torch.inference_mode()
def contributions_of_run(
    traceable: TraceableModel,
    run: Run,
    answer: int,
    *,
    row: int | None = None,
    against: Subtracted = None,
    by_key: bool = False,
) -> Contributions:
    """As `contributions`, of any model that `can["direct"]`. Raises what its `trace` raises."""

    def weight(name: str) -> Tensor:
        return traceable.weights([name])[name]

    def passed(names: Sequence[str], edit: Mapping[str, Edit]) -> Trace:
        return traceable.trace(replace(run, edit=edit), names)

    description = traceable.description
    never = [] if description.predicts == "classes" else traceable.about.never_sampled
    about = Weights(description, weight, never)
    return decomposed(about, passed, answer, run.edit, row, against, by_key=by_key)


Passed = Callable[[Sequence[str], Mapping[str, Edit]], Trace]


def decomposed(
    weights: Weights, passed: Passed, answer: int, edit: Mapping[str, Edit], row: int | None, against: Subtracted, *,
    split: FfnSublayer | None = None, by_key: bool = False,
) -> Contributions:  # fmt: skip
    """`passed` runs the model and keeps tensors, under edits."""
    description = weights.description
    taps = taps_needed(description, edit)
    if split is not None:
        taps.append(split.roles["post"].tap)
    readers = key_readers(weights) if by_key else {}
    for reader in readers.values():
        edit = reader.watched(edit)
    of_keys = [tap for reader in readers.values() for tap in reader.taps]
    run = passed(list(dict.fromkeys([*taps, *of_keys])), edit)
    row = pick_row(rows_of(description, run), row)
    logits = run.tensors[description.logits.tap]
    logit = logits if description.predicts == "classes" else logits[row]  # vocab|class
    against = second(weights, logit, answer) if against == "second" else against
    at_row = {name: run.tensors[name][..., row, :].double() for name in taps if name != description.logits.tap}
    keys = {path: reader.written(run.tensors, row, edit) for path, reader in readers.items()}
    walk = walk_back(weights, at_row, answer, against, split, keys)
    terms, scales = walk.terms[::-1], dict(reversed(walk.scales.items()))
    value = float(logit[answer].double() - subtracted(weights, logit.double(), against))
    total = sum(term.value for term in terms)
    return Contributions(row, answer, against, terms, value, total, value - total, scales, walk.units)


def second(weights: Weights, logit: Tensor, answer: int) -> int:
    """The most likely answer besides `answer`, by its logit [answer]."""
    return int(without(logit, [*weights.never, answer]).argmax())


def key_readers(weights: Weights) -> dict[str, KeyReader]:
    """What the keys of each attention of the stack that answers bring, by the path of its module."""
    description = weights.description
    return {
        part.module: KeyReader(description.attention(part.attention), part.layer, weights.parameter)
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
    names = [description.logits.tap, stack.stream[0], *(role.tap for role in stack.embedding.roles.values())]
    for part in stack.sublayers:
        names.append(writes_by_part(description, part))
        if part.writes.tap in edited:
            names.append(part.writes.tap)
    return names + norm_taps(description, edited)


def norm_taps(description: Description, edited: Container[str]) -> list[str]:
    """The taps that give the scales of the norms on the way to the logits: inputs, and outputs that are edited."""
    stack = description.readout
    norms = [
        norm for norm in (stack.embedding.norm, *(part.norm for part in stack.sublayers), stack.final_norm) if norm
    ]
    outs = [out for norm in norms if (out := norm.roles["out"].tap) in edited]
    return [*(norm.roles["input"].tap for norm in norms), *outs]


def walk_back(
    weights: Weights,
    at_row: dict[str, Tensor],
    answer: int,
    against: Against,
    split: FfnSublayer | None,
    keys: Mapping[str, Tensor],
) -> WalkBack:
    """Walk from the logit back to the embedding with the direction g [d_model] in which the stream is read.

    Its terms are in the reverse of the order in which they were written, as is the scale of each LayerNorm.
    """
    description = weights.description
    names = description.logits.parameters
    assert names["unembedding"] is not None
    w_u = weights.parameter(names["unembedding"]).double().cpu()
    g = w_u[answer] - subtracted(weights, w_u, against)
    walk = WalkBack(weights, at_row, w_u, g, split, keys)
    if names["b_unembedding"] is not None:
        bias = weights.parameter(names["b_unembedding"]).double().cpu()
        value = float(bias[answer] - subtracted(weights, bias, against))
        walk.terms.append(Term("output_bias", description.logits.tap, value=value))
    stack = description.readout
    if stack.final_norm is not None:
        walk.g = walk.through(stack.final_norm, None)
    for part in reversed(stack.sublayers):
        walk.past(part)
    start(walk, stack)
    return walk


def start(walk: WalkBack, stack: Stack) -> None:
    """The terms of the embedding, with all that a family adds to it (a table of segments, say), and of positions."""
    x = walk.at_row[stack.stream[0]]
    if (norm := stack.embedding.norm) is not None:
        walk.g = walk.through(norm, None)
        x = walk.at_row[norm.roles["input"].tap]
    roles = stack.embedding.roles
    if "positional" in roles:
        walk.add(Component("position", roles["positional"].tap), walk.at_row[roles["positional"].tap])
        x = x - walk.at_row[roles["positional"].tap]
    walk.add(Component("embedding", roles["embedding"].tap), x)
