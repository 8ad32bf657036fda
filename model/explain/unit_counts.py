"""FFN units on a corpus sample: on how many tokens each fires, and its strongest tokens, in context.

Used at the end of training: `count_units` runs the sample, `summary` is what goes on the card.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import FfnSublayer, Side, Stack
from chumoku.model.explain.units import extremes
from chumoku.model.taps import record
from chumoku.model.trace import Masks, check_length, check_target, read_as, run, with_first

Sample = tuple[Sequence[int], Sequence[int] | None]
"""The ids of a text and of an encoder-decoder's target; the target is None in other families."""
Row = tuple[list[int], list[int]]
"""A sample as the model reads it: with [CLS] or START in front, and an empty target if there is none."""


@dataclass(frozen=True)
class UnitCounts:
    """The units of one FFN over `n_tokens` tokens. The `k` strongest tokens of each: `values` float32, `texts` (index
    of the sample) and `positions` (in the row as the model reads it) int64, each [d_ff k]; −1 if there are fewer."""

    path: str
    """The FFN's module, e.g. `decoder.layers.0.ffn`."""
    stack: str
    layer: int
    side: Side
    n_tokens: int
    fires: Tensor
    """int64 [d_ff]"""
    values: Tensor
    texts: Tensor
    positions: Tensor


@dataclass(frozen=True)
class Example:
    """A token on which a unit fires, with the text before and after it."""

    activation: float
    text: int
    position: int
    before: list[int]
    id: int
    after: list[int]


@torch.inference_mode()
def count_units(checkpoint: Checkpoint, samples: Sequence[Sample], *, k: int = 5, batch: int = 8) -> list[UnitCounts]:
    """Run the samples through the model, `batch` at a time, and count the units of every FFN, without PADs.

    Raises `ValueError` if there are no samples, if one is empty or longer than the window, and for a missing or
    unexpected target.
    """
    if not samples:
        raise ValueError("there is no text to count units on")
    rows = [read_row(checkpoint, sample) for sample in samples]
    order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]))  # rows of similar length together: fewer PADs
    ffns = [(stack, ffn) for stack in checkpoint.description.stacks for ffn in stack.ffns]
    counts = [empty(stack, ffn, k) for stack, ffn in ffns]
    for first in range(0, len(order), batch):
        chosen = order[first : first + batch]
        posts, is_pad = run_batch(checkpoint, [rows[n] for n in chosen], [ffn.roles["post"].tap for _, ffn in ffns])
        counts = [
            plus(one, post, is_pad[one.side], torch.tensor(chosen)) for one, post in zip(counts, posts, strict=True)
        ]
    return counts


def empty(stack: Stack, ffn: FfnSublayer, k: int) -> UnitCounts:
    nowhere = torch.full((ffn.d_ff, k), -1)
    fires = torch.zeros(ffn.d_ff, dtype=torch.long)
    return UnitCounts(ffn.module, stack.id, ffn.layer, stack.side, 0, fires, nowhere.float(), nowhere, nowhere)


def plus(old: UnitCounts, post: Tensor, is_pad: Tensor, chosen: Tensor) -> UnitCounts:
    """Add a batch: post [batch position d_ff], is_pad bool [batch position], chosen int64 [batch] (the indices of the
    samples)."""
    at = torch.nonzero(~is_pad)  # token 2
    new = post[~is_pad].T  # d_ff token
    k = old.values.shape[1]
    best, where = new.topk(min(k, new.shape[1]), dim=1)
    values, kept = torch.cat((old.values, best), dim=1).topk(k, dim=1)
    return replace(
        old,
        n_tokens=old.n_tokens + new.shape[1],
        fires=old.fires + (new > 0).sum(1),
        values=values,
        texts=torch.cat((old.texts, chosen[at[where, 0]]), dim=1).gather(1, kept),
        positions=torch.cat((old.positions, at[where, 1]), dim=1).gather(1, kept),
    )


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


def examples(
    checkpoint: Checkpoint, samples: Sequence[Sample], counts: UnitCounts, unit: int, *, around: int = 8
) -> Iterator[Example]:
    """The strongest tokens of a unit with `around` tokens on either side; `samples` are the counted ones."""
    columns = (counts.values[unit].tolist(), counts.texts[unit].tolist(), counts.positions[unit].tolist())
    for value, text, t in zip(*columns, strict=True):
        if value > 0:
            row = read_row(checkpoint, samples[text])[counts.side == "target"]
            yield Example(value, text, t, row[max(0, t - around) : t], row[t], row[t + 1 : t + 1 + around])


def summary(counts: Sequence[UnitCounts]) -> dict[str, Any]:
    """For the card (JSON): how many units of each FFN are dead or always on over the sample, and which."""
    layers = []
    for one in counts:
        dead, always_on = extremes(one.fires, one.n_tokens)
        share = float(one.fires.double().mean() / one.n_tokens)
        layers.append(
            {"path": one.path, "stack": one.stack, "layer": one.layer, "n_tokens": one.n_tokens,
             "n_units": len(one.fires), "n_dead": len(dead), "n_always_on": len(always_on),
             "dead": dead, "always_on": always_on, "mean_share_firing": round(share, 4)}
        )  # fmt: skip
    return {"layers": layers}
