"""Where an answer comes from: by layer, by component, by gradient."""

from __future__ import annotations

from chumoku.app.api.explain.schema import ContributionsRequest, GradientsRequest, LensRequest
from chumoku.app.services.explain.shared import Json, answers, checked, chosen, plain, refusing
from chumoku.app.services.plan import RunPlan
from chumoku.model.attribution.contributions import contributions as contributions_of
from chumoku.model.attribution.gradients import check_sampled, gradient_norms
from chumoku.model.explain.lens import Followed, lens_of


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
    against = None if request.against is None else checked(plan.traceable, request.against, "against")
    row, answer = chosen(plan, request)
    found = contributions_of(plan.checkpoint, plan.ids, answer, row=row, against=against, **plan.options)
    terms = [vars(term) for term in found.terms]
    return plain(found) | {"terms": terms, **answers(plan.traceable, [answer, against])}


def gradients(plan: RunPlan, request: GradientsRequest) -> Json:
    row, answer = chosen(plan, request)
    with refusing("bad_token", "Use a token that can be sampled.", where="answer", got=answer):
        check_sampled(plan.checkpoint, answer)
    runs = gradient_norms(plan.checkpoint, plan.ids, answer, row=row, **plan.options)
    return {
        "runs": [plain(run) | {"stacks": [plain(one) for one in run.stacks]} for run in runs],
        **answers(plan.traceable, [answer]),
    }
