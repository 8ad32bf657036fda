"""What changes when two tokens are swapped, with and without positions.

Without positions, attention is a sum over a set: an encoder's outputs are permuted like its inputs and otherwise
unchanged (hence positional encodings: Vaswani et al. 2017, section 3.5). A causal mask still gives an order, so a
decoder's outputs change even without positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Stack
from chumoku.model.explain.anatomy import Options, answer_logits, rows_of
from chumoku.model.taps import Edit
from chumoku.model.trace import Padding, Trace, read_as, trace

TOLERANCE = 1e-4
"""The largest relative change that counts as none; float32 sums in another order differ by about 1e-6."""


@dataclass(frozen=True)
class StackSwap:
    """How one stack's stream changed: `change` float64 [depth position] = ‖x' − x‖ / ‖x‖, with x the stream of a token
    before the swap and x' that of the same token after it, at its new position. Depth 0 is before the first layer. PADs
    have 0."""

    stack: str
    taps: list[str]
    change: Tensor


@dataclass(frozen=True)
class Swap:
    """`order_only`: `largest`, the largest change in any stream, is at most 1e-4, so the swap only permuted the tokens.

    `prediction` float64 [row]: how far each prediction moved from the token's row before to its row after, as total
    variation ½ Σ |p' − p| (0: the same, 1: disjoint). `rows` are its positions before the swap.
    """

    positions: bool
    """Whether the model had its positions. Off: the positional taps are set to zero, before and after the swap."""
    stacks: list[StackSwap]
    rows: list[int]
    prediction: Tensor
    largest: float
    order_only: bool


@torch.inference_mode()
def swap_tokens(checkpoint: Checkpoint, ids: Sequence[int], i: int, j: int, **options: Unpack[Options]) -> list[Swap]:
    """Swap source tokens i and j (counted with [CLS], without PADs): first with positions, then without.

    Raises what `trace` raises, and `ValueError` for a position that does not exist or is [CLS], and for two positions
    with the same token.
    """
    read = read_as(checkpoint, ids)
    first = int(read[0] == checkpoint.tokenizer.first_id)
    if not (first <= i < len(read) and first <= j < len(read)):
        raise ValueError(f"tokens {i} and {j} cannot be swapped: there are tokens {first} to {len(read) - 1}")
    if read[i] == read[j]:
        raise ValueError(f"tokens {i} and {j} are the same: swapped, they are the same sentence")
    swapped = list(read)
    swapped[i], swapped[j] = read[j], read[i]
    pad = options.get("pad", Padding())
    before = pad.count if pad.side == "left" else 0
    order = list(range(len(read) + pad.count))  # order[p]: the position of p's token after the swap
    order[i + before], order[j + before] = j + before, i + before
    return [compare(checkpoint, read, swapped, order, on, options) for on in (True, False)]


def compare(
    checkpoint: Checkpoint, read: list[int], swapped: list[int], order: list[int], positions: bool, options: Options
) -> Swap:
    description = checkpoint.description
    names = [name for stack in description.stacks for name in stack.stream] + [description.logits.tap]
    if not positions:
        added = [stack.embedding.roles["positional"].tap for stack in description.stacks]
        edits: Mapping[str, Edit] = dict.fromkeys(added, lambda x, _: torch.zeros_like(x))
        options = {**options, "edit": {**(options.get("edit") or {}), **edits}}
    before, after = (trace(checkpoint, x, names, **options) for x in (read, swapped))
    moves = {side: order if side == "source" else None for side in description.sides}
    stacks = [
        StackSwap(stack.id, stack.stream, changes(before, after, stack, moves[stack.side]))
        for stack in description.stacks
    ]
    largest = max(float(stack.change.max()) for stack in stacks)
    rows, prediction = predictions(checkpoint, before, after, moves[description.readout.side])
    return Swap(positions, stacks, rows, prediction, largest, largest <= TOLERANCE)


def changes(before: Trace, after: Trace, stack: Stack, order: list[int] | None) -> Tensor:
    """‖x' − x‖ / ‖x‖ at each depth and position, PADs 0: [depth position]"""
    x, y = (torch.stack([run.tensors[name] for name in stack.stream]).double() for run in (before, after))
    moved = y if order is None else y[:, order]
    change: Tensor = (moved - x).norm(dim=-1) / x.norm(dim=-1).clamp(min=1e-30)
    return change * ~torch.tensor(before.pads(stack.side))


def predictions(
    checkpoint: Checkpoint, before: Trace, after: Trace, order: list[int] | None
) -> tuple[list[int], Tensor]:
    """The predicting rows, and how far each prediction moved: float64 [row]."""
    logits = checkpoint.description.logits.tap
    p, q = (answer_logits(checkpoint, run.tensors[logits]).double().softmax(-1) for run in (before, after))
    rows = rows_of(checkpoint.description, before)
    if p.dim() == 1:  # [CLS] is the only row
        return rows, (q - p).abs().sum()[None] / 2
    moved = rows if order is None else [order[t] for t in rows]
    return rows, (q[moved] - p[rows]).abs().sum(-1) / 2
