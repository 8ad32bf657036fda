"""The models."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.api.answer import REFUSALS, Answers
from app.api.models.answer import ModelDetail, ModelsResponse
from app.http.deps import LibraryDep
from app.services.models import all_models, detailed

UNKNOWN: Answers = {status: REFUSALS[status] for status in (404, 422)}

router = APIRouter(prefix="/api", tags=["models"])


@router.get("/models", response_model=ModelsResponse)
async def models(library: LibraryDep) -> dict[str, Any]:
    """All models: their shape and their card. No weights are loaded for this."""
    return all_models(library)


@router.get("/models/{name}", response_model=ModelDetail, responses=UNKNOWN)
async def model(name: str, library: LibraryDep) -> dict[str, Any]:
    """One model, or a snapshot of it (`name@step`), with its description: its stacks, attentions, roles, tensors and
    parameters."""
    return detailed(library.find(name), str(library.device))
