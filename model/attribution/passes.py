"""What a look decides, for models that are not made of our modules: a whole forward pass for each cut.

`effects.py` starts each pass at the layer of its cut, many at a time; this needs only a run whose masks can be edited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import exp

import torch
from torch import Tensor

from chumoku.model.attribution.effects import Effect
from chumoku.model.attribution.rollout import Edge
from chumoku.model.explain.anatomy import pick_row, rows_of, without
from chumoku.model.masks import EDITED, allowed
from chumoku.model.run import Run
from chumoku.model.taps import Edit
from chumoku.model.traceable import TraceableModel

PRODUCTS = 25 * 10**10
"""About as many multiplications as all cuts of one answer may take by default: some ten seconds on two cores. One
pass may take more."""


class WholePasses:
    """Measures the effect of edges on one answer at `row`, as `Effects` does."""

    def __init__(self, traceable: TraceableModel, run: Run, answer: int, *, row: int | None = None) -> None:
        """Raises what `trace` raises, and `ValueError` for an unknown row, and for a token that is never sampled."""
        if traceable.description.predicts != "classes" and answer in traceable.about.never_sampled:
            raise ValueError(f"token id {answer} is never sampled: it has no probability")
        self.traceable, self.run, self.answer = traceable, run, answer
        description = traceable.description
        self.given = traceable.trace(run, [*sorted(description.masks), description.logits.tap])
        self.row = pick_row(rows_of(description, self.given), row)
        self.log_p = self.log_p_of(self.given.tensors[description.logits.tap])

    @property
    def most_unasked(self) -> int:
        """How many cuts are measured by default, one or more: every parameter is used once for each token."""
        n_tokens = len(self.given.ids) + len(self.given.target_ids or [])
        return max(1, PRODUCTS // max(1, self.traceable.about.n_parameters * n_tokens))

    def log_p_of(self, logits: Tensor) -> float:
        """ln p(answer) of logits [class] or [position vocab]."""
        own = logits.double()
        if self.traceable.description.predicts != "classes":
            own = without(own[self.row], self.traceable.about.never_sampled)
        return float(own.log_softmax(-1)[self.answer])

    def can_knock_out(self, edge: Edge) -> bool:
        """Not the only key that some head may still attend to."""
        cells = self.cells(edge)
        return not bool((cells[:, edge.key] & (cells.sum(-1) == 1)).any())

    def cells(self, edge: Edge) -> Tensor:
        """Where the query of an edge may attend: bool [head key]."""
        return allowed(self.given.tensors[self.tap(edge)][:, edge.query])

    def tap(self, edge: Edge) -> str:
        return self.traceable.description.attention(edge.attention).tap("mask", edge.layer)

    def batches(self, edges: Sequence[Edge]) -> Iterator[list[Edge]]:
        """One at a time: each is a pass of its own."""
        return ([edge] for edge in edges)

    def measure(self, edges: Sequence[Edge]) -> list[Effect]:
        """One effect per edge. Where no head may attend, a cut changes nothing."""
        found = [self.without(edge) if bool(self.cells(edge)[:, edge.key].any()) else self.log_p for edge in edges]
        return [Effect(edge, exp(after), after - self.log_p) for edge, after in zip(edges, found, strict=True)]

    def without(self, edge: Edge) -> float:
        """ln p of the answer when the edge is cut, too."""
        tap, logits = self.tap(edge), self.traceable.description.logits.tap
        run = replace(self.run, edit={**self.run.edit, tap: Knockout(edge, self.run.edit.get(tap))})
        return self.log_p_of(self.traceable.trace(run, [logits]).tensors[logits])


class Knockout:
    """An edit of a mask: the run's own, then the cell of an edge in all heads."""

    def __init__(self, edge: Edge, own: Edit | None) -> None:
        self.edge, self.own = edge, own

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x: reasons [batch head query key]"""
        x = (x if self.own is None else self.own(x, first_query)).clone(memory_format=torch.contiguous_format)
        x[..., self.edge.query - first_query, self.edge.key] |= EDITED
        return x
