"""Health checks and metrics, for the machines that monitor the server."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field

from chumoku.app.api.answers import ErrorResponse
from chumoku.app.http.deps import JobQueueDep, LibraryDep, MetricsDep


class Health(BaseModel):
    status: str = Field(examples=["ok"])


class Readiness(BaseModel):
    status: str = Field(examples=["ready"])
    models: list[str]
    loaded: list[str] = Field(description="Models in memory.")
    jobs: int = Field(description="Jobs that run or wait.")
    places: int = Field(description="Jobs that may run or wait; one more gets 503.")
    streams: int = Field(description="Open generations.")


METRICS_ANSWER: dict[str, Any] = {
    "description": "The text format of Prometheus.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}
ONLY_LOCAL: dict[str, Any] = {"model": ErrorResponse, "description": "`only_local`: requested from another machine."}


router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=Health)
async def healthz() -> dict[str, str]:
    """Whether the process is up."""
    return {"status": "ok"}


@router.get("/readyz", response_model=Readiness)
async def readyz(library: LibraryDep, work: JobQueueDep) -> dict[str, Any]:
    """The models, which of them are loaded, and how busy the server is."""
    return {
        "status": "ready",
        "models": library.names,
        "loaded": library.loaded,
        "jobs": work.taken,
        "places": work.places,
        "streams": work.streaming,
    }


@router.get("/metrics", response_class=Response, responses={200: METRICS_ANSWER, 403: ONLY_LOCAL})
def metrics(metrics: MetricsDep) -> Response:
    """Requests, model work, queue, streams and tokens as numbers, for Prometheus. No text and no names."""
    return Response(metrics.page(), media_type=CONTENT_TYPE_LATEST)
