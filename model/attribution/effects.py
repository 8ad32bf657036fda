"""What a look decides: how far the log-probability of an answer falls when one query no longer sees one key.

An edge is cut by forbidding its cell of the mask in all heads of its layer, so the softmax spreads over the other keys.
Each effect is a real forward pass with that cut.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp
from typing import Unpack

import torch
from torch import Tensor

from chumoku.model.attribution.gradients import check_sampled
from chumoku.model.attribution.knockouts import Knockouts
from chumoku.model.attribution.rollout import Edge
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.anatomy import Options, answer_logits, check_answer, pick_row, read, rows_of

BATCH_BYTES = 32 * 2**20
"""About what the passes of a batch may take in one layer."""


@dataclass(frozen=True)
class Effect:
    """`p` of the answer after the cut, and `delta` = ln p after − ln p before, in nats."""

    edge: Edge
    p: float
    delta: float


class Effects:
    """Measures the effect of edges on one answer at `row`. `log_p` is that of the run itself; `most_unasked`: how many
    are measured of a run if nobody says which."""

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
        """`row` is by default the last, or [CLS].

        Raises what `trace` raises, and `ValueError` for a model without such cuts, an unknown row or answer, a token
        that is never sampled, and a run that edits the stream between layers.
        """
        if not checkpoint.description.can["effects"]:
            raise ValueError(f"{checkpoint.name} has no answer, or an attention in which nothing can be cut")
        check_sampled(checkpoint, check_answer(checkpoint, answer))
        self.checkpoint, self.answer = checkpoint, answer
        self.knockouts = Knockouts(checkpoint, ids, **options)
        self.row = pick_row(rows_of(checkpoint.description, self.knockouts.given), row)
        logits = self.knockouts.logits
        own = logits if checkpoint.description.predicts == "classes" else logits[self.row]
        self.log_p = float(self.log_ps(own))

    def log_ps(self, logits: Tensor) -> Tensor:
        """ln p(answer) of logits [.. vocab|class], float64 [..]."""
        return answer_logits(self.checkpoint, logits).double().log_softmax(-1)[..., self.answer]

    def can_knock_out(self, edge: Edge) -> bool:
        """Not the only key that some head may still attend to."""
        return not self.knockouts.is_last(edge)

    def batches(self, edges: Sequence[Edge]) -> Iterator[list[Edge]]:
        """The edges in their order, as many at a time as `BATCH_BYTES` allow."""
        size = max(1, BATCH_BYTES // self.bytes_of_a_pass())
        for start in range(0, len(edges), size):
            yield list(edges[start : start + size])

    def bytes_of_a_pass(self) -> int:
        """About what one pass takes in its largest layer: three tables for each attention, the FFN twice, q, k, v and
        the stream, in float32."""
        sizes = []
        for stack in self.checkpoint.description.stacks:
            n = self.knockouts.given.tensors[stack.stream[0]].shape[0]
            tables = sum(
                3 * self.knockouts.mask(one.id, 0).numel()
                for one in self.checkpoint.description.attentions
                if one.stack == stack.id
            )
            d_ff = max((one.d_ff for one in stack.ffns), default=0)
            sizes.append(tables + n * (2 * d_ff + 8 * self.checkpoint.description.d_model))
        return 4 * max(sizes)

    @torch.inference_mode()
    def measure(self, edges: Sequence[Edge]) -> list[Effect]:
        """One effect per edge, in their order, as one batch. Where no head may attend, a cut changes nothing."""
        after = dict.fromkeys(edges, self.log_p)
        if opened := [edge for edge in edges if self.knockouts.is_open(edge)]:
            order, x = self.knockouts.last_states(opened, self.row)
            after |= zip(order, self.log_ps(read(self.checkpoint, x)).tolist(), strict=True)
        return [Effect(edge, exp(log_p), log_p - self.log_p) for edge, log_p in after.items()]
