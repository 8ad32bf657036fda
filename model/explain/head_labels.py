"""Scores and labels every head of a model on one text. Each kind of head has a score and a threshold; a head below all
thresholds has no label.

The weights of a long text do not fit into memory: 24 × 16 heads and 1,024 tokens are 1.6 GB. So only those of the first
layers are kept; the other layers are scored during a second pass (`taps.keeping`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product

import torch
from torch import Tensor

from chumoku.model import masks, stopping
from chumoku.model.describe import Attention, Description
from chumoku.model.describe.description import has_overview
from chumoku.model.explain.head_scores import HeadKind, Tally, cross_scores, join, self_scores
from chumoku.model.run import Run
from chumoku.model.taps import Keep, keeping
from chumoku.model.trace import Trace
from chumoku.model.traceable.protocols import TraceableModel

CELLS = 2**20
"""Layers and heads are scored together up to this many cells of their patterns. For a short text, calls cost more than
the sums that they compute; more cells than this do not fit into a processor's cache."""
KEPT = 2**26
"""How many weights are kept at once: 256 MB."""
Kinds = dict[HeadKind, Tally]
"""A tally [layer head] for each kind."""
Tallies = dict[str, Kinds]
"""The tallies of each attention, by its id."""
AttentionLayer = tuple[Attention, int]
"""A layer of an attention."""


@torch.inference_mode()
def tallies_of(traceable: TraceableModel, run: Run) -> Tallies:
    """The tallies of each attention that has an overview and a mask. A long text takes two passes."""
    places = scored(traceable.description)
    n = n_kept(places, run)
    first = traceable.trace(run, taps_of(places[:n]))
    found, later = score(first, places[:n]), [ScoredOnVisit(first, *place) for place in places[n:]]
    if later:
        with keeping({tap: keep for layer in later for tap, keep in layer.keeps()}):
            traceable.trace(run, taps_of(places[n:]))
    for layer in later:
        id = layer.attention.id
        found[id] = joined([found[id], layer.found]) if id in found else layer.found
    return found


def scored(description: Description) -> list[AttentionLayer]:
    """Every layer of every attention that can be scored."""
    return [
        (attention, layer)
        for attention in description.attentions
        if has_overview(attention)
        for layer in range(attention.n_layer)
    ]


def n_kept(places: Sequence[AttentionLayer], run: Run) -> int:
    """How many of the first places fit into `KEPT` weights, at least one."""
    lengths = {"source": len(run.is_pad), "target": len(run.target or []) + 1}  # with START
    left = KEPT
    for n, (attention, _) in enumerate(places):
        left -= attention.n_head * lengths[attention.queries] * lengths[attention.keys]
        if n and left < 0:
            return n
    return len(places)


def taps_of(places: Sequence[AttentionLayer]) -> list[str]:
    return [attention.tap(role, layer) for attention, layer in places for role in roles_of(attention)]


def roles_of(attention: Attention) -> tuple[str, str]:
    """The roles that heads are scored from: which query attends to which key (the overview), and which may (the
    mask)."""
    assert attention.overview is not None
    return attention.overview, "mask"


def score(run: Trace, places: Sequence[AttentionLayer]) -> Tallies:
    """The tallies of these places, from a trace that has their taps."""
    found = {}
    for id, of_one in groupby(places, key=lambda place: place[0].id):
        attentions, layers = zip(*of_one, strict=True)
        found[id] = score_attention(run, attentions[0], layers)
    return found


def score_attention(run: Trace, attention: Attention, layers: Sequence[int]) -> Kinds:
    """The tallies of an attention, computed in groups of layers."""
    at_once = max(1, CELLS // run.tensors[attention.tap(roles_of(attention)[0], layers[0])].numel())
    parts = []
    for first in range(0, len(layers), at_once):
        taps = ([attention.tap(role, n) for n in layers[first : first + at_once]] for role in roles_of(attention))
        pattern, mask = (torch.stack([run.tensors[tap] for tap in names]) for names in taps)
        parts.append(score_layers(run, attention, pattern, mask))
    return joined(parts)


def score_layers(run: Trace, attention: Attention, pattern: Tensor, mask: Tensor) -> Kinds:
    """Tallies [layer head] of some layers, computed in groups of heads: pattern and mask [layer head query key]."""
    at_once = max(1, CELLS // pattern[0, 0].numel())
    heads = zip(pattern.split(at_once, 1), mask.split(at_once, 1), strict=True)
    return joined([score_heads(run, attention, *group) for group in heads], dim=-1)


def score_heads(run: Trace, attention: Attention, pattern: Tensor, mask: Tensor) -> Kinds:
    """Tallies of some heads of some layers."""
    stopping.check()
    queries, keys = (~torch.tensor(run.pads(side)) for side in (attention.queries, attention.keys))
    counted = masks.allowed(mask) & queries[:, None] & keys
    if attention.queries != attention.keys:
        return cross_scores(pattern, counted)
    ids = {"source": run.ids, "target": run.target_ids or []}
    return self_scores(pattern, ids[attention.queries], counted)


class ScoredOnVisit:
    """Scores a layer as soon as its weights are visited, and drops them. The mask is visited first."""

    mask: Tensor
    found: Kinds

    def __init__(self, run: Trace, attention: Attention, layer: int) -> None:
        """`run`: a trace of the same run, for its tokens."""
        self.run, self.attention, self.layer = run, attention, layer

    def keeps(self) -> Iterator[tuple[str, Keep]]:
        weights, mask = taps_of([(self.attention, self.layer)])
        yield from ((mask, self.see_mask), (weights, self.see_weights))

    def see_mask(self, x: Tensor) -> Tensor:
        self.mask = x
        return x.new_empty(1)

    def see_weights(self, x: Tensor) -> Tensor:
        self.found = score_layers(self.run, self.attention, x.cpu(), self.mask.cpu())
        del self.mask
        return x.new_empty(1)


def joined(parts: Sequence[Kinds], dim: int = 0) -> Kinds:
    """Concatenate groups of layers; with `dim` −1, groups of heads."""
    return {kind: join([part[kind] for part in parts], dim) for kind in parts[0]}


RULES: dict[HeadKind, tuple[float, str]] = {
    "previous": (1 / 3, "weight on the token just before, outside the first key, above chance"),
    "induction": (
        1 / 3,
        "weight on tokens after another occurrence of this token, outside the first key, above chance",
    ),
    "same": (1 / 3, "weight on other occurrences of this token, outside the first key, above chance"),
    "self": (1 / 3, "weight on the token itself, outside the first key, above chance"),
    "alignment": (0.4, "different target tokens attend to different source tokens (Cramér's V²), busiest key excluded"),
    "spread": (0.8, "how close the weights outside the sink are to an even spread (1 − total variation)"),
    "first": (0.5, "weight on the first key, above an even share"),
}
"""The threshold of each kind and its rule in words, the more specific kinds first."""
MIN_SHARE = 0.1
"""A label needs at least this share of a row's weight (mean over the counted rows). A sink leaves less."""
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
    """Every head of every attention that has an overview and a mask, scored on one sentence, in the model's order.
    Raises what `trace` raises."""
    return name_heads(tallies_of(traceable, run))


def name_heads(tallies: Tallies) -> list[Head]:
    """Scores and labels of every head."""
    heads = []
    for attention, kinds in tallies.items():
        columns = {kind: head_scores_of(kind, tally) for kind, tally in kinds.items()}
        for layer, head in product(*map(range, next(iter(kinds.values())).hit.shape)):
            scores = {kind: column[layer][head] for kind, column in columns.items()}
            heads.append(Head(attention, layer, head, pick_label(scores), scores))
    return heads


def head_scores_of(kind: HeadKind, tally: Tally) -> list[list[HeadScore]]:
    """The scores of one kind, by layer and head."""
    score, share = tally.score, tally.share
    fits = (score >= RULES[kind][0]) & (share >= MIN_SHARE) & (tally.rows >= MIN_ROWS)
    columns = (score.tolist(), share.tolist(), tally.rows.long().tolist(), fits.tolist())
    return [[HeadScore(*head) for head in zip(*layer, strict=True)] for layer in zip(*columns, strict=True)]


def pick_label(scores: dict[HeadKind, HeadScore]) -> HeadKind | None:
    """The kind with the best score among those that fit. `first` counts only if no other fits: a sink says nothing
    about what a head does when it is active."""
    fitting = [kind for kind, score in scores.items() if score.fits and kind != "first"]
    if fitting:
        return max(fitting, key=lambda kind: scores[kind].score)
    return "first" if scores["first"].fits else None
