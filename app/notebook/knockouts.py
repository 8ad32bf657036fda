"""Attention knockouts in a document: the effects of single connections on the answer, and the run without the most
decisive ones (Geva et al. 2023)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from chumoku.app.api.explain.requests import EffectsRequest
from chumoku.app.notebook.model import Trace
from chumoku.app.services.explain.answers import EffectsSession, effect
from chumoku.app.services.plan import RunPlan
from chumoku.app.services.wire import Json
from chumoku.model.attribution.effects import Effect
from chumoku.model.attribution.norm_contributions import River, route_of
from chumoku.model.attribution.rollout import Edge, widths


@dataclass(frozen=True)
class KnockoutEffects:
    """`effects`: as a document has them (`SavedEffects` in `static/data/document_source.js`). `knocked_out`: the run
    without the most decisive connections; None: the sentence over the river does not offer it."""

    effects: Json
    knocked_out: Trace | None


def knockout_effects(trace: Trace) -> KnockoutEffects | None:
    """The effects of the widest connections on the run's own answer; None for a model without knockouts."""
    traceable, limit = trace.model.traceable, trace.model.settings.max_text_chars
    if not traceable.description.can.get("effects"):
        return None
    session = EffectsSession(traceable, EffectsRequest.model_validate(trace.asked), limit)
    start, row, found = session.start().data, session.effects.row, effects_of(session)
    edges = deciding(session.plan, row, {one.part: one.delta for one in found})
    saved: Json = {"row": row, "start": start, "effects": [effect(one) for one in found], "look": None}
    if not edges:
        return KnockoutEffects(saved, None)
    knocked_out = trace.without(edges)
    p = probability(knocked_out, row, start["answer"])
    saved["look"] = {"edges": [edge.where for edge in edges], "p": p}
    return KnockoutEffects(saved, knocked_out if share(p) != share(start["p"]) else None)


def effects_of(session: EffectsSession) -> list[Effect[Edge]]:
    """All effects, in the order of the edges."""
    return [one for batch in session.batches for one in session.effects.measure(batch)]


def deciding(plan: RunPlan, row: int, deltas: Mapping[Edge, float]) -> list[Edge]:
    """All connections from `row` to the token whose connections, knocked out one by one, lower the answer most; none if
    none does. In a translation: to the source token that brings most to `row`.

    `decidingEdges` of `static/river/knockout_effects.js` is the same:
    tests/js/deciding.json holds the two together, and `share` with its own.
    """
    rivers = route_of(plan.traceable, plan.run)
    river = rivers[-1]
    side, key = most_brought(rivers, row) or most_needed(river, row, deltas)
    return [
        Edge(flow.attention, layer, row, key)
        for flow in river.flows
        if flow.keys == side and not (side == river.side and key == row)
        for layer in range(len(flow.share))
        if flow.share[layer, row, key] > 0
    ]


def most_brought(rivers: Sequence[River], row: int) -> tuple[str, int] | None:
    """The source token of which most reaches `row` through cross-attention: its side and position."""
    river, through = rivers[-1], widths(rivers, row)
    for flow in river.flows:
        if flow.keys != river.side:
            return flow.keys, int(through[flow.attention].sum((0, 1)).argmax())
    return None


def most_needed(river: River, row: int, deltas: Mapping[Edge, float]) -> tuple[str, int]:
    """The token whose connections, knocked out one by one, lower the answer most: its side and position."""
    sides = {flow.attention: flow.keys for flow in river.flows}
    falls: defaultdict[tuple[str, int], float] = defaultdict(float)
    for edge, delta in deltas.items():
        if edge.query == row and edge.attention in sides:
            falls[sides[edge.attention], edge.key] -= delta
    side, key = max(falls, key=lambda place: falls[place], default=("", -1))
    return (side, key) if falls[side, key] > 0 else ("", -1)


def probability(trace: Trace, row: int, answer: int) -> float:
    """What a run gives to a class, or after `row` to a token."""
    logits = trace[trace.model.traceable.description.logits.tap].double()
    if trace.metadata["classes"] is None:
        logits = logits[row]
        logits[trace.metadata["never_sampled"]] = -float("inf")
    return float(logits.flatten().softmax(-1)[answer])


def share(p: float) -> str:
    """A probability as the river writes it: `briefPercent` of `static/ui/format.js`. A knockout that does not change
    it is not offered."""
    digits = 1 if 0 < p < 0.095 or 0.995 < p < 1 else 0
    if 0 < p < 0.0005:
        return "<\u202f0.1\u202f%"
    return f"{Decimal(p * 100).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)}\u202f%"
