"""Activation patching: which activations of another sentence move this one's answer towards the other's.

One activation at a time, a row of the other run replaces the same row of this one: of the stream before a layer, of
what an attention adds to it, or of what an FFN adds (Vig et al. 2020; Wang et al. 2023). What is reported is the logit
difference LD = logit[answer] − logit[against], normalised to (LD − LD_base) ÷ (LD_source − LD_base): 0 is this run, 1
is the other one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Unpack

import torch
from torch import Tensor

from chumoku.model.attribution.effects import Effects, WholePasses
from chumoku.model.attribution.knockouts import JoinedPasses, Knockouts, Part, PatchPart, ReplaceRow, tap_of
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Description, Side, Stack
from chumoku.model.explain.anatomy import Options, read
from chumoku.model.interventions import Composed
from chumoku.model.run import Run
from chumoku.model.taps import Edit
from chumoku.model.trace import Trace, trace
from chumoku.model.traceable import TraceableModel

LEAST = 0.1
"""Two runs whose logit differences are nearer than this have nothing to patch: the quotient would be noise."""


@dataclass(frozen=True)
class PatchEffect:
    """`p` of the answer with the patch; `difference` = logit[answer] − logit[against]; `moved`: how far that is on the
    way from this run (0) to the other (1)."""

    part: Part
    p: float
    difference: float
    moved: float


def patch_parts(description: Description, lengths: Mapping[Side, int]) -> list[PatchPart]:
    """Every activation that can be patched, layer by layer; `lengths`: the number of tokens on each side."""
    found: list[PatchPart] = []
    for stack in description.stacks:
        for n, layer in enumerate(stack.layers):
            sublayers = [one.attention if isinstance(one, AttentionSublayer) else None for one in layer.sublayers]
            kinds = [("stream", None), *(("ffn" if one is None else "attention", one) for one in sublayers)]
            found += [
                PatchPart(stack.id, n, what, position, attention)
                for what, attention in kinds
                for position in range(lengths[stack.side])
            ]
    return found


def patch_taps(description: Description) -> list[str]:
    """The taps of all activations that can be patched."""
    parts = patch_parts(description, dict.fromkeys(description.sides, 1))
    return list(dict.fromkeys(tap_of(description, part) for part in parts))


class Sides:
    """The ends of the scale: the logit differences of this run and of the other one."""

    def __init__(self, base: Tensor, source: Tensor, answer: int, against: int) -> None:
        """`base` and `source`: log-probabilities [answer]. Raises `ValueError` for two runs that do not differ."""
        self.answer, self.against = answer, against
        self.base, self.source = self.difference(base), self.difference(source)
        if not abs(self.source - self.base) >= LEAST:
            raise ValueError(
                f"the logit differences of the two sentences are {self.base:.2f} and {self.source:.2f}: less than "
                f"{LEAST} apart"
            )

    def difference(self, log_p: Tensor) -> float:
        """A difference of log-probabilities is one of logits: the softmax's denominator cancels."""
        return float(log_p[self.answer] - log_p[self.against])

    def effect(self, part: Part, log_p: Tensor) -> PatchEffect:
        difference = self.difference(log_p)
        moved = (difference - self.base) / (self.source - self.base) + 0.0  # not −0
        return PatchEffect(part, exp(float(log_p[self.answer])), difference, moved)


def check_lengths(given: Trace, source: Trace) -> None:
    """Raise `ValueError` unless the rows of both runs correspond."""
    here, there = ((len(one.ids), len(one.target_ids or [])) for one in (given, source))
    if here != there:
        raise ValueError(f"the other run has {there[0] + there[1]} tokens, this one {here[0] + here[1]}")


class PatchedPasses(Knockouts):
    """A run, and its forward passes with one row of another run."""

    here: Mapping[str, Tensor]
    """The tensors of `taps` in this run."""
    source: Mapping[str, Tensor]
    """And in the other one."""

    @property
    def taps(self) -> list[str]:
        """What both runs are compared in."""
        return patch_taps(self.description)

    def is_open(self, part: Part) -> bool:
        """Whether the two runs differ there."""
        assert isinstance(part, PatchPart)
        tap = tap_of(self.description, part)
        return not self.here[tap][part.position].equal(self.source[tap][part.position])

    def joined(self, batch: JoinedPasses, stack: Stack, layer: int, parts: list[Part]) -> JoinedPasses:
        """As in `Knockouts`; a pass of the stream starts with the other run's row."""
        found = super().joined(batch, stack, layer, parts)
        x = found.x
        for row, part in enumerate(parts, len(batch.parts)):
            if isinstance(part, PatchPart) and part.what == "stream":
                x[row, part.position] = self.source[stack.stream[layer]][part.position].to(x.device)
        return found

    def silencing(self, n: int, joining: list[Part]) -> Mapping[str, Edit]:
        """The run's own edits, and those that put the other run's rows into the last rows of `n`."""
        edits: dict[str, list[Edit]] = {}
        for row, part in enumerate(joining, n - len(joining)):
            assert isinstance(part, PatchPart)
            if part.what != "stream":
                tap = tap_of(self.description, part)
                own = [self.edit[tap]] if tap in self.edit else []
                edits.setdefault(tap, own).append(ReplaceRow(self.source[tap], part.position, row))
        return self.edit | {tap: Composed(changes) for tap, changes in edits.items()}


class Patching(Effects):
    """Measures patches from one run into another, many in a pass, for models in our own modules."""

    knockouts: PatchedPasses

    def __init__(
        self, checkpoint: Checkpoint, ids: Sequence[int], source: Trace, answer: int, against: int, *,
        row: int | None = None, **options: Unpack[Options],
    ) -> None:  # fmt: skip
        """`source` has the tensors of `patch_taps` and the logits. Raises what `Effects` raises, and `ValueError` for
        runs of different lengths, or with the same logit difference."""
        super().__init__(checkpoint, ids, answer, row=row, **options)
        check_lengths(self.knockouts.given, source)
        self.knockouts.source = source.tensors
        self.knockouts.here = trace(checkpoint, ids, self.knockouts.taps, **options).tensors
        logits = source.tensors[checkpoint.description.logits.tap]
        there = self.log_ps(logits if checkpoint.description.predicts == "classes" else logits[self.row])
        self.sides = Sides(self.before, there, answer, against)

    def passes(self, checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> PatchedPasses:
        return PatchedPasses(checkpoint, ids, **options)

    @torch.inference_mode()
    def patch(self, parts: Sequence[Part]) -> list[PatchEffect]:
        """The effect of each patch, in their order, computed as one batch. Where the runs agree, there is none."""
        found: dict[Part, Tensor] = dict.fromkeys(parts, self.before)
        if opened := [part for part in parts if self.knockouts.is_open(part)]:
            order, x = self.knockouts.last_states(opened, self.row)
            found |= zip(order, self.log_ps(read(self.checkpoint, x)), strict=True)
        return [self.sides.effect(part, found[part]) for part in parts]


class WholePatching(WholePasses):
    """As `Patching`, one pass for each patch, for any model whose tensors can be edited."""

    def __init__(
        self, traceable: TraceableModel, run: Run, source: Trace, answer: int, against: int, *, row: int | None = None
    ) -> None:
        super().__init__(traceable, run, answer, row=row)
        self.here = traceable.trace(run, self.taps()).tensors
        check_lengths(self.given, source)
        self.source = source.tensors
        self.sides = Sides(self.before, self.log_ps(self.source[traceable.description.logits.tap]), answer, against)

    def taps(self) -> list[str]:
        """What both runs are compared in."""
        return patch_taps(self.traceable.description)

    def patch(self, parts: Sequence[Part]) -> list[PatchEffect]:
        return [self.sides.effect(part, self.patched(part)) for part in parts]

    def patched(self, part: Part) -> Tensor:
        """Log-probabilities with the patch on top of the run's own edits."""
        assert isinstance(part, PatchPart)
        tap = tap_of(self.traceable.description, part)
        row = self.source[tap][part.position]
        if row.equal(self.here[tap][part.position]):
            return self.before
        own = [self.run.edit[tap]] if tap in self.run.edit else []
        change = Composed([*own, ReplaceRow(self.source[tap], part.position)])
        run = replace(self.run, edit={**self.run.edit, tap: change})
        logits = self.traceable.description.logits.tap
        return self.log_ps(self.traceable.trace(run, [logits]).tensors[logits])
