"""What health checks answer."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Health(BaseModel):
    status: str = Field(examples=["ok"])


class Readiness(BaseModel):
    status: str = Field(examples=["ready"])
    models: list[str]
    jobs: int = Field(description="Model work that runs or waits.")
    places: int = Field(description="How much of it may; one more is answered with 503.")
    streams: int = Field(description="Generations that are open.")


METRICS_ANSWER: dict[str, Any] = {
    "description": "Prometheus' text format.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}
