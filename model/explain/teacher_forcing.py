"""Training on one sentence: teacher forcing, and dropout switched on.

Teacher forcing: every row of one pass predicts its next token; the labels are the text shifted by one. One pass can
give all rows only because of the causal mask: row t equals the last row of a run on the first t + 1 tokens.

Dropout (Srivastava et al. 2014): in training, each number is set to zero with probability p and otherwise multiplied by
1/(1 − p): at the start of the stream, in the attention weights, and in what each sublayer adds to the stream. Inference
drops nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Unpack

import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Description
from chumoku.model.explain.anatomy import Options, answer_logits, rows_of
from chumoku.model.taps import Edit
from chumoku.model.trace import Trace, trace


@dataclass(frozen=True)
class Forced:
    """The rows with a label, and their losses over the whole vocabulary, as in training."""

    rows: list[int]
    """The positions that predict. The last row has no label yet."""
    labels: list[int]
    """The token after each."""
    nats: Tensor
    """−ln p(label): float64 [row]"""
    spread: Tensor
    """The mean of −ln p(k) over all K tokens k: float64 [row]. Label smoothing mixes it into the loss."""
    first: list[int]
    """Each row's most likely token."""
    first_p: Tensor
    """Its probability: float64 [row]"""
    n_bytes: int
    """The length of the labels' text in bytes."""

    @property
    def figures(self) -> dict[str, float | None]:
        """The sum and mean of the losses in nats, and their bits per byte. All are None for a text without labels."""
        if not self.rows:
            return {"sum": None, "mean": None, "bits_per_byte": None}
        total = self.nats.sum().item()
        bits = total / math.log(2) / self.n_bytes if self.n_bytes else None
        return {"sum": total, "mean": total / len(self.rows), "bits_per_byte": bits}


@torch.inference_mode()
def forced(checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> Forced:
    """The loss of each token of a text, or of a target, from one pass. Raises what `trace` raises."""
    tap = checkpoint.description.logits.tap
    run = trace(checkpoint, ids, [tap], **options)
    rows, labels = labelled(checkpoint, run)
    log_p = run.tensors[tap].double().log_softmax(-1)[rows]  # row vocab
    nats = -log_p.gather(-1, torch.tensor(labels, dtype=torch.long)[:, None])[:, 0]
    first = log_p.max(-1)
    n_bytes = sum(len(checkpoint.tokenizer.token_bytes(label)) for label in labels if not is_special(checkpoint, label))
    return Forced(rows, labels, nats, -log_p.mean(-1), first.indices.tolist(), first.values.exp(), n_bytes)


def labelled(checkpoint: Checkpoint, run: Trace) -> tuple[list[int], list[int]]:
    """The rows of a run that have a next token, and these tokens."""
    rows = rows_of(checkpoint.description, run)
    written = run.ids if checkpoint.description.readout.side == "source" else run.target_ids or []
    return rows[:-1], [written[t] for t in rows[1:]]


def is_special(checkpoint: Checkpoint, token_id: int) -> bool:
    (token,) = checkpoint.tokenizer.tokens([token_id])
    return token.special


@dataclass(frozen=True)
class PrefixComparison:
    """Row `row` of a pass over the whole text, compared with the last row of a pass over its first row + 1 tokens."""

    row: int
    stream: list[float]
    """The largest difference of their streams after each depth; 0 is before the first layer."""
    logits: float
    """The largest difference of their logits."""
    top: list[int]
    """The most likely tokens of either pass, those of the whole text first."""
    whole: Tensor
    """Their probabilities for sampling (PAD and START have none) in the pass over the whole text: float64 [top]"""
    alone: Tensor
    """The same in the pass over the prefix: float64 [top]"""


@torch.inference_mode()
def prefix(
    checkpoint: Checkpoint, ids: Sequence[int], row: int, *, k: int = 5, **options: Unpack[Options]
) -> PrefixComparison:
    """Compare row `row` of one pass with the run on the first row + 1 tokens of what the model writes.

    Raises what `trace` raises. `options` hold for both passes; they must not add PADs.
    """
    stack, tap = checkpoint.description.readout, checkpoint.description.logits.tap
    whole = trace(checkpoint, ids, [*stack.stream, tap], **options)
    target = whole.target_ids
    shorter: Options = options if target is None else {**options, "target": target[: row + 1]}
    alone = trace(checkpoint, ids[: row + 1] if target is None else ids, [*stack.stream, tap], **shorter)
    apart = [largest(whole.tensors[name][row], alone.tensors[name][-1]) for name in [*stack.stream, tap]]
    p, q = (
        answer_logits(checkpoint, run.tensors[tap][at]).double().softmax(-1) for run, at in ((whole, row), (alone, -1))
    )
    top = list(dict.fromkeys([*p.topk(k).indices.tolist(), *q.topk(k).indices.tolist()]))
    return PrefixComparison(row, apart[:-1], apart[-1], top, p[top], q[top])


def largest(a: Tensor, b: Tensor) -> float:
    return (a.double() - b.double()).abs().max().item()


What = Literal["start", "weights", "added"]
"""Where numbers are dropped: at the start of a stream, in attention weights, or in what a sublayer adds."""


@dataclass
class Removed:
    """`n`: how many numbers a run set to zero; `of`: how many were not zero before."""

    n: int = 0
    of: int = 0


@dataclass(frozen=True)
class Dropped:
    """One run with dropout: its seed, what it removed, and its losses."""

    seed: int
    removed: dict[What, Removed]
    losses: Forced


def dropout_taps(description: Description) -> dict[str, What]:
    """The taps that a model drops from while training. An attention-free mixer has no weights."""
    found: dict[str, What] = {}
    for stack in description.stacks:
        found[stack.stream[0]] = "start"
        for part in stack.sublayers:
            if isinstance(part, AttentionSublayer) and "pattern" in description.attention(part.attention).roles:
                found[description.attention(part.attention).roles["pattern"].taps[part.layer]] = "weights"
            found[part.added.tap] = "added"
    return found


def with_dropout(
    checkpoint: Checkpoint, ids: Sequence[int], seed: int, p: float, **options: Unpack[Options]
) -> Dropped:
    """One run whose dropout draws from a generator with this seed. Raises what `trace` raises."""
    dropout = Dropout(p, seed)
    edits = dict(options.get("edit") or {})
    taps = dropout_taps(checkpoint.description).items()
    dropping: Options = {**options, "edit": edits | {tap: dropout.edit(what, edits.get(tap)) for tap, what in taps}}
    losses = forced(checkpoint, ids, **dropping)
    return Dropped(seed, dropout.removed, losses)


class Dropout:
    """Draws for one run, in the order of its forward pass, and counts what is removed."""

    def __init__(self, p: float, seed: int) -> None:
        self.p, self.generator = p, torch.Generator().manual_seed(seed)
        self.removed: dict[What, Removed] = {}

    def edit(self, what: What, before: Edit | None) -> Edit:
        """An edit that applies dropout, after the edit that the tap already has, if any."""

        def drop(x: Tensor, first_query: int) -> Tensor:
            x = x if before is None else before(x, first_query)
            kept = (torch.rand(x.shape, generator=self.generator) >= self.p).to(x.device)
            there = x != 0
            count = self.removed.setdefault(what, Removed())
            count.n, count.of = count.n + int((there & ~kept).sum()), count.of + int(there.sum())
            return x * kept / (1 - self.p)

        return drop
