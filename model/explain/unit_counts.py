"""FFN units on a corpus sample: on how many tokens each fires, and the tokens it answers strongest, in their context.

For a training's end: `count_units` reads the sample, `summary` is what the card keeps of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from model import masks
from model.block import Memory
from model.checkpoint import Checkpoint
from model.explain.units import extremes, ffn_taps
from model.taps import record
from model.trace import check_length, read_as, with_first
from model.transformer import EncoderDecoder

Sample = tuple[Sequence[int], Sequence[int] | None]
"""The ids of a text, and of an encoder-decoder's target: None in the other families."""
Row = tuple[list[int], list[int]]
"""A sample as the model reads it: [CLS] or START put before it, an empty target where there is none."""


@dataclass(frozen=True)
class UnitCounts:
    """One FFN's units over `n_tokens` tokens. Of each unit, its `k` strongest tokens: `values` float32, `texts` (index
    of the sample) and `positions` (in the row as the model reads it) int64, each [d_ff k]; −1 where there are fewer."""

    path: str
    layer: int
    n_tokens: int
    fires: Tensor
    """int64 [d_ff]"""
    values: Tensor
    texts: Tensor
    positions: Tensor


@dataclass(frozen=True)
class Example:
    """A token that a unit answers to, with what stands before and behind it in its text."""

    activation: float
    text: int
    position: int
    before: list[int]
    id: int
    behind: list[int]


@torch.inference_mode()
def count_units(checkpoint: Checkpoint, samples: Sequence[Sample], *, k: int = 5, batch: int = 8) -> list[UnitCounts]:
    """Run the samples through the model, `batch` at a time, and count in every FFN; PADs do not count.

    Raises `ValueError` for no sample, for one that is empty or longer than the window, and for a target that is
    missing or too much.
    """
    if not samples:
        raise ValueError("there is no text to count units on")
    rows = [read_row(checkpoint, sample) for sample in samples]
    order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]))  # rows of a length together: fewer PADs
    taps = ffn_taps(checkpoint.model)
    counts = [empty(tap, layer, checkpoint.config.d_ff, k) for tap, layer in taps.items()]
    for first in range(0, len(order), batch):
        chosen = order[first : first + batch]
        posts = run_batch(checkpoint, [rows[n] for n in chosen], list(taps))
        counts = [one.plus(*posts[f"{one.path}.post"], torch.tensor(chosen)) for one in map(Adding, counts)]
    return counts


class Adding:
    """A count that goes on."""

    def __init__(self, so_far: UnitCounts) -> None:
        self.so_far, self.path = so_far, so_far.path

    def plus(self, post: Tensor, is_pad: Tensor, chosen: Tensor) -> UnitCounts:
        """post [batch position d_ff], is_pad bool [batch position], chosen int64 [batch]: which samples they are."""
        at = torch.nonzero(~is_pad)  # token 2
        new = post[~is_pad].T  # d_ff token
        old, k = self.so_far, self.so_far.values.shape[1]
        best, where = new.topk(min(k, new.shape[1]), dim=1)
        values, kept = torch.cat((old.values, best), dim=1).topk(k, dim=1)
        texts = torch.cat((old.texts, chosen[at[where, 0]]), dim=1).gather(1, kept)
        positions = torch.cat((old.positions, at[where, 1]), dim=1).gather(1, kept)
        fires = old.fires + (new > 0).sum(1)
        return UnitCounts(old.path, old.layer, old.n_tokens + new.shape[1], fires, values, texts, positions)


def empty(tap: str, layer: int, d_ff: int, k: int) -> UnitCounts:
    nowhere = torch.full((d_ff, k), -1)
    fires = torch.zeros(d_ff, dtype=torch.long)
    return UnitCounts(tap.removesuffix(".post"), layer, 0, fires, nowhere.float(), nowhere, nowhere)


def read_row(checkpoint: Checkpoint, sample: Sample) -> Row:
    ids, target = sample
    if (target is None) == (checkpoint.config.family == "encoder-decoder"):
        raise ValueError(f"{checkpoint.name} is {checkpoint.config.family}: a target is for an encoder-decoder, always")
    source = read_as(checkpoint, ids)
    written = [] if target is None else with_first(target, checkpoint.tokenizer.first_id)
    for row in (source, written or source):
        check_length(len(row), checkpoint.config.max_seq_len)
    return source, written


def run_batch(checkpoint: Checkpoint, rows: list[Row], taps: list[str]) -> dict[str, tuple[Tensor, Tensor]]:
    """Each tap's tensor [batch position d_ff], and which of its positions are PADs, on the CPU."""
    model, pad_id = checkpoint.model, checkpoint.tokenizer.pad_id
    source = padded([row[0] for row in rows], pad_id).to(checkpoint.device)
    source_pads = is_pad = source == pad_id
    with record(taps) as recording:
        if isinstance(model, EncoderDecoder):
            target = padded([row[1] for row in rows], pad_id).to(checkpoint.device)
            is_pad = target == pad_id
            memory = Memory(
                model.encode(source, masks.encoder_mask(source_pads)), masks.cross_mask(source_pads, target.shape[1])
            )
            model.decode(target, masks.decoder_mask(is_pad), memory)
        else:
            model(source, masks.decoder_mask(is_pad, use_causal=checkpoint.config.is_causal))
    pads = {tap: source_pads if tap.startswith("encoder.") else is_pad for tap in taps}
    return {tap: (recording.tensors[tap].cpu(), pads[tap].cpu()) for tap in taps}


def padded(rows: list[list[int]], pad_id: int) -> Tensor:
    """int64 [batch position], PADs on the right."""
    longest = max(len(row) for row in rows)
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in rows])


def examples(
    checkpoint: Checkpoint, samples: Sequence[Sample], counts: UnitCounts, unit: int, *, around: int = 8
) -> Iterator[Example]:
    """A unit's strongest tokens with `around` tokens on either side; `samples` are those that were counted."""
    columns = (counts.values[unit].tolist(), counts.texts[unit].tolist(), counts.positions[unit].tolist())
    for value, text, t in zip(*columns, strict=True):
        if value > 0:
            row = read_row(checkpoint, samples[text])[counts.path.startswith("decoder.")]
            yield Example(value, text, t, row[max(0, t - around) : t], row[t], row[t + 1 : t + 1 + around])


def summary(counts: Sequence[UnitCounts]) -> dict[str, Any]:
    """What a card keeps: for each FFN how many units are dead or always on over the sample, and which (JSON)."""
    layers = []
    for one in counts:
        dead, always_on = extremes(one.fires, one.n_tokens)
        share = float(one.fires.double().mean() / one.n_tokens)
        layers.append(
            {"path": one.path, "layer": one.layer, "n_tokens": one.n_tokens, "n_units": len(one.fires),
             "n_dead": len(dead), "n_always_on": len(always_on), "dead": dead, "always_on": always_on,
             "mean_share_firing": round(share, 4)}
        )  # fmt: skip
    return {"layers": layers}
