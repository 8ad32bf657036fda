"""Labels for heads: each kind of head has a score and a threshold. A head below all thresholds has no label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Unpack

import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Attention, Description
from chumoku.model.explain.alignment import cross_scores
from chumoku.model.explain.anatomy import Options
from chumoku.model.explain.head_scores import HeadKind, Tally, join, self_scores
from chumoku.model.trace import Trace, trace

RULES: dict[HeadKind, tuple[float, str]] = {
    "previous": (1 / 3, "weight on the token just before, outside the first key, above chance"),
    "induction": (
        1 / 3,
        "weight on tokens after another occurrence of this token, outside the first key, above chance",
    ),
    "same": (1 / 3, "weight on other occurrences of this token, outside the first key, above chance"),
    "self": (1 / 3, "weight on the token itself, outside the first key, above chance"),
    "alignment": (0.4, "target tokens look at source tokens of their own (Cramér's V²), busiest key excluded"),
    "spread": (0.8, "how close the weights outside the sink are to an even spread (1 − total variation)"),
    "first": (0.5, "weight on the first key, above an even share"),
}
"""The threshold of each kind and its rule in words, the more specific kinds first."""
MIN_SHARE = 0.1
"""A label needs at least this share of a row's weight (mean over the counted rows). Less is what a sink leaves over."""
MIN_ROWS = 2
CELLS = 2**20
"""Layers are scored together up to so many cells of their patterns: in a short text a call costs more than its sums."""
Tallies = dict[str, dict[HeadKind, Tally]]
"""Of each attention, by its id, and each kind: [layer head]."""


@dataclass(frozen=True)
class HeadScore:
    """The score of one kind in [0, 1], over `rows` rows and `share` of their weight; `fits`: it earns the label."""

    score: float
    share: float
    rows: int
    fits: bool


@dataclass(frozen=True)
class Head:
    """A head of an attention (by its id), its scores, and its label, if any."""

    attention: str
    layer: int
    head: int
    label: HeadKind | None
    scores: dict[HeadKind, HeadScore]


def labels(checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> list[Head]:
    """Every head of every attention that has an overview, on one sentence, in the model's order.

    Raises what `trace` raises, and `ValueError` if no attention has one.
    """
    return name_heads(head_tallies(checkpoint, ids, **options))


def labels_of(description: Description, run: Trace) -> list[Head]:
    """The same from a trace that has the taps of `scored_taps`."""
    return name_heads(tallies_of(description, run))


def head_tallies(checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> Tallies:
    """The tallies of each attention, [layer head]. `add_tallies` adds those of several texts."""
    names = scored_taps(checkpoint.description)
    if not names:
        raise ValueError(f"{checkpoint.name} has no attention that shows who looks at whom")
    return tallies_of(checkpoint.description, trace(checkpoint, ids, names, **options))


def tallies_of(description: Description, run: Trace) -> Tallies:
    return {one.id: score(run, one) for one in scored_attentions(description)}


def scored_attentions(description: Description) -> list[Attention]:
    return [one for one in description.attentions if one.overview is not None and "mask" in one.roles]


def scored_taps(description: Description) -> list[str]:
    """What heads are scored from, in every layer of every attention that has an overview."""
    return [name for one in scored_attentions(description) for names in scored(one) for name in names]


def scored(attention: Attention) -> tuple[Sequence[str], Sequence[str]]:
    """The taps that scores are computed from, one a layer: who looks at whom, and who may."""
    assert attention.overview is not None
    return attention.roles[attention.overview].taps, attention.roles["mask"].taps


def score(run: Trace, attention: Attention) -> dict[HeadKind, Tally]:
    patterns, reasons = ([run.tensors[name] for name in names] for names in scored(attention))
    at_once = max(1, CELLS // patterns[0].numel())
    parts = [
        score_layers(run, attention, *(torch.stack(x[first : first + at_once]) for x in (patterns, reasons)))
        for first in range(0, len(patterns), at_once)
    ]
    return {kind: join([part[kind] for part in parts]) for kind in parts[0]}


def score_layers(run: Trace, attention: Attention, pattern: Tensor, mask: Tensor) -> dict[HeadKind, Tally]:
    """Tallies [layer head] of some layers: pattern and mask [layer head query key]."""
    queries, keys = (~torch.tensor(run.pads(side)) for side in (attention.queries, attention.keys))
    counted = masks.allowed(mask) & queries[:, None] & keys
    if attention.queries != attention.keys:
        return cross_scores(pattern, counted)
    ids = {"source": run.ids, "target": run.target_ids or []}
    return self_scores(pattern, ids[attention.queries], counted)


def add_tallies(texts: Iterable[Tallies]) -> Tallies:
    """The tallies of several texts added up: what a head does on a corpus."""
    sums: Tallies = {}
    for text in texts:
        for attention, kinds in text.items():
            so_far = sums.get(attention)
            sums[attention] = kinds if so_far is None else {kind: so_far[kind] + one for kind, one in kinds.items()}
    return sums


def name_heads(tallies: Tallies) -> list[Head]:
    """Scores and labels of every head."""
    heads = []
    for attention, kinds in tallies.items():
        columns = {kind: head_scores_of(kind, one) for kind, one in kinds.items()}
        for layer, head in product(*map(range, next(iter(kinds.values())).hit.shape)):
            scores = {kind: column[layer][head] for kind, column in columns.items()}
            heads.append(Head(attention, layer, head, pick_label(scores), scores))
    return heads


def head_scores_of(kind: HeadKind, one: Tally) -> list[list[HeadScore]]:
    """By layer and head."""
    score, share = one.score, one.share
    fits = (score >= RULES[kind][0]) & (share >= MIN_SHARE) & (one.rows >= MIN_ROWS)
    columns = (score.tolist(), share.tolist(), one.rows.long().tolist(), fits.tolist())
    return [[HeadScore(*head) for head in zip(*layer, strict=True)] for layer in zip(*columns, strict=True)]


def pick_label(scores: dict[HeadKind, HeadScore]) -> HeadKind | None:
    """The best of the scores that fit. `first` counts only if no other does: a sink says nothing about what a head does
    when it is active."""
    fitting = [kind for kind, one in scores.items() if one.fits and kind != "first"]
    if fitting:
        return max(fitting, key=lambda kind: scores[kind].score)
    return "first" if scores["first"].fits else None
