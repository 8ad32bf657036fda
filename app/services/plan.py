"""A checked run, ready for the model: ids, target, masks, PADs and edits, validated before the model runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Literal
from weakref import WeakKeyDictionary

from torch import Tensor

from chumoku.app.api.run import RunRequest
from chumoku.app.errors import AppError, inside
from chumoku.app.services import pairs, tokens
from chumoku.app.services.capabilities import check_target, explained
from chumoku.app.services.interventions import edits_of
from chumoku.app.services.interventions.site import Lengths, Site
from chumoku.app.services.pairs import Read
from chumoku.app.services.pictures import bytes_of, check_hidden
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Side
from chumoku.model.explain.anatomy import Options
from chumoku.model.generate import greedy_ids
from chumoku.model.interventions import OtherRun
from chumoku.model.run import Run
from chumoku.model.trace import Masks, Padding, pad_ids, with_first
from chumoku.model.traceable import TraceableModel
from chumoku.model.translate import LONGER

KEPT = 128
_greedy: WeakKeyDictionary[TraceableModel, dict[tuple[int, ...], list[int]]] = WeakKeyDictionary()
_lock = Lock()


Origin = Literal["request", "greedy"]


@dataclass(frozen=True)
class Target:
    """The decoder's tokens, START first, and their origin."""

    ids: list[int]
    origin: Origin


def resolve(
    traceable: TraceableModel, text: str | None, token_ids: Sequence[int] | None, max_chars: int
) -> list[int] | None:
    """The target in a request, START first; None if there is none. An empty text is START alone.

    Raises `cannot` for a model without targets, `too_long`, `bad_token` and what `tokens.encode` raises.
    """
    if text is None and token_ids is None:
        return None
    where = "target" if token_ids is None else "target_ids"
    check_target(traceable, where)
    tokenizer = traceable.tokenizer
    if token_ids is None:
        ids = [*start_of(traceable), *tokens.encode(tokenizer, text or "", max_chars, where)]
    else:
        ids = check_target_ids(traceable, token_ids)
    tokens.check_length(len(ids), traceable.description.max_seq_len, where, what="target tokens, START included")
    return ids


def start_of(traceable: TraceableModel) -> list[int]:
    """The first id of every target."""
    first = traceable.tokenizer.special.first
    return [] if first is None else [first]


def check_target_ids(traceable: TraceableModel, token_ids: Sequence[int]) -> list[int]:
    """`token_ids` after START, which they may include. Raises `bad_token` for an END that is not last."""
    tokenizer, start = traceable.tokenizer, start_of(traceable)
    ids = tokens.check_ids(tokenizer, token_ids, "target_ids", first_allowed=True)
    begun = len(start) if ids[: len(start)] == start else 0
    if (end := tokenizer.special.end) in ids[begun:-1]:
        where = f"target_ids[{ids.index(end, begun)}]"
        hint = "Cut the target after its END, or leave END out."
        message = f"{end} is END, which ends a target: nothing can follow it."
        raise AppError("bad_token", message, hint, where=where, got=end)
    return with_first(ids, start[0]) if start else ids


def greedy(traceable: TraceableModel, source_ids: Sequence[int]) -> list[int]:
    """START and the model's greedy translation, without END, which the last row predicts. It depends on the source
    alone, not on PADs or interventions, so that their effects can be compared. Recent ones are cached, because a page
    requests many tensors of one sentence.
    """
    key = tuple(source_ids)
    with _lock:
        known = _greedy.setdefault(traceable, {})
        if key in known:
            return known[key]
    description, special = traceable.description, traceable.tokenizer.special
    session = traceable.start(Run(source_ids, start_of(traceable)), [])
    longest = min(len(source_ids) + LONGER, description.max_seq_len - 1)
    ids = greedy_ids(session, traceable.tokenizer.never_sampled, special.end, longest)
    with _lock:
        while len(known) >= KEPT:
            known.pop(next(iter(known)))
        known[key] = ids
    return ids


def target_of(
    traceable: TraceableModel,
    source_ids: Sequence[int],
    text: str | None,
    token_ids: Sequence[int] | None,
    max_chars: int,
) -> Target | None:
    """The target of a trace: the request's, otherwise the greedy one; None for a model without targets."""
    given = resolve(traceable, text, token_ids, max_chars)
    if given is not None:
        return Target(given, "request")
    if traceable.description.writes != "target":
        return None
    return Target(greedy(traceable, source_ids), "greedy")


MAX_SOURCES = 16


@dataclass(frozen=True)
class RunPlan:
    """A checked run of a model, and how its sentence was read. `target_from`: the origin of its target, if it has
    one."""

    traceable: TraceableModel
    run: Run
    read: Read
    target_from: Origin | None = None

    @property
    def checkpoint(self) -> Checkpoint:
        """The modules that an explanation needs. Raises `cannot` for a model that is not made of ours."""
        return explained(self.traceable)

    @property
    def options(self) -> Options:
        """The run without its ids, as keywords of the functions of `model.explain`."""
        options: Options = {"use": self.run.use, "pad": self.run.pad, "edit": dict(self.run.edit)}
        return options if self.run.target is None else {**options, "target": list(self.run.target)}

    @property
    def padded(self) -> list[int]:
        """The ids with their PADs: positions count in these."""
        pad_id = self.traceable.tokenizer.special.pad
        return list(self.run.ids) if pad_id is None else pad_ids(self.run.ids, self.run.pad, pad_id)

    @property
    def lengths(self) -> Lengths:
        return lengths_of(self.run.ids, self.run.target, self.run.pad)

    def resolved(self, asked: RunRequest) -> dict[str, Any]:
        """The run as requested, with the model's choices filled in: its name, the causal mask, target, attentions."""
        attentions, use, target = self.traceable.description.attentions, self.run.use, self.run.target
        causal = any(one.causal for one in attentions) if use.causal is None else use.causal
        run = asked.to_json(next((one.id for one in attentions), None))
        return run | {
            "model": self.traceable.name,
            "target_ids": list(target) if target is not None and asked.target is None else None,
            "masks": {"causal": causal, "padding": use.padding},
        }


def plan_run(traceable: TraceableModel, request: RunRequest, max_chars: int) -> RunPlan:
    """Checks the request. A translator without a target gets the model's own.

    Raises `AppError` for an invalid sentence, target or intervention.
    """
    read = pairs.read(traceable, request, max_chars)
    target = target_of(traceable, read.ids, request.target, request.target_ids, max_chars)
    return planned(traceable, request, read, target, max_chars)


def plan_writing(traceable: TraceableModel, request: RunRequest, max_chars: int) -> RunPlan:
    """Checks a request whose text or target will be continued: interventions may name later tokens.

    Raises what `plan_run` raises, and `bad_pad` for PADs in the place of the new tokens.
    """
    writes = traceable.description.writes
    read = pairs.read(traceable, request, max_chars, grows=writes == "source")
    if request.pad.count and request.pad.side == "right" and writes == "source":
        message = "PADs on the right are in the place of the new tokens."
        raise AppError("bad_pad", message, "Put PADs on the left.", where="pad.side", got="right")
    given = resolve(traceable, request.target, request.target_ids, max_chars)
    start = Target(given or start_of(traceable), "request") if writes == "target" else None
    return planned(traceable, request, read, start, max_chars, grows=writes)


def planned(
    traceable: TraceableModel,
    run: RunRequest,
    read: Read,
    target: Target | None,
    max_chars: int,
    grows: Side | None = None,
) -> RunPlan:
    ids = read.ids
    check_hidden(traceable, run, ids)
    if run.pad.count and traceable.tokenizer.special.pad is None:
        message = f"{traceable.name!r} has no PAD."
        raise AppError("bad_pad", message, "Leave pad out.", where="pad.count", got=run.pad.count)
    pad = Padding(run.pad.count, run.pad.side, run.pad.follow, tuple(sorted(set(run.pad.hidden))))
    lengths = lengths_of(ids, None if target is None else target.ids, pad)
    limits = lengths if grows is None else {**lengths, grows: traceable.description.max_seq_len}
    sources = Sources(traceable, max_chars)
    use, pixels = Masks(run.masks.causal, run.masks.padding), bytes_of(traceable, run.sentence.pixels)
    plain = Run(ids, None if target is None else target.ids, use, pad, token_types=read.token_types, pixels=pixels)
    edits = edits_of(run.interventions, site_of(traceable, plain, read, limits, sources))
    sources.trace()
    edited = replace(plain, edit=edits.taps, looks_ahead=edits.looks_ahead)
    return RunPlan(traceable, edited, read, None if target is None else target.origin)


def site_of(traceable: TraceableModel, plain: Run, read: Read, limits: Lengths, sources: Sources) -> Site:
    """What interventions are checked against; `plain` is the run without them."""
    means, pad = traceable.about.means, plain.pad
    return Site(
        traceable.name,
        traceable.description,
        lengths_of(plain.ids, plain.target, pad),
        limits,
        source=sources.find,
        unedited=lambda: sources.of(RunPlan(traceable, replace(plain, use=Masks()), read)),
        parameter=lambda name: weight(traceable, name),
        mean=lambda tap: None if means is None else means.of(tap),
        sentence=lambda text, at: sources.find(RunRequest(text=text), at),
        first=pad.count if plain.pads_take_no_position and pad.side == "left" else 0,
    )


class Sources:
    """The source runs of patches. Each is traced once, with all the taps requested of it."""

    def __init__(self, traceable: TraceableModel, max_chars: int) -> None:
        self.traceable, self.max_chars = traceable, max_chars
        self.found: dict[str, tuple[RunPlan, OtherRun]] = {}

    def find(self, run: RunRequest, at: str) -> OtherRun:
        """The source for this run, whose path in the request is `at`.

        Raises `too_many_sources`, and any error of the run, with its place in the request.
        """
        key = json.dumps(run.to_json(None) | {"model": self.traceable.name}, sort_keys=True)
        if key not in self.found:
            if len(self.found.keys() - {""}) == MAX_SOURCES:
                message = f"A run can have patches from at most {MAX_SOURCES} other runs."
                raise AppError("too_many_sources", message, "Take fewer.", where="interventions", limit=MAX_SOURCES)
            with inside(at):
                plan = plan_run(self.traceable, run, self.max_chars)
            self.found[key] = plan, OtherRun(plan.lengths)
        return self.found[key][1]

    def of(self, plan: RunPlan) -> OtherRun:
        """The source for a checked run, the same whenever it is asked for."""
        return self.found.setdefault("", (plan, OtherRun(plan.lengths)))[1]

    def trace(self) -> None:
        """Runs each source and stores the tensors requested of it."""
        for plan, source in self.found.values():
            source.tensors = self.traceable.trace(plan.run, sorted(source.taps)).tensors


def weight(traceable: TraceableModel, name: str) -> Tensor:
    """A parameter by name, on the CPU."""
    return traceable.weights([name])[name].cpu()


def lengths_of(ids: Sequence[int], target: Sequence[int] | None, pad: Padding) -> Lengths:
    return {"source": len(ids) + pad.count, "target": len(target or ())}
