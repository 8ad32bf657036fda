"""Labels for heads: each kind of head has a score and a threshold. A head below all thresholds has no label."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from chumoku.model.explain.head_scores import HeadKind, Tally
from chumoku.model.explain.tallies import Tallies, tallies_of
from chumoku.model.run import Run
from chumoku.model.traceable.protocols import TraceableModel

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


def labels_of(traceable: TraceableModel, run: Run) -> list[Head]:
    """Every head of every attention that has an overview, on one sentence, in the model's order. Raises what `trace`
    raises."""
    return name_heads(tallies_of(traceable, run))


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
