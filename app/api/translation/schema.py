"""Requests to translate."""

from __future__ import annotations

from pydantic import Field, field_validator

from chumoku.app.api.run import RunRequest

MAX_BEAMS = 16


class TranslateRequest(RunRequest):
    beams: int = Field(default=4, ge=1, le=MAX_BEAMS, description="Targets followed side by side; 1 is greedy.")
    alpha: float = Field(
        default=0.6, ge=0, le=10, description="Length penalty: hypotheses are ranked by log p / ((5 + n) / 6)^alpha."
    )

    @field_validator("target", "target_ids")
    @classmethod
    def no_target(cls, given: object) -> object:
        if given is not None:
            raise ValueError("a search writes the whole target: leave this out, or use /api/generate to continue it")
        return given
