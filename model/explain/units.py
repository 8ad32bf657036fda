"""FFN units: which fire on a sentence, which never fire, which are strongest; how often each fires on a corpus sample.

At the end of training, `count_units` runs the sample, and `summary` is what goes on the card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import FfnSublayer, Side
from chumoku.model.explain.anatomy import Options
from chumoku.model.taps import record
from chumoku.model.trace import Masks, check_length, check_target, read_as, run, trace, with_first


@dataclass(frozen=True)
class FfnUnits:
    """One FFN. A unit fires on a token if `ffn.post` = max(0, pre) > 0. PADs are excluded: `positions` are the counted
    positions of the sentence that `path`'s stack reads."""

    path: str
    """The FFN's module, e.g. `decoder.layers.0.ffn`."""
    stack: str
    layer: int
    positions: list[int]
    fires: Tensor
    """int64 [d_ff]: on how many positions each unit fires."""
    dead: list[int]
    """Units that fire on no position."""
    always_on: list[int]
    """Units that fire on every position."""
    top_units: Tensor
    """int64 [position k]: each token's strongest units, strongest first."""
    top_activations: Tensor
    """float32 [position k]: their values; 0 if fewer fire."""
    top_positions: Tensor
    """int64 [d_ff k]: each unit's strongest tokens, as positions."""
    top_values: Tensor
    """float32 [d_ff k]: their values; 0 if the unit does not fire."""


@torch.inference_mode()
def units(checkpoint: Checkpoint, ids: Sequence[int], *, k: int = 8, **options: Unpack[Options]) -> list[FfnUnits]:
    """Every FFN's units on a sentence. Raises what `trace` raises, and `ValueError` for a k below 1."""
    if k < 1:
        raise ValueError(f"there is one unit or more to show, got k={k}")
    stacks = checkpoint.description.stacks
    run = trace(checkpoint, ids, [ffn.roles["post"].tap for stack in stacks for ffn in stack.ffns], **options)
    found = []
    for stack in stacks:
        positions = [t for t, is_pad in enumerate(run.pads(stack.side)) if not is_pad]
        for ffn in stack.ffns:
            found.append(count(ffn, stack.id, run.tensors[ffn.roles["post"].tap][positions], positions, k))
    return found


def count(ffn: FfnSublayer, stack: str, post: Tensor, positions: list[int], k: int) -> FfnUnits:
    """The units of one FFN; post [position d_ff] is at the counted positions."""
    n, d_ff = post.shape
    fires = (post > 0).sum(0)  # d_ff
    activations, top_units = post.topk(min(k, d_ff), dim=1)  # position k
    values, at = post.T.topk(min(k, n), dim=1)  # d_ff k
    return FfnUnits(
        ffn.module, stack, ffn.layer, positions, fires, *extremes(fires, n), top_units, activations,
        torch.tensor(positions)[at], values,
    )  # fmt: skip


def extremes(fires: Tensor, n: int) -> tuple[list[int], list[int]]:
    """The units that fire on none of n tokens, and those that fire on all; fires [d_ff]. Without tokens, both are
    empty."""
    if n == 0:
        return [], []
    return torch.nonzero(fires == 0).flatten().tolist(), torch.nonzero(fires == n).flatten().tolist()


Sample = tuple[Sequence[int], Sequence[int] | None]
"""The ids of a text and of an encoder-decoder's target; the target is None in other families."""
Row = tuple[list[int], list[int]]
"""A sample as the model reads it: with [CLS] or START in front, and an empty target in other families."""


@dataclass(frozen=True)
class UnitCounts:
    """The units of one FFN over `n_tokens` tokens."""

    path: str
    """The FFN's module, e.g. `decoder.layers.0.ffn`."""
    stack: str
    layer: int
    side: Side
    n_tokens: int
    fires: Tensor
    """int64 [d_ff]: on how many tokens each unit fires."""


@torch.inference_mode()
def count_units(checkpoint: Checkpoint, samples: Sequence[Sample], *, batch: int = 8) -> list[UnitCounts]:
    """Run the samples through the model, `batch` at a time, and count the units of every FFN, without PADs.

    Raises `ValueError` if there are no samples, if one is empty or longer than the window, and for a missing or
    unexpected target.
    """
    if not samples:
        raise ValueError("there is no text to count units on")
    rows = [read_row(checkpoint, sample) for sample in samples]
    order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]))  # rows of similar length together: fewer PADs
    ffns = [(stack, ffn) for stack in checkpoint.description.stacks for ffn in stack.ffns]
    counts = [
        UnitCounts(ffn.module, stack.id, ffn.layer, stack.side, 0, torch.zeros(ffn.d_ff, dtype=torch.long))
        for stack, ffn in ffns
    ]
    for first in range(0, len(order), batch):
        chosen = order[first : first + batch]
        posts, is_pad = run_batch(checkpoint, [rows[n] for n in chosen], [ffn.roles["post"].tap for _, ffn in ffns])
        counts = [plus(count, post, is_pad[count.side]) for count, post in zip(counts, posts, strict=True)]
    return counts


def plus(old: UnitCounts, post: Tensor, is_pad: Tensor) -> UnitCounts:
    """Add a batch: post [batch position d_ff], is_pad bool [batch position]."""
    new = post[~is_pad]  # token d_ff
    return replace(old, n_tokens=old.n_tokens + len(new), fires=old.fires + (new > 0).sum(0))


def read_row(checkpoint: Checkpoint, sample: Sample) -> Row:
    ids, target = sample
    check_target(checkpoint, target)
    source = read_as(checkpoint, ids)
    written = [] if target is None else with_first(target, checkpoint.tokenizer.first_id)
    for row in (source, written or source):
        check_length(len(row), checkpoint.config.max_seq_len)
    return source, written


def run_batch(checkpoint: Checkpoint, rows: list[Row], taps: list[str]) -> tuple[list[Tensor], dict[Side, Tensor]]:
    """The taps' tensors [batch position d_ff], and which positions of each side are PADs, on the CPU."""
    pad_id, device = checkpoint.tokenizer.pad_id, checkpoint.device
    source, target = (padded([row[side] for row in rows], pad_id).to(device) for side in (0, 1))
    is_pad, target_is_pad = (masks.pads_right([len(row[side]) for row in rows]).to(device) for side in (0, 1))
    written = (target, target_is_pad) if target.shape[1] else (None, None)
    with record(taps) as recording:
        run(checkpoint, source, masks.position_ids(is_pad), is_pad, Masks(), *written)
    return [recording.tensors[tap].cpu() for tap in taps], {"source": is_pad.cpu(), "target": target_is_pad.cpu()}


def padded(rows: list[list[int]], pad_id: int) -> Tensor:
    """int64 [batch position], PADs on the right."""
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])


def summary(counts: Sequence[UnitCounts]) -> dict[str, Any]:
    """For the card (JSON): how many units of each FFN are dead or always on over the sample, and which."""
    layers = []
    for ffn in counts:
        dead, always_on = extremes(ffn.fires, ffn.n_tokens)
        share = float(ffn.fires.double().mean() / ffn.n_tokens)
        layers.append(
            {"path": ffn.path, "stack": ffn.stack, "layer": ffn.layer, "n_tokens": ffn.n_tokens,
             "n_units": len(ffn.fires), "n_dead": len(dead), "n_always_on": len(always_on),
             "dead": dead, "always_on": always_on, "mean_share_firing": round(share, 4)}
        )  # fmt: skip
    return {"layers": layers}
