"""The effect of a part on an answer: how far its log-probability falls without an attention edge, a head or an FFN.

An edge is knocked out (attention knockout, Geva et al. 2023) by forbidding its cell of the mask in all heads of its
layer, or in one, so the softmax spreads over the other keys; a head by setting its z to 0 before W_O, an FFN by setting
what it adds to the stream to 0. Each effect is a real forward pass. `Effects` starts each pass at the layer of its
part, many at a time; `WholePasses` needs only a run whose tensors can be edited.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Generic, TypeVar, Unpack

import torch
from torch import Tensor

from chumoku.model.attribution.gradients import check_sampled
from chumoku.model.attribution.knockouts import (
    HeadPart,
    Knockouts,
    Part,
    ZeroRows,
    heads_of,
    tap_of,
    writes,
    writes_anything,
)
from chumoku.model.attribution.rollout import Edge
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.anatomy import Options, answer_logits, check_answer, pick_row, read, rows_of, without
from chumoku.model.interventions import Composed, EditCells
from chumoku.model.masks import allowed
from chumoku.model.run import Run
from chumoku.model.taps import Edit, keeping
from chumoku.model.traceable import TraceableModel

BATCH_BYTES = 32 * 2**20
"""About how much memory the passes of a batch may take in one layer."""


P = TypeVar("P", bound=Part)


@dataclass(frozen=True)
class Effect(Generic[P]):
    """`p` of the answer without the part; `delta` = ln p without − ln p with it, and `kl` = KL(with ‖ without) over all
    answers, both in nats."""

    part: P
    p: float
    delta: float
    kl: float


def kl(before: Tensor, after: Tensor) -> Tensor:
    """KL(before ‖ after) of log-probabilities [.. answer], in nats [..]. An answer that is never sampled adds 0."""
    p = before.exp()
    return torch.where(p > 0, p * (before - after), 0.0).sum(-1).clamp(min=0)


class Effects:
    """Measures the effect of parts on one answer at `row`. `log_p`: ln p(answer) without a knockout; `most_unasked`:
    how many edges are measured by default."""

    most_unasked = sys.maxsize

    def __init__(
        self,
        checkpoint: Checkpoint,
        ids: Sequence[int],
        answer: int,
        *,
        row: int | None = None,
        **options: Unpack[Options],
    ) -> None:
        """`row` defaults to the last position, or to [CLS].

        Raises what `trace` raises, and `ValueError` for a model in which no edge can be knocked out, an unknown row or
        answer, a token that is never sampled, and a run that edits the stream between layers.
        """
        if not checkpoint.description.can["effects"]:
            raise ValueError(f"{checkpoint.name} has no answer, or no attention whose edges can be knocked out")
        check_sampled(checkpoint, check_answer(checkpoint, answer))
        self.checkpoint, self.answer = checkpoint, answer
        self.knockouts = self.passes(checkpoint, ids, **options)
        self.row = pick_row(rows_of(checkpoint.description, self.knockouts.given), row)
        logits = self.knockouts.logits
        self.before = self.log_ps(logits if checkpoint.description.predicts == "classes" else logits[self.row])
        self.log_p = float(self.before[answer])

    def passes(self, checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> Knockouts:
        """The run, resumed at any layer."""
        return Knockouts(checkpoint, ids, **options)

    def log_ps(self, logits: Tensor) -> Tensor:
        """Log-probabilities of logits [.. vocab|class], float64 of the same shape."""
        return answer_logits(self.checkpoint, logits).double().log_softmax(-1)

    def can_knock_out(self, part: Part) -> bool:
        """Whether every head that may attend along an edge has another key left."""
        return not (isinstance(part, Edge) and self.knockouts.is_last(part))

    def batches(self, parts: Sequence[P]) -> Iterator[list[P]]:
        """The parts in their order, in batches that fit into `BATCH_BYTES`."""
        size = max(1, BATCH_BYTES // self.bytes_of_a_pass())
        for start in range(0, len(parts), size):
            yield list(parts[start : start + size])

    def bytes_of_a_pass(self) -> int:
        """About how many bytes one pass takes in its largest layer, in float32: three tensors [head query key] per
        attention, two [position d_ff] of the FFN, and eight [position d_model] for q, k, v and the stream."""
        sizes = []
        for stack in self.checkpoint.description.stacks:
            n = self.knockouts.given.tensors[stack.stream[0]].shape[0]
            tables = sum(
                3 * self.knockouts.mask(attention.id, 0).numel()
                for attention in self.checkpoint.description.attentions
                if attention.stack == stack.id
            )
            d_ff = max((ffn.d_ff for ffn in stack.ffns), default=0)
            sizes.append(tables + n * (2 * d_ff + 8 * self.checkpoint.description.d_model))
        return 4 * max(sizes)

    @torch.inference_mode()
    def measure(self, parts: Sequence[P]) -> list[Effect[P]]:
        """The effect of each part, in their order, computed as one batch. A cell that all heads forbid has no effect,
        nor has a head that writes nothing."""
        found: dict[Part, tuple[float, float]] = dict.fromkeys(parts, (self.log_p, 0.0))
        if opened := [part for part in parts if self.knockouts.is_open(part)]:
            order, x = self.knockouts.last_states(opened, self.row)
            after = self.log_ps(read(self.checkpoint, x))
            moved = kl(self.before, after).tolist()
            found |= zip(order, zip(after[:, self.answer].tolist(), moved, strict=True), strict=True)
        return [Effect(part, exp(found[part][0]), found[part][0] - self.log_p, found[part][1]) for part in parts]


PRODUCTS = 25 * 10**10
"""About how many multiplications all knockouts for one answer may take by default: some ten seconds on two cores. A
single pass may take more."""


class WholePasses:
    """Measures the effect of parts on one answer at `row`, as `Effects` does."""

    def __init__(self, traceable: TraceableModel, run: Run, answer: int, *, row: int | None = None) -> None:
        """Raises what `trace` raises, and `ValueError` for an unknown row or a token that is never sampled."""
        if traceable.description.predicts != "classes" and answer in traceable.about.never_sampled:
            raise ValueError(f"token id {answer} is never sampled: it has no probability")
        self.traceable, self.run, self.answer = traceable, run, answer
        description = traceable.description
        written = writes(description)
        with keeping(written):
            self.given = traceable.trace(run, [*sorted(description.masks), *written, description.logits.tap])
        self.row = pick_row(rows_of(description, self.given), row)
        self.before = self.log_ps(self.given.tensors[description.logits.tap])
        self.log_p = float(self.before[answer])

    @property
    def most_unasked(self) -> int:
        """How many edges `PRODUCTS` allows, and at least 1. A pass uses every parameter once per token."""
        n_tokens = len(self.given.ids) + len(self.given.target_ids or [])
        return max(1, PRODUCTS // max(1, self.traceable.about.n_parameters * n_tokens))

    def log_ps(self, logits: Tensor) -> Tensor:
        """Log-probabilities at the row, of logits [class] or [position vocab]: float64 [class|vocab]."""
        answers = logits.double()
        if self.traceable.description.predicts != "classes":
            answers = without(answers[self.row], self.traceable.about.never_sampled)
        return answers.log_softmax(-1)

    def can_knock_out(self, part: Part) -> bool:
        """Whether every head that may attend along an edge has another key left."""
        if not isinstance(part, Edge):
            return True
        cells = self.cells(part)
        return not bool((cells[:, part.key] & (cells.sum(-1) == 1)).any())

    def is_open(self, part: Part) -> bool:
        """Whether there is something to knock out, as in `Knockouts`."""
        if isinstance(part, Edge):
            return bool(self.cells(part)[:, part.key].any())
        return writes_anything(self.traceable.description, self.given, part)

    def cells(self, edge: Edge) -> Tensor:
        """Where the query of an edge may attend: bool [head key], of the heads of the edge."""
        return allowed(self.given.tensors[self.tap(edge)][heads_of(edge), edge.query])

    def tap(self, edge: Edge) -> str:
        return self.traceable.description.attention(edge.attention).tap("mask", edge.layer)

    def batches(self, parts: Sequence[P]) -> Iterator[list[P]]:
        """One part at a time: each needs a whole pass."""
        return ([part] for part in parts)

    def measure(self, parts: Sequence[P]) -> list[Effect[P]]:
        """The effect of each part, in their order, as in `Effects`."""
        return [self.effect(part) for part in parts]

    def effect(self, part: P) -> Effect[P]:
        after = self.without(part) if self.is_open(part) else self.before
        log_p = float(after[self.answer])
        return Effect(part, exp(log_p), log_p - self.log_p, float(kl(self.before, after)))

    def without(self, part: Part) -> Tensor:
        """Log-probabilities with the part knocked out in addition to the run's own edits."""
        tap = self.tap(part) if isinstance(part, Edge) else tap_of(self.traceable.description, part)
        run = replace(self.run, edit={**self.run.edit, tap: knockout(part, self.run.edit.get(tap))})
        logits = self.traceable.description.logits.tap
        return self.log_ps(self.traceable.trace(run, [logits]).tensors[logits])


def knockout(part: Part, before: Edit | None) -> Edit:
    """An edit that forbids the cell of an edge, or silences a head or an FFN, after the run's own edit if it has
    one."""
    if isinstance(part, Edge):
        change: Edit = EditCells(allow=False, head=part.head, query=part.query, key=part.key)
    else:
        change = ZeroRows([(0, part.head if isinstance(part, HeadPart) else None)])
    return Composed([change] if before is None else [before, change])
