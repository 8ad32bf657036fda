"""The responses of health checks."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from chumoku.app.api.answer import ErrorResponse


class Health(BaseModel):
    status: str = Field(examples=["ok"])


class Readiness(BaseModel):
    status: str = Field(examples=["ready"])
    models: list[str]
    loaded: list[str] = Field(description="Models that were used and are still in memory.")
    jobs: int = Field(description="Jobs that run or wait.")
    places: int = Field(description="Jobs that may run or wait; one more gets 503.")
    streams: int = Field(description="Open generations.")


METRICS_ANSWER: dict[str, Any] = {
    "description": "The text format of Prometheus.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}
ONLY_LOCAL: dict[str, Any] = {"model": ErrorResponse, "description": "`only_local`: asked from another machine."}
