"""Labels for heads: each kind of head has a score and a threshold. A head below all thresholds has no label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Unpack

import torch

from model import masks
from model.checkpoint import Checkpoint
from model.describe import Attention
from model.explain.alignment import cross_scores
from model.explain.anatomy import Options
from model.explain.head_scores import HeadKind, Tally, self_scores
from model.trace import Trace, trace

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


def head_tallies(
    checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]
) -> dict[tuple[str, int], dict[HeadKind, Tally]]:
    """The tallies of each attention and layer. `add_tallies` adds those of several texts."""
    found = [one for one in checkpoint.description.attentions if one.overview is not None and "mask" in one.roles]
    if not found:
        raise ValueError(f"{checkpoint.name} has no attention that shows who looks at whom")
    places = [(attention, layer) for attention in found for layer in range(attention.n_layer)]
    names = [name for attention, layer in places for name in scored(attention, layer)]
    run = trace(checkpoint, ids, names, **options)
    return {(a.id, layer): score(run, a, layer) for a, layer in places}


def scored(attention: Attention, layer: int) -> tuple[str, str]:
    """The taps that scores are computed from: who looks at whom, and who may."""
    assert attention.overview is not None
    return attention.tap(attention.overview, layer), attention.tap("mask", layer)


def score(run: Trace, attention: Attention, layer: int) -> dict[HeadKind, Tally]:
    pattern, mask = (run.tensors[name] for name in scored(attention, layer))
    queries, keys = (~torch.tensor(run.pads(side)) for side in (attention.queries, attention.keys))
    counted = masks.allowed(mask) & queries[:, None] & keys
    if attention.queries != attention.keys:
        return cross_scores(pattern, counted)
    ids = {"source": run.ids, "target": run.target_ids or []}
    return self_scores(pattern, ids[attention.queries], counted)


def add_tallies(
    texts: Iterable[dict[tuple[str, int], dict[HeadKind, Tally]]],
) -> dict[tuple[str, int], dict[HeadKind, Tally]]:
    """The tallies of several texts added up: what a head does on a corpus."""
    sums: dict[tuple[str, int], dict[HeadKind, Tally]] = {}
    for text in texts:
        for place, kinds in text.items():
            so_far = sums.get(place)
            sums[place] = kinds if so_far is None else {kind: so_far[kind] + one for kind, one in kinds.items()}
    return sums


def name_heads(tallies: dict[tuple[str, int], dict[HeadKind, Tally]]) -> list[Head]:
    """Scores and labels of every head."""
    heads = []
    for (attention, layer), kinds in tallies.items():
        columns = {kind: head_scores_of(kind, one) for kind, one in kinds.items()}
        for head in range(len(next(iter(columns.values())))):
            scores = {kind: column[head] for kind, column in columns.items()}
            heads.append(Head(attention, layer, head, pick_label(scores), scores))
    return heads


def head_scores_of(kind: HeadKind, one: Tally) -> list[HeadScore]:
    fits = (one.score >= RULES[kind][0]) & (one.share >= MIN_SHARE) & (one.rows >= MIN_ROWS)
    columns = (one.score.tolist(), one.share.tolist(), one.rows.tolist(), fits.tolist())
    return [HeadScore(s, share, int(rows), bool(fit)) for s, share, rows, fit in zip(*columns, strict=True)]


def pick_label(scores: dict[HeadKind, HeadScore]) -> HeadKind | None:
    """The best of the scores that fit. `first` counts only if no other does: a sink says nothing about what a head does
    when it is active."""
    fitting = [kind for kind, one in scores.items() if one.fits and kind != "first"]
    if fitting:
        return max(fitting, key=lambda kind: scores[kind].score)
    return "first" if scores["first"].fits else None
