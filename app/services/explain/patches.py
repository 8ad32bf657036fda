"""What another sentence's activations do in a run: row by row, or along one path from a writer to a receiver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chumoku.app.api.explain import requests
from chumoku.app.api.explain.requests import PatchesRequest
from chumoku.app.api.run import RunRequest
from chumoku.app.errors import AppError, check_index, inside
from chumoku.app.services import predictions
from chumoku.app.services.capabilities import attention_of, check_can
from chumoku.app.services.explain.answers import KINDS, KnockoutSession, can_resume
from chumoku.app.services.explain.shared import answers, checked, chosen, refusing, tokens_by_id
from chumoku.app.services.plan import RunPlan, plan_run
from chumoku.app.services.wire import Event
from chumoku.model.attribution.knockouts import Part
from chumoku.model.attribution.patching import PatchEffect, Patching, WholePatching, patch_parts, patch_taps
from chumoku.model.attribution.path_patching import (
    PathPatching,
    Receiver,
    WholePathPatching,
    path_taps,
    receiving_roles,
    writers_to,
)
from chumoku.model.explain.anatomy import without
from chumoku.model.trace import Trace
from chumoku.model.traceable import TraceableModel


class PatchesSession(KnockoutSession):
    """Measures what each activation of another run does in this one."""

    effects: Patching | WholePatching

    def __init__(self, traceable: TraceableModel, request: PatchesRequest, max_chars: int) -> None:
        """Runs both sentences once. Raises `AppError` for an invalid request, and for runs that do not correspond."""
        check_can(traceable, "ablations")
        self.plan = plan = plan_run(traceable, request, max_chars)
        row, answer = chosen(plan, request)
        with inside("from"):
            other = plan_run(traceable, source_of(plan, request), max_chars)
        if other.lengths != plan.lengths:
            there, here = sum(other.lengths.values()), sum(plan.lengths.values())
            message = f"The other run has {there} tokens, this one {here}."
            raise AppError(
                "bad_source", message, "Use a sentence of as many tokens.", where="from", got=there, limit=here
            )
        tap = traceable.description.logits.tap
        paths = request.paths
        to = None if paths is None or paths.to is None else receiver_of(plan, paths.to)
        taps = patch_taps(traceable.description) if paths is None else path_taps(traceable.description)
        found = traceable.trace(other.run, [*taps, tap])
        logits = found.tensors[tap]
        at_row = logits if traceable.description.classes else logits[row]
        first = predictions.first(traceable, at_row)
        if first == answer:  # as it does when the sentences differ in what leads to the answer, not in the answer
            first = predictions.first(traceable, without(at_row, [answer]))
        against = first if request.against is None else checked(traceable, request.against, "against")
        if against == answer:
            message = "Both answers are the same: there is no difference to patch."
            raise AppError("bad_source", message, "Name another answer (`against`).", where="against")
        for name, asked in (("answer", answer), ("against", against)):
            if not traceable.description.classes and asked in traceable.about.never_sampled:
                message = f"Token id {asked} is never sampled: it has no probability."
                raise AppError("bad_token", message, "Use a token that can be sampled.", where=name, got=asked)
        with refusing("bad_source", "Use a sentence whose answer differs more.", where="from"):
            if paths is None:
                self.effects = patching_on(plan, found, answer, against, row)
            else:
                self.effects = paths_on(plan, found, answer, against, row, to=to, ffns=paths.ffns)
        self.other = {"source": other.padded, "target": None if other.run.target is None else list(other.run.target)}
        parts: Sequence[Part] = (
            patch_parts(traceable.description, plan.lengths) if paths is None else writers_to(traceable.description, to)
        )
        self.batches, self.about = self.effects.batches(parts), {"parts": len(parts)}

    def start(self) -> Event:
        sides, found = self.effects.sides, super().start()
        more = {"against": sides.against, "difference": sides.base, "source_difference": sides.source}
        read = (
            [] if self.plan.traceable.description.picture else [id for ids in self.other.values() for id in ids or []]
        )
        named = answers(self.plan.traceable, [sides.answer, sides.against])
        tokens = named["tokens"] | tokens_by_id(self.plan.traceable, read)
        return Event("start", {**found.data, **more, **named, "tokens": tokens, "ids": self.other})

    def measure(self, parts: list[Any]) -> Sequence[PatchEffect]:
        return self.effects.patch(parts)

    def event(self, one: PatchEffect) -> Event:
        where = {name: value for name, value in vars(one.part).items() if value is not None}
        kind = {"kind": KINDS[type(one.part)]} if type(one.part) in KINDS else {}
        return Event("patch", {**kind, **where, "p": one.p, "difference": one.difference, "moved": one.moved})


def source_of(plan: RunPlan, request: PatchesRequest) -> RunRequest:
    """The other run; in a translator with this run's target, unless it has its own. Raises `bad_source` for another
    model."""
    source = request.source
    if source.model not in (None, plan.traceable.name):
        message = f"The other run is of {source.model!r}, this one of {plan.traceable.name!r}."
        raise AppError("bad_source", message, "Use a run of the same model.", where="model")
    if plan.run.target is None or source.target is not None or source.target_ids is not None:
        return source
    return source.model_copy(update={"target_ids": list(plan.run.target)})


def patching_on(plan: RunPlan, source: Trace, answer: int, against: int, row: int) -> Patching | WholePatching:
    """As `effects_on`."""
    if can_resume(plan):
        return Patching(plan.checkpoint, plan.run.ids, source, answer, against, row=row, **plan.options)
    return WholePatching(plan.traceable, plan.run, source, answer, against, row=row)


def paths_on(
    plan: RunPlan, source: Trace, answer: int, against: int, row: int, *, to: Receiver | None, ffns: bool
) -> PathPatching | WholePathPatching:
    """As `effects_on`."""
    asked: Any = {"row": row, "to": to, "ffns": ffns}
    if can_resume(plan):
        return PathPatching(plan.checkpoint, plan.run.ids, source, answer, against, **asked, **plan.options)
    return WholePathPatching(plan.traceable, plan.run, source, answer, against, **asked)


def receiver_of(plan: RunPlan, asked: requests.ReceiverRequest) -> Receiver:
    """Raises `unknown_attention`, `bad_layer`, `bad_head`, and `unsupported` for an attention without this role."""
    with inside("paths.to"):
        attention = attention_of(plan.traceable.description, asked.attention, asked.layer, "attention", "layer")
        check_index("head", asked.head, attention.n_head, "head")
        if asked.role not in (known := receiving_roles(attention)):
            message = f"The heads of this attention have no {asked.role} of their own."
            hint = f"Use {' or '.join(known)}." if known else "Leave `to` out: the answer receives."
            raise AppError("unsupported", message, hint, where="role", got=asked.role)
    return Receiver(attention.id, asked.layer, asked.head, asked.role)
