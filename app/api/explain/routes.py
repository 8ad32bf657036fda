"""Explanations: what `model/explain` and `model/attribution` compute from a run, or from the model alone.

Those that are measured step by step are in `streams.py`.
"""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Response

from chumoku.app.api.answers import BUSY, REFUSALS, Answers
from chumoku.app.api.explain.answers import (
    POSITIONS_ANSWER,
    ContributionsResponse,
    CostResponse,
    GradientsResponse,
    InductionResponse,
    LensResponse,
    NeighboursResponse,
    ParametersResponse,
    VocabularyResponse,
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
    ChangesRequest,
    ContributionsRequest,
    CostRequest,
    DropoutRequest,
    ForcingRequest,
    GradientsRequest,
    HeadsRequest,
    InductionRequest,
    LensRequest,
    NeighboursRequest,
    ParametersRequest,
    PositionsRequest,
    PrefixRequest,
    ResidualRequest,
    RouteRequest,
    SwapRequest,
    UnitsRequest,
    VocabularyRequest,
    WritesRequest,
)
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.responder import ResponderDep
from chumoku.app.services.explain import answers, costs, layers, river_answer, tables, training
from chumoku.app.services.metrics import Kind

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
    return await responder.explain_run(request, answers.lens, "lens", kind="long")


@router.post("/contributions", response_model=ContributionsResponse, responses=RESPONSES)
async def contributions(request: ContributionsRequest, responder: ResponderDep) -> Response:
    """A logit as a sum: what the embedding, each head and each FFN wrote to the stream, projected onto the logit.

    The scale of each LayerNorm on the way is held fixed at its value in this run (`scales`).
    """
    return await responder.explain_run(request, answers.contributions)


@router.post("/writes", response_model=WritesResponse, responses=RESPONSES)
async def writes(request: WritesRequest, responder: ResponderDep) -> Response:
    """What one head writes to a row, key by key: what it adds to a logit, and the answers that it favours.

    The scale of each LayerNorm on the way is held fixed, as in `/contributions`, whose term of the head is the sum.
    """
    return await responder.explain_run(request, answers.writes, "contributions")


@router.post("/gradients", response_model=GradientsResponse, responses=RESPONSES)
async def gradients(request: GradientsRequest, responder: ResponderDep) -> Response:
    """How the gradient of ln p(answer) reaches each layer, with and without residual connections."""
    return await responder.explain_run(request, answers.gradients, "gradients", kind="long")


@router.post("/heads", response_model=HeadsResponse, responses=RESPONSES)
async def heads(request: HeadsRequest, responder: ResponderDep) -> Response:
    """What each head attends to on this sentence: scores, and a label if one fits."""
    return await responder.explain_run(request, layers.heads, "heads", kind="long")


@router.post("/units", response_model=UnitsResponse, responses=RESPONSES)
async def units(request: UnitsRequest, responder: ResponderDep) -> Response:
    """The FFN units on this sentence: which fire, which never do, and the strongest of each token.

    With `unit` and `layer`, also the strongest tokens of that unit.
    """
    return await responder.explain_run(request, layers.units, "units")


@router.post("/swap", response_model=SwapResponse, responses=RESPONSES)
async def swap(request: SwapRequest, responder: ResponderDep) -> Response:
    """What changes when two tokens of the source change places, with and without positions."""
    return await responder.explain_run(request, layers.swap, "swap", kind="long")


@router.post("/residual", response_model=ResidualResponse, responses=RESPONSES)
async def residual(request: ResidualRequest, responder: ResponderDep) -> Response:
    """The residual streams: their length, what each sublayer adds, and what each LayerNorm changes."""
    return await responder.explain_run(request, layers.residual)


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
    service = partial(layers.changes, max_chars=responder.state.settings.max_text_chars)
    return await responder.explain_run(request, service, kind="long")


@router.post("/forcing", response_model=ForcingResponse, responses=RESPONSES)
async def forcing(request: ForcingRequest, responder: ResponderDep) -> Response:
    """Teacher forcing: the loss of every token from one pass, the labels being the text shifted by one."""
    return await responder.explain_run(request, training.forcing)


@router.post("/prefix", response_model=PrefixResponse, responses=RESPONSES)
async def prefix(request: PrefixRequest, responder: ResponderDep) -> Response:
    """Row `row` of one pass beside the last row of the run on its prefix: under a causal mask they are the same."""
    return await responder.explain_run(request, training.prefix)


@router.post("/dropout", response_model=DropoutResponse, responses=RESPONSES)
async def dropout(request: DropoutRequest, responder: ResponderDep) -> Response:
    """The sentence with dropout, as in training: what `n` runs removed, and how their losses differ."""
    return await responder.explain_run(request, training.dropout, kind="long")


@router.post("/neighbours", response_model=NeighboursResponse, responses=RESPONSES)
async def neighbours(request: NeighboursRequest, responder: ResponderDep) -> Response:
    """The tokens whose embeddings are nearest to that of one token."""
    return await responder.explain_model(request, tables.neighbours, "neighbours")


@router.post("/vocabulary", response_model=VocabularyResponse, responses=RESPONSES)
async def vocabulary(request: VocabularyRequest, responder: ResponderDep) -> Response:
    """A head over the vocabulary: what a token's query matches, what its value writes, and whether the head copies."""
    return await responder.explain_model(request, tables.vocabulary, "neighbours")


@router.post("/induction", response_model=InductionResponse, responses=RESPONSES)
async def induction(request: InductionRequest, responder: ResponderDep) -> Response:
    """Prefix matching and copying of every head, on random tokens that repeat."""
    return await responder.explain_model(request, tables.induction, "heads", kind="long")


@router.post("/positions", response_class=Response, responses={200: POSITIONS_ANSWER, **RESPONSES})
async def positions(request: PositionsRequest, responder: ResponderDep) -> Response:
    """The position table and the similarity of its rows, as a safetensors body.

    A sinusoid continues after the model's window (up to 8 times its length); learned positions do not.
    """
    return await responder.tensors(request, tables.positions, "positions")


@router.post("/parameters", response_model=ParametersResponse, responses=RESPONSES)
async def parameters(request: ParametersRequest, responder: ResponderDep) -> Response:
    """Where the model's parameters are: counted by part, stack and layer, with tied matrices marked."""
    return await responder.explain_model(request, tables.parameters, "parameters")


@router.post("/cost", response_model=CostResponse, responses=RESPONSES)
async def cost(request: CostRequest, responder: ResponderDep) -> Response:
    """What one layer's attention costs in every mechanism: multiplications and numbers held, as sums of products.

    A factor is a whole number or a symbol: T tokens, `sizes`, 2T−1 distances, or `near`, the pairs with 0 ≤ t − i < s.
    Projections are not counted: they are 4Td² in every form. `own` is the model's mechanism.
    """
    return await responder.explain_model(request, costs.cost)
