"""Explanations: what `model/explain` and `model/attribution` compute from a run, or from the model alone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from chumoku.app.api.answers import BUSY, EVENTS, REFUSALS, Answers, as_json
from chumoku.app.api.explain.answers import (
    POSITIONS_ANSWER,
    ContributionsResponse,
    CostResponse,
    GradientsResponse,
    LensResponse,
    NeighboursResponse,
    ParametersResponse,
    WritesResponse,
)
from chumoku.app.api.explain.layer_answers import (
    ChangesResponse,
    DropoutResponse,
    ForcingResponse,
    HeadsResponse,
    PrefixResponse,
    ResidualResponse,
    RouteResponse,
    SwapResponse,
    UnitsResponse,
)
from chumoku.app.api.explain.requests import (
    AblationsRequest,
    ChangesRequest,
    ContributionsRequest,
    CostRequest,
    DropoutRequest,
    EffectsRequest,
    ForcingRequest,
    GradientsRequest,
    HeadsRequest,
    LensRequest,
    NeighboursRequest,
    ParametersRequest,
    PositionsRequest,
    PrefixRequest,
    ResidualRequest,
    RouteRequest,
    SwapRequest,
    TimingsRequest,
    UnitsRequest,
    WritesRequest,
)
from chumoku.app.http.backpressure import EventStream
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.deps import ClaimDep, JobQueueDep, LibraryDep, SeenDep, SettingsDep, WantedDep
from chumoku.app.http.responder import ResponderDep
from chumoku.app.services import sizes
from chumoku.app.services.explain import answers as explain_answers
from chumoku.app.services.explain import layers as explain_changes
from chumoku.app.services.explain import layers as explain_layers
from chumoku.app.services.explain import model as explain_costs
from chumoku.app.services.explain import model as explain_tables
from chumoku.app.services.explain import river_answer
from chumoku.app.services.explain import training as explain_training
from chumoku.app.services.explain.answers import AblationsSession, EffectsSession
from chumoku.app.services.explain.model import TimingsSession
from chumoku.app.services.job_queue import JobQueue
from chumoku.app.services.metrics import Kind
from chumoku.app.services.wire import Event

router = APIRouter(prefix="/api/explain", tags=["explain"], route_class=JsonRoute)
MANY = 5 * 10**8
"""Multiplications above which a river runs as an expensive job: some tenths of a second."""
RESPONSES: Answers = {**REFUSALS, **BUSY}


@router.post("/lens", response_model=LensResponse, responses=RESPONSES)
async def lens(request: LensRequest, responder: ResponderDep) -> Response:
    """The logit lens: what each layer's stream would predict if it were the last.

    `final` and `next` follow the model's final first choice and the actual next token through the layers. An
    encoder-only model has one row, that of [CLS], and its answers are classes.
    """
    return await responder.explain_run(request, explain_answers.lens, "lens", kind="long")


@router.post("/contributions", response_model=ContributionsResponse, responses=RESPONSES)
async def contributions(request: ContributionsRequest, responder: ResponderDep) -> Response:
    """A logit as a sum: what the embedding, each head and each FFN wrote to the stream, projected onto the logit.

    The scale of each LayerNorm on the way is held fixed at its value in this run (`scales`).
    """
    return await responder.explain_run(request, explain_answers.contributions, "contributions")


@router.post("/writes", response_model=WritesResponse, responses=RESPONSES)
async def writes(request: WritesRequest, responder: ResponderDep) -> Response:
    """What one head writes to a row, key by key: what it adds to a logit, and the answers that it favours.

    The scale of each LayerNorm on the way is held fixed, as in `/contributions`, whose term of the head is the sum.
    """
    return await responder.explain_run(request, explain_answers.writes, "contributions")


@router.post("/gradients", response_model=GradientsResponse, responses=RESPONSES)
async def gradients(request: GradientsRequest, responder: ResponderDep) -> Response:
    """How the gradient of ln p(answer) reaches each layer, with and without residual connections."""
    return await responder.explain_run(request, explain_answers.gradients, "gradients", kind="long")


@router.post("/heads", response_model=HeadsResponse, responses=RESPONSES)
async def heads(request: HeadsRequest, responder: ResponderDep) -> Response:
    """What each head attends to on this sentence: scores, and a label if one fits."""
    return await responder.explain_run(request, explain_layers.heads, "heads", kind="long")


@router.post("/units", response_model=UnitsResponse, responses=RESPONSES)
async def units(request: UnitsRequest, responder: ResponderDep) -> Response:
    """The FFN units on this sentence: which fire, which never do, and the strongest of each token.

    With `unit` and `layer`, also the strongest tokens of that unit.
    """
    return await responder.explain_run(request, explain_layers.units, "units")


@router.post("/swap", response_model=SwapResponse, responses=RESPONSES)
async def swap(request: SwapRequest, responder: ResponderDep) -> Response:
    """What changes when two tokens of the source change places, with and without positions."""
    return await responder.explain_run(request, explain_layers.swap, "swap", kind="long")


@router.post("/residual", response_model=ResidualResponse, responses=RESPONSES)
async def residual(request: ResidualRequest, responder: ResponderDep) -> Response:
    """The residual streams: their length, what each sublayer adds, and what each LayerNorm changes."""
    return await responder.explain_run(request, explain_layers.residual)


@router.post("/route", response_model=RouteResponse, responses=RESPONSES)
async def route(request: RouteRequest, responder: ResponderDep) -> Response:
    """How much of each position is mixed into each other, by layer.

    share(q←k) = ‖c_qk‖ / (‖x_q‖ + Σ_j ‖c_qj‖): c_qk is what all heads bring from key k to query q, x_q the stream
    before. In self-attention, `share` at k = q includes `own`; in cross-attention a row and its `own` add up to 1.
    """
    description = responder.state.library.find(request.model).about.description
    kind: Kind = "long" if river_answer.products(description, request) > MANY else "explain"
    return await responder.explain_run(request, river_answer.route, "route", kind)


@router.post("/changes", response_model=ChangesResponse, responses=RESPONSES)
async def changes(request: ChangesRequest, responder: ResponderDep) -> Response:
    """How far each head's weights move from the run `before` to this one, and what leaks to later tokens and PADs.

    Three numbers per head, for texts with too many weights to send. Both runs are computed once for every 134
    million weights.
    """
    service = partial(explain_changes.changes, max_chars=responder.state.settings.max_text_chars)
    return await responder.explain_run(request, service, kind="long")


@router.post("/forcing", response_model=ForcingResponse, responses=RESPONSES)
async def forcing(request: ForcingRequest, responder: ResponderDep) -> Response:
    """Teacher forcing: the loss of every token from one pass, the labels being the text shifted by one."""
    return await responder.explain_run(request, explain_training.forcing)


@router.post("/prefix", response_model=PrefixResponse, responses=RESPONSES)
async def prefix(request: PrefixRequest, responder: ResponderDep) -> Response:
    """Row `row` of one pass beside the last row of the run on its prefix: under a causal mask they are the same."""
    return await responder.explain_run(request, explain_training.prefix)


@router.post("/dropout", response_model=DropoutResponse, responses=RESPONSES)
async def dropout(request: DropoutRequest, responder: ResponderDep) -> Response:
    """The sentence with dropout, as in training: what `n` runs removed, and how their losses differ."""
    return await responder.explain_run(request, explain_training.dropout, kind="long")


@router.post("/neighbours", response_model=NeighboursResponse, responses=RESPONSES)
async def neighbours(request: NeighboursRequest, responder: ResponderDep) -> Response:
    """The tokens whose embeddings are nearest to that of one token."""
    return await responder.explain_model(request, explain_tables.neighbours, "neighbours")


@router.post("/positions", response_class=Response, responses={200: POSITIONS_ANSWER, **RESPONSES})
async def positions(request: PositionsRequest, responder: ResponderDep) -> Response:
    """The position table and the similarity of its rows, as a safetensors body.

    A sinusoid continues after the model's window (up to 8 times its length); learned positions do not.
    """
    return await responder.tensors(request, explain_tables.positions, "positions")


@router.post("/parameters", response_model=ParametersResponse, responses=RESPONSES)
async def parameters(request: ParametersRequest, responder: ResponderDep) -> Response:
    """Where the model's parameters are: counted by part, stack and layer, with tied matrices marked."""
    return await responder.explain_model(request, explain_tables.parameters, "parameters")


@router.post("/cost", response_model=CostResponse, responses=RESPONSES)
async def cost(request: CostRequest, responder: ResponderDep) -> Response:
    """What one layer's attention costs in every mechanism: multiplications and numbers held, as sums of products.

    A factor is a whole number or a symbol: T tokens, `sizes`, 2T−1 distances, or `near`, the pairs with 0 ≤ t − i < s.
    Projections are not counted: they are 4Td² in every form. `own` is the model's mechanism.
    """
    return await responder.explain_model(request, explain_costs.cost)


STREAMED: Answers = {200: EVENTS, **as_json(REFUSALS | BUSY)}


async def opened_effects(
    request: EffectsRequest,
    library: LibraryDep,
    settings: SettingsDep,
    work: JobQueueDep,
    seen: SeenDep,
    wanted: WantedDep,
    claim: ClaimDep,
) -> AsyncIterator[EffectsSession]:
    """The requested effects, which hold a stream slot until the last one. A dependency, so that an invalid request gets
    a normal error: the stream has not started yet.
    """
    entry = library.find(request.model)
    seen.model, seen.text = entry.name, request.sentence.text
    with work.stream(), library.lease(entry) as lease:

        def job() -> EffectsSession:
            claim.take(sizes.of_effects(request.n if request.edges is None else len(request.edges)))
            return EffectsSession(lease.traceable, request, settings.max_text_chars)

        session = (await work.run(job, kind="effects", wanted=wanted)).value
        seen.n_tokens = len(session.plan.padded)
        yield session


@router.post("/effects", response_class=Response, responses=STREAMED)
async def effects(session: Annotated[EffectsSession, Depends(opened_effects)], work: JobQueueDep) -> EventStream:
    """How far an answer falls when one connection is knocked out: server-sent events, the widest first.

    `start` has the `answer`, its probability `p` and the number of `edges`; each `effect` the edge (`attention`,
    `layer`, `query`, `key`; `head` if it was asked in one), `p` after the cut, and `delta` = ln p after − ln p before.
    Connections that are the only one of their query are left out. Closing the connection stops the work.
    """
    return EventStream(effects_events(session, work), "a measurement of effects")


async def opened_ablations(
    request: AblationsRequest,
    library: LibraryDep,
    settings: SettingsDep,
    work: JobQueueDep,
    seen: SeenDep,
    wanted: WantedDep,
    claim: ClaimDep,
) -> AsyncIterator[AblationsSession]:
    """The requested ablations, which hold a stream slot until the last one; a dependency, as `opened_effects` is."""
    entry = library.find(request.model)
    seen.model, seen.text = entry.name, request.sentence.text
    with work.stream(), library.lease(entry) as lease:

        def job() -> AblationsSession:
            claim.take(sizes.of_ablations(lease.traceable.description, of_a_row=request.keys_of is not None))
            return AblationsSession(lease.traceable, request, settings.max_text_chars)

        session = (await work.run(job, kind="effects", wanted=wanted)).value
        seen.n_tokens = len(session.plan.padded)
        yield session


@router.post("/ablations", response_class=Response, responses=STREAMED)
async def ablations(session: Annotated[AblationsSession, Depends(opened_ablations)], work: JobQueueDep) -> EventStream:
    """What each head and each FFN does for an answer: each is switched off once, in its own pass. Server-sent events.

    A head's z is set to 0 before W_O; what an FFN adds to the stream is set to 0. `start` has the `answer`, its
    probability `p` and the number of `parts`; each `ablation` its `kind` with the head (`attention`, `layer`, `head`),
    the FFN (`stack`, `layer`) or, with `keys_of`, the edge, `p` without it, `delta` = ln p after − ln p before, and
    `kl` = KL(before ‖ after) over all answers, both in nats. Closing the connection stops the work.
    """
    return EventStream(effects_events(session, work), "a measurement of ablations")


async def effects_events(session: EffectsSession | AblationsSession, work: JobQueue) -> AsyncGenerator[Event, None]:
    """Each batch is one job, so that measurements take turns with other work."""
    yield session.start()
    while batch := (await work.run(session.step, kind="effects", patient=True)).value:
        for event in batch:
            yield event
    yield Event("done", {})


async def opened_timings(
    request: TimingsRequest, library: LibraryDep, work: JobQueueDep, seen: SeenDep
) -> AsyncIterator[TimingsSession]:
    """The measurements, which hold a stream slot. The model is not loaded: only its shape matters."""
    entry = library.find(request.model)
    seen.model = entry.name
    with work.stream():
        yield TimingsSession(entry.about, library.device)


@router.post("/timings", response_class=Response, responses=STREAMED)
async def timings(session: Annotated[TimingsSession, Depends(opened_timings)], work: JobQueueDep) -> EventStream:
    """How long one layer's attention takes here in every mechanism, for 64 to 4,096 tokens: server-sent events.

    `start` has the `forms`, the `lengths`, the `device` and its `threads`; each `point` a `form`, its `n` tokens and
    the `seconds` of its best run, or `seconds: null` and `why`: it would take too much "memory" or "time". `sdpa` is
    torch's fused softmax attention. Projections are not measured. Closing the connection stops the work.
    """
    return EventStream(timings_events(session, work), "a measurement of costs")


async def timings_events(session: TimingsSession, work: JobQueue) -> AsyncGenerator[Event, None]:
    """Each point is one expensive job, so that measurements take turns with other work."""
    yield session.start()
    while point := (await work.run(session.step, kind="timings", patient=True)).value:
        yield point
    yield Event("done", {})
