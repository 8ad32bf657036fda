"""What an answer comes from: by layer, component and gradient, and by the effect of knocked-out connections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from math import exp
from typing import Any

from chumoku.app.api.explain import requests
from chumoku.app.api.explain.requests import (
    AblationsRequest,
    ContributionsRequest,
    EffectsRequest,
    GradientsRequest,
    LensRequest,
    WritesRequest,
)
from chumoku.app.errors import check_index
from chumoku.app.services.capabilities import attention_of, check_can
from chumoku.app.services.explain.shared import answers, asked, checked, chosen, plain, refusing
from chumoku.app.services.plan import RunPlan, plan_run
from chumoku.app.services.wire import Event, Json
from chumoku.model.attribution.effects import Effect, Effects, WholePasses
from chumoku.model.attribution.gradients import check_sampled, gradient_norms
from chumoku.model.attribution.head_writes import KeyWrites, head_writes, key_writes
from chumoku.model.attribution.knockouts import FfnPart, HeadPart, Part, parts_of
from chumoku.model.attribution.logit_attribution import contributions as contributions_of
from chumoku.model.attribution.logit_attribution import contributions_of_run
from chumoku.model.attribution.norm_contributions import route_of
from chumoku.model.attribution.rollout import Edge, widest
from chumoku.model.describe import Attention
from chumoku.model.explain.lens import Followed, lens_of
from chumoku.model.traceable import TraceableModel


def lens(plan: RunPlan, request: LensRequest) -> Json:
    found = lens_of(plan.traceable, plan.run, k=request.k)
    final, following = followed(found.final), followed(found.next)
    same = [one == own for one, own in zip(following["ids"], final["ids"], strict=True)]
    named = [*found.top.flatten().tolist(), *final["ids"], *following["ids"]]
    return plain(found) | {"final": final, "next": following | {"same": same}, **answers(plan.traceable, named)}


def followed(one: Followed) -> Json:
    """null everywhere for a row without an answer to follow."""
    ids = [None if i < 0 else i for i in one.ids.tolist()]
    return {
        "ids": ids,
        "probability": [
            [p if i is not None else None for i, p in zip(ids, depth, strict=True)]
            for depth in one.probability.tolist()
        ],
        "rank": [[None if rank < 0 else rank for rank in depth] for depth in one.rank.tolist()],
    }


def contributions(plan: RunPlan, request: ContributionsRequest) -> Json:
    can = plan.traceable.description.can
    if not can.get("direct"):
        check_can(plan.traceable, "contributions")
    against = (
        checked(plan.traceable, request.against, "against") if isinstance(request.against, int) else request.against
    )
    row, answer = chosen(plan, request)
    layers = len(plan.traceable.description.readout.layers)
    if request.units_of is not None:
        check_can(plan.traceable, "contributions")
        check_index("layer", request.units_of, layers, "units_of")
    asked: Any = {"row": row, "against": against, "by_key": request.by_key}
    if can["contributions"]:
        asked["units_of"] = request.units_of
        found = contributions_of(plan.checkpoint, plan.run.ids, answer, **asked, **plan.options)
    else:
        found = contributions_of_run(plan.traceable, plan.run, answer, **asked)
    named = [answer, *([found.against] if isinstance(found.against, int) else [])]
    split = None
    if found.units is not None:
        split = plain(found.units) | {"units": [plain(unit) for unit in found.units.units]}
        named += [one for unit in found.units.units for one in unit.favours]
    terms = [vars(term) for term in found.terms]
    return plain(found) | {"terms": terms, "units": split, **answers(plan.traceable, named)}


def writes(plan: RunPlan, request: WritesRequest) -> Json:
    row, answer = asked(plan, request)
    layer, head = request.layer, request.head
    attention = attention_of(plan.traceable.description, request.attention, layer, "attention", "layer")
    check_index("head", head, attention.n_head, "head")
    with refusing("unsupported", "Ask about an attention of the stack that predicts.", where="attention"):
        found = head_writes(
            plan.traceable, plan.run, answer, attention=attention.id, layer=layer, head=head, row=row, k=request.k
        )  # fmt: skip
    return plain(found) | answers(plan.traceable, [found.answer, *found.favoured.flatten().tolist()])


def gradients(plan: RunPlan, request: GradientsRequest) -> Json:
    row, answer = chosen(plan, request)
    with refusing("bad_token", "Use a token that can be sampled.", where="answer", got=answer):
        check_sampled(plan.checkpoint, answer)
    runs = gradient_norms(plan.checkpoint, plan.run.ids, answer, row=row, **plan.options)
    return {
        "runs": [plain(run) | {"stacks": [plain(one) for one in run.stacks]} for run in runs],
        **answers(plan.traceable, [answer]),
    }


class KnockoutSession(ABC):
    """Knocks parts of a run out batch by batch, on request, from one thread at a time."""

    plan: RunPlan
    effects: Effects | WholePasses
    batches: Iterator[list[Any]]
    about: dict[str, int]
    """How many parts there are, as `start` says it."""

    def start(self) -> Event:
        found = self.effects
        about = {"answer": found.answer, "row": found.row, "p": exp(found.log_p), **self.about}
        return Event("start", about | answers(self.plan.traceable, [found.answer]))

    def step(self) -> list[Event]:
        """What the parts of the next batch do; none when all are measured."""
        return [self.event(one) for one in self.measure(next(self.batches, []))]

    def measure(self, parts: list[Any]) -> Sequence[Any]:
        return self.effects.measure(parts)

    @abstractmethod
    def event(self, one: Any) -> Event:
        """What one part does, as `measure` says it."""


class EffectsSession(KnockoutSession):
    """Measures what single attention edges do."""

    def __init__(self, traceable: TraceableModel, request: EffectsRequest, max_chars: int) -> None:
        """Runs the sentence once. Raises `AppError` for an invalid request."""
        check_can(traceable, "effects")
        self.plan = plan = plan_run(traceable, request, max_chars)
        row, answer = chosen(plan, request)
        asked = edges_of(plan, request.edges)
        self.effects = effects_on(plan, answer, row)
        edges = widest(route_of(traceable, plan.run), row, request.n) if asked is None else asked
        most = self.effects.most_unasked if asked is None else len(edges)
        kept = [edge for edge in edges if self.effects.can_knock_out(edge)][:most]
        self.batches, self.about = self.effects.batches(kept), {"edges": len(kept)}

    def event(self, one: Effect[Edge]) -> Event:
        return Event("effect", effect(one))


class AblationsSession(KnockoutSession):
    """Measures what each head and each FFN does, or each connection of a row."""

    def __init__(self, traceable: TraceableModel, request: AblationsRequest, max_chars: int) -> None:
        """Runs the sentence once. Raises `AppError` for an invalid request."""
        check_can(traceable, "ablations" if request.keys_of is None else "effects")
        self.plan = plan = plan_run(traceable, request, max_chars)
        row, answer = chosen(plan, request)
        row_of = request.keys_of
        parts: Sequence[Part] = parts_of(traceable.description) if row_of is None else edges_from(plan, row_of)
        self.effects = effects_on(plan, answer, row)
        self.writes = None if row_of is None else writes_of_keys(plan, row_of, answer, row)
        kept = [part for part in parts if self.effects.can_knock_out(part)]
        self.batches, self.about = self.effects.batches(kept), {"parts": len(kept)}

    def event(self, one: Effect[Part]) -> Event:
        told = ablation(one)
        if self.writes is not None and isinstance(one.part, Edge):
            told |= {
                name: None if of_keys is None else of_keys[one.part.key].item()
                for name, of_keys in vars(self.writes).items()
            }
        return Event("ablation", told)


KINDS: dict[type[Part], str] = {HeadPart: "head", FfnPart: "ffn", Edge: "edge"}


def ablation(one: Effect[Part]) -> Json:
    where = {name: value for name, value in vars(one.part).items() if value is not None}
    return {"kind": KINDS[type(one.part)], **where, "p": one.p, "delta": one.delta, "kl": one.kl}


def effects_on(plan: RunPlan, answer: int, row: int) -> Effects | WholePasses:
    """`Effects` where passes can resume at the layer of each knockout, otherwise whole passes."""
    with refusing("bad_token", "Use a token that can be sampled.", where="answer", got=answer):
        if not can_resume(plan):
            return WholePasses(plan.traceable, plan.run, answer, row=row)
        check_sampled(plan.checkpoint, answer)
    return Effects(plan.checkpoint, plan.run.ids, answer, row=row, **plan.options)


def can_resume(plan: RunPlan) -> bool:
    """Whether a pass can resume at a layer: of our own modules, with a mechanism that has masks, and unless the stream
    is edited between layers, or the final norm, because a resumed pass reads its row alone."""
    description = plan.traceable.description
    norm = description.readout.final_norm
    fixed = {tap for stack in description.stacks for tap in stack.stream} | ({norm.roles["out"].tap} if norm else set())
    edited = not fixed.isdisjoint(plan.run.edit)
    return plan.traceable.checkpoint is not None and description.can["effects"] and not edited


def effect(one: Effect[Edge]) -> dict[str, str | int | float]:
    return {**one.part.where, "p": one.p, "delta": one.delta}


def edges_of(plan: RunPlan, asked: Sequence[requests.EdgeRequest] | None) -> list[Edge] | None:
    """The requested edges, each once. Raises `unknown_attention`, `bad_layer`, `bad_head` and `bad_position`."""
    if asked is None:
        return None
    found = []
    for index, edge in enumerate(asked):
        at = f"edges[{index}]"
        attention = checked_row(plan, edge, at)
        check_index("position", edge.key, plan.lengths[attention.keys], f"{at}.key")
        found.append(Edge(attention.id, edge.layer, edge.query, edge.key, edge.head))
    return list(dict.fromkeys(found))


def edges_from(plan: RunPlan, row: requests.RowRequest) -> list[Edge]:
    """The edges from a query to every key, checked as in `edges_of`."""
    attention = checked_row(plan, row, "keys_of")
    keys = range(plan.lengths[attention.keys])
    return [Edge(attention.id, row.layer, row.query, key, row.head) for key in keys]


def writes_of_keys(plan: RunPlan, row_of: requests.RowRequest, answer: int, row: int) -> KeyWrites:
    attention = row_of.attention or plan.traceable.description.attentions[0].id
    return key_writes(
        plan.traceable, plan.run, answer, attention=attention, layer=row_of.layer, head=row_of.head,
        query=row_of.query, row=row,
    )  # fmt: skip


def checked_row(plan: RunPlan, row: requests.RowRequest | requests.EdgeRequest, at: str) -> Attention:
    attention = attention_of(plan.traceable.description, row.attention, row.layer, f"{at}.attention", f"{at}.layer")
    check_index("position", row.query, plan.lengths[attention.queries], f"{at}.query")
    if row.head is not None:
        check_index("head", row.head, attention.n_head, f"{at}.head")
    return attention
