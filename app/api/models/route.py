"""Which models there are."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.api.models.answer import ModelsResponse
from app.http.deps import LibraryDep
from app.services.library import describe

router = APIRouter(prefix="/api", tags=["models"])


@router.get("/models", response_model=ModelsResponse)
async def models(library: LibraryDep) -> dict[str, Any]:
    """All models: their shape, their card, and the names and dimensions of the tensors that a trace can give."""
    return {"default": library.default, "models": [describe(model) for model in library.checkpoints.values()]}
