"""A sentence as training sees it: the loss of every token, rows and prefixes, dropout."""

from __future__ import annotations

from dataclasses import asdict

from chumoku.app.api.explain.requests import DropoutRequest, ForcingRequest, PrefixRequest
from chumoku.app.api.run import Input
from chumoku.app.errors import AppError
from chumoku.app.services.capabilities import OTHER_MODEL, check_next
from chumoku.app.services.explain.shared import plain, refusing, tokens_by_id
from chumoku.app.services.pairs import Read
from chumoku.app.services.plan import RunPlan, Target, planned
from chumoku.app.services.wire import Json
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.anatomy import pick_row, rows_read
from chumoku.model.explain.teacher_forcing import Forced, with_dropout
from chumoku.model.explain.teacher_forcing import forced as forced_of
from chumoku.model.explain.teacher_forcing import prefix as prefix_of


def forcing(plan: RunPlan, request: ForcingRequest) -> Json:
    check_next(plan.traceable)
    found = forced_of(plan.checkpoint, plan.run.ids, **plan.options)
    return told(found) | {"tokens": tokens_by_id(plan.checkpoint, [*found.labels, *found.first])}


def told(found: Forced) -> Json:
    return plain(found) | found.figures


def prefix(plan: RunPlan, request: PrefixRequest) -> Json:
    check_next(plan.traceable)
    if request.pad.count:
        message = "A prefix is compared without PADs."
        raise AppError("bad_pad", message, "Leave pad out.", where="pad.count", got=request.pad.count)
    rows = rows_read(plan.traceable.description, plan.run.is_pad, plan.lengths["target"])
    hint = f"Use a row from {rows[0]} to {rows[-1]}, or leave it out."
    with refusing("bad_position", hint, where="row", got=request.row, limit=rows[-1]):
        row = pick_row(rows, request.row)
    check_within(plan, request, row)
    found = prefix_of(plan.checkpoint, plan.run.ids, row, k=request.k, **plan.options)
    return plain(found) | {"tokens": tokens_by_id(plan.checkpoint, found.top)}


def check_within(plan: RunPlan, request: PrefixRequest, row: int) -> None:
    """Raise `bad_position` if an intervention names a token that the prefix does not have."""
    ids, target = list(plan.run.ids), None
    if plan.run.target is None:
        ids = ids[: row + 1]
    else:
        target = Target(list(plan.run.target[: row + 1]), "request")
    shorter = request.model_copy(update={"input": Input(token_ids=ids), "text": None, "token_ids": None})
    planned(plan.traceable, shorter, Read(ids), target, max_chars=len(request.sentence.text or ""))


def dropout(plan: RunPlan, request: DropoutRequest) -> Json:
    check_next(plan.traceable)
    p = dropout_of(plan.checkpoint)
    seeds = range(request.seed, request.seed + request.n)
    runs = [with_dropout(plan.checkpoint, plan.run.ids, seed, p, **plan.options) for seed in seeds]
    without = forced_of(plan.checkpoint, plan.run.ids, **plan.options)
    named = [first for one in (without, *(run.losses for run in runs)) for first in one.first]
    return {
        "p": p,
        "without": told(without),
        "runs": [
            {"seed": run.seed, "removed": {what: asdict(one) for what, one in run.removed.items()}, **told(run.losses)}
            for run in runs
        ],
        "tokens": tokens_by_id(plan.checkpoint, [*without.labels, *named]),
    }


def dropout_of(checkpoint: Checkpoint) -> float:
    """The p that the model was trained with. Raises `cannot` for a model trained without dropout."""
    if not checkpoint.config.dropout:
        message = f"{checkpoint.name!r} was trained without dropout."
        raise AppError("cannot", message, OTHER_MODEL, where="model", got=0.0)
    return checkpoint.config.dropout
