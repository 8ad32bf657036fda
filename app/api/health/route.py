"""Health checks, for the machines that monitor the server."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from chumoku.app.api.health.answer import METRICS_ANSWER, ONLY_LOCAL, Health, Readiness
from chumoku.app.http.deps import LibraryDep, MetricsDep, WorkDep

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=Health)
async def healthz() -> dict[str, str]:
    """Whether the process is up."""
    return {"status": "ok"}


@router.get("/readyz", response_model=Readiness)
async def readyz(library: LibraryDep, work: WorkDep) -> dict[str, Any]:
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
