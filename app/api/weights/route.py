"""A model's parameters."""

from __future__ import annotations

from fastapi import APIRouter, Response

from chumoku.app.api.answer import BUSY, REFUSALS
from chumoku.app.api.weights.answer import WEIGHTS_ANSWER
from chumoku.app.api.weights.schema import WeightsRequest
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.responder import ResponderDep
from chumoku.app.services.models import weights_answer

router = APIRouter(prefix="/api", tags=["models"], route_class=JsonRoute)


@router.post("/weights", response_class=Response, responses={200: WEIGHTS_ANSWER, **REFUSALS, **BUSY})
async def weights(request: WeightsRequest, responder: ResponderDep) -> Response:
    """A model's parameters as a safetensors body in float32: those that `want` names, at most 64 MB at once.

    A matrix W [out in] is used as x·Wᵀ + b. A tied matrix is listed under each of its names.
    """
    return await responder.tensors(request, weights_answer)
