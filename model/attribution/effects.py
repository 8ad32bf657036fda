"""The effect of an attention edge: how far the log-probability of an answer falls when one query cannot see one key.

An edge is knocked out (attention knockout, Geva et al. 2023) by forbidding its cell of the mask in all heads of its
layer, or in one, so the softmax spreads over the other keys. Each effect is a real forward pass. `Effects` starts each
pass at the layer of its edge, many at a time; `WholePasses` needs only a run whose masks can be edited.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Unpack

import torch
from torch import Tensor

from chumoku.model.attribution.gradients import check_sampled
from chumoku.model.attribution.knockouts import Knockouts, heads_of
from chumoku.model.attribution.rollout import Edge
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.anatomy import Options, answer_logits, check_answer, pick_row, read, rows_of, without
from chumoku.model.interventions import Composed, EditCells
from chumoku.model.masks import allowed
from chumoku.model.run import Run
from chumoku.model.taps import Edit
from chumoku.model.traceable import TraceableModel

BATCH_BYTES = 32 * 2**20
"""About how much memory the passes of a batch may take in one layer."""


@dataclass(frozen=True)
class Effect:
    """`p` of the answer without the edge, and `delta` = ln p without − ln p with it, in nats."""

    edge: Edge
    p: float
    delta: float


class Effects:
    """Measures the effect of edges on one answer at `row`. `log_p`: ln p(answer) without a knockout; `most_unasked`:
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
        self.knockouts = Knockouts(checkpoint, ids, **options)
        self.row = pick_row(rows_of(checkpoint.description, self.knockouts.given), row)
        logits = self.knockouts.logits
        answers = logits if checkpoint.description.predicts == "classes" else logits[self.row]
        self.log_p = float(self.log_ps(answers))

    def log_ps(self, logits: Tensor) -> Tensor:
        """ln p(answer) of logits [.. vocab|class], float64 [..]."""
        return answer_logits(self.checkpoint, logits).double().log_softmax(-1)[..., self.answer]

    def can_knock_out(self, edge: Edge) -> bool:
        """Whether every head that may attend along this edge has another key left."""
        return not self.knockouts.is_last(edge)

    def batches(self, edges: Sequence[Edge]) -> Iterator[list[Edge]]:
        """The edges in their order, in batches that fit into `BATCH_BYTES`."""
        size = max(1, BATCH_BYTES // self.bytes_of_a_pass())
        for start in range(0, len(edges), size):
            yield list(edges[start : start + size])

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
    def measure(self, edges: Sequence[Edge]) -> list[Effect]:
        """The effect of each edge, in their order, computed as one batch. A cell that all heads forbid has no
        effect."""
        after = dict.fromkeys(edges, self.log_p)
        if opened := [edge for edge in edges if self.knockouts.is_open(edge)]:
            order, x = self.knockouts.last_states(opened, self.row)
            after |= zip(order, self.log_ps(read(self.checkpoint, x)).tolist(), strict=True)
        return [Effect(edge, exp(log_p), log_p - self.log_p) for edge, log_p in after.items()]


PRODUCTS = 25 * 10**10
"""About how many multiplications all knockouts for one answer may take by default: some ten seconds on two cores. A
single pass may take more."""


class WholePasses:
    """Measures the effect of edges on one answer at `row`, as `Effects` does."""

    def __init__(self, traceable: TraceableModel, run: Run, answer: int, *, row: int | None = None) -> None:
        """Raises what `trace` raises, and `ValueError` for an unknown row or a token that is never sampled."""
        if traceable.description.predicts != "classes" and answer in traceable.about.never_sampled:
            raise ValueError(f"token id {answer} is never sampled: it has no probability")
        self.traceable, self.run, self.answer = traceable, run, answer
        description = traceable.description
        self.given = traceable.trace(run, [*sorted(description.masks), description.logits.tap])
        self.row = pick_row(rows_of(description, self.given), row)
        self.log_p = self.log_p_of(self.given.tensors[description.logits.tap])

    @property
    def most_unasked(self) -> int:
        """How many edges `PRODUCTS` allows, and at least 1. A pass uses every parameter once per token."""
        n_tokens = len(self.given.ids) + len(self.given.target_ids or [])
        return max(1, PRODUCTS // max(1, self.traceable.about.n_parameters * n_tokens))

    def log_p_of(self, logits: Tensor) -> float:
        """ln p(answer) of logits [class] or [position vocab]."""
        answers = logits.double()
        if self.traceable.description.predicts != "classes":
            answers = without(answers[self.row], self.traceable.about.never_sampled)
        return float(answers.log_softmax(-1)[self.answer])

    def can_knock_out(self, edge: Edge) -> bool:
        """Whether every head that may attend along this edge has another key left."""
        cells = self.cells(edge)
        return not bool((cells[:, edge.key] & (cells.sum(-1) == 1)).any())

    def cells(self, edge: Edge) -> Tensor:
        """Where the query of an edge may attend: bool [head key], of the heads of the edge."""
        return allowed(self.given.tensors[self.tap(edge)][heads_of(edge), edge.query])

    def tap(self, edge: Edge) -> str:
        return self.traceable.description.attention(edge.attention).tap("mask", edge.layer)

    def batches(self, edges: Sequence[Edge]) -> Iterator[list[Edge]]:
        """One edge at a time: each needs a whole pass."""
        return ([edge] for edge in edges)

    def measure(self, edges: Sequence[Edge]) -> list[Effect]:
        """The effect of each edge, in their order. A cell that all heads forbid has no effect."""
        found = [self.without(edge) if bool(self.cells(edge)[:, edge.key].any()) else self.log_p for edge in edges]
        return [Effect(edge, exp(after), after - self.log_p) for edge, after in zip(edges, found, strict=True)]

    def without(self, edge: Edge) -> float:
        """ln p(answer) with the edge knocked out in addition to the run's own edits."""
        tap, logits = self.tap(edge), self.traceable.description.logits.tap
        run = replace(self.run, edit={**self.run.edit, tap: knockout(edge, self.run.edit.get(tap))})
        return self.log_p_of(self.traceable.trace(run, [logits]).tensors[logits])


def knockout(edge: Edge, before: Edit | None) -> Edit:
    """An edit of a mask that forbids the cell of an edge, after the run's own edit if it has one."""
    cell = EditCells(allow=False, head=edge.head, query=edge.query, key=edge.key)
    return Composed([cell] if before is None else [before, cell])
