"""What changes in every head from one run to another."""

from __future__ import annotations

from collections.abc import Sequence

from chumoku.app.api.explain.schema import ChangesRequest
from chumoku.app.errors import AppError, check_index, inside
from chumoku.app.services.explain.shared import Json, plain
from chumoku.app.services.plan import RunPlan, plan_run
from chumoku.model.describe import Side
from chumoku.model.explain.head_changes import Places, changes_of, real


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
