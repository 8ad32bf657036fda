"""The lines of the model's code that compute a formula."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from chumoku.app.api.answer import REFUSALS, Answers
from chumoku.app.api.source.answer import SourceResponse
from chumoku.app.errors import unknown_name
from chumoku.model.source_code import SOURCES
from chumoku.model.source_code import source as lines_of

UNKNOWN: Answers = {404: {**REFUSALS[404], "description": "`unknown_source`"}, 422: REFUSALS[422]}

router = APIRouter(prefix="/api", tags=["models"])


@router.get("/source/{function}", response_model=SourceResponse, responses=UNKNOWN)
async def source(function: str) -> dict[str, Any]:
    """A function of the model's code, read from the file that runs: `attend`, `masked_softmax`, `causal` …"""
    if function not in SOURCES:
        raise unknown_name("unknown_source", "source", function, list(SOURCES), status=404)
    return asdict(lines_of(function))
