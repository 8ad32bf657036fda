"""Explanations of a sentence by layer: heads, FFN units, residual streams, and the changes between two runs."""

from __future__ import annotations

from collections.abc import Sequence

from chumoku.app.api.explain.requests import ChangesRequest, HeadsRequest, ResidualRequest, SwapRequest, UnitsRequest
from chumoku.app.errors import AppError, check_index, inside
from chumoku.app.services.explain.shared import plain, stack_of
from chumoku.app.services.plan import RunPlan, plan_run
from chumoku.app.services.wire import Json
from chumoku.model.describe import AttentionSublayer, Side
from chumoku.model.explain.head_changes import Places, changes_of, real
from chumoku.model.explain.head_labels import RULES, labels_of
from chumoku.model.explain.residual import Written, streams
from chumoku.model.explain.swaps import swap_tokens
from chumoku.model.explain.units import FfnUnits
from chumoku.model.explain.units import units as units_of


def heads(plan: RunPlan, request: HeadsRequest) -> Json:
    found = labels_of(plan.traceable, plan.run)
    return {
        "heads": [
            vars(head) | {"scores": {kind: vars(score) for kind, score in head.scores.items()}} for head in found
        ],
        "rules": {kind: {"threshold": threshold, "words": words} for kind, (threshold, words) in RULES.items()},
    }


def units(plan: RunPlan, request: UnitsRequest) -> Json:
    config = plan.checkpoint.config
    stack = stack_of(plan.checkpoint, request.stack, "stack")
    if request.unit is not None and request.layer is not None:
        check_index("layer", request.layer, config.n_layer, "layer")
        check_index("unit", request.unit, config.d_ff, "unit")
    found = units_of(plan.checkpoint, plan.run.ids, k=request.k, **plan.options)
    asked = [one for one in found if (one.stack, one.layer) == (stack.id, request.layer)]
    return {
        "ffns": [ffn(one) for one in found],
        "unit": unit(asked[0], request.unit) if asked and request.unit is not None else None,
    }


def ffn(one: FfnUnits) -> Json:
    """Everything except the strongest tokens of each unit, most of the data, which are returned for one unit only."""
    names = ("path", "stack", "layer", "positions", "dead", "always_on")
    tensors = ("fires", "top_units", "top_activations")
    return {
        **{name: getattr(one, name) for name in names},
        **{name: getattr(one, name).tolist() for name in tensors},
    }


def unit(one: FfnUnits, index: int) -> Json:
    return {
        "path": one.path,
        "stack": one.stack,
        "layer": one.layer,
        "unit": index,
        "top_positions": one.top_positions[index].tolist(),
        "top_values": one.top_values[index].tolist(),
    }


def swap(plan: RunPlan, request: SwapRequest) -> Json:
    before = plan.run.pad.count if plan.run.pad.side == "left" else 0
    first, last = before, before + len(plan.run.ids) - 1
    if plan.run.ids[0] == plan.checkpoint.tokenizer.first_id:
        first += 1  # [CLS]
    for where, place in (("i", request.i), ("j", request.j)):
        if not first <= place <= last:
            hint = f"Take a token from {first} to {last}." if first < last else "Type at least two tokens."
            message = f"There is no token to swap at {place}: [CLS] and PADs stay where they are."
            raise AppError("bad_position", message, hint, where=where, got=place, limit=last)
    i, j = request.i - before, request.j - before
    if plan.run.ids[i] == plan.run.ids[j]:
        message = f"Tokens {request.i} and {request.j} are the same: swapping them gives the same sentence."
        raise AppError("same_token", message, "Use two different tokens.", where="j", got=request.j)
    runs = swap_tokens(plan.checkpoint, plan.run.ids, i, j, **plan.options)
    return {"runs": [plain(run) | {"stacks": [plain(one) for one in run.stacks]} for run in runs]}


def residual(plan: RunPlan, request: ResidualRequest) -> Json:
    return {
        "streams": [
            plain(stream)
            | {"written": [written(one) for one in stream.written], "norms": [plain(one) for one in stream.norms]}
            for stream in streams(plan.checkpoint, plan.run.ids, **plan.options)
        ]
    }


def written(one: Written) -> Json:
    part = one.sublayer
    about = {name: value for name, value in plain(one).items() if name != "stack"}
    return about | {
        "sublayer": {
            "stack": one.stack,
            "layer": part.layer,
            "attention": part.attention if isinstance(part, AttentionSublayer) else None,
            "kind": part.kind,
            "path": part.module,
            "norm": part.norm and part.norm.module,
            "before": part.reads.tap,
            "after": part.leaves.tap,
            "out": part.writes.tap,
        }
    }


def changes(plan: RunPlan, request: ChangesRequest, max_chars: int) -> Json:
    """Raises what a run raises, and `bad_source` for a run of another model or of other lengths."""
    if request.before.model not in (None, request.model, plan.traceable.name):
        message = f"The run before is of {request.before.model!r}, this one of {plan.traceable.name!r}."
        raise AppError("bad_source", message, "Use a run of the same model.", where="before.model")
    with inside("before"):
        before = plan_run(plan.traceable, request.before, max_chars)
    places: Places = {side: places_of(side, before, plan, request) for side in ("source", "target")}
    return {"changes": [plain(one) for one in changes_of(plan.traceable, before.run, plan.run, places)]}


def places_of(side: Side, before: RunPlan, after: RunPlan, request: ChangesRequest) -> Sequence[int | None] | None:
    n, there = before.lengths[side], after.lengths[side]
    if request.places is None:
        return in_order(side, before, after)
    given: list[int | None] | None = getattr(request.places, side)
    if given is None or not n:
        return None
    at = f"places.{side}"
    if len(given) != n:
        message = f"{at} has {len(given)} entries, the run before {n} tokens."
        raise AppError("bad_source", message, "Give one for each, PADs counted.", where=at, got=len(given), limit=n)
    for index, place in enumerate(given):
        if place is not None:
            check_index("position", place, there, f"{at}[{index}]")
    return given


def in_order(side: Side, before: RunPlan, after: RunPlan) -> list[int | None] | None:
    """The sentence's own tokens; None if the two runs have not as many."""
    was, now = (real(one.run, side, one.lengths[side]) for one in (before, after))
    if len(was) != len(now):
        return None
    return [now[was.index(at)] if at in was else None for at in range(before.lengths[side])]
