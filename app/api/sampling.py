"""Sampling settings: the same for predictions and generations."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from chumoku.app.api.schema import Request

MAX_SEED = 2**53 - 1
"""The largest integer that a JavaScript number represents exactly."""


def zero_or_more_than_tiny(value: float) -> float:
    if 0 < value < 0.01:
        raise ValueError("must be 0 (greedy) or at least 0.01")
    return value


class Sampling(Request):
    temperature: Annotated[float, AfterValidator(zero_or_more_than_tiny)] = Field(
        default=0.8, ge=0, le=100, description="Divides the logits: 0 is greedy, otherwise 0.01 to 100."
    )
    top_k: int = Field(default=20, ge=0, le=1_000_000, description="Keep the k most likely tokens; 0 keeps all.")
    top_p: float = Field(
        default=0.95,
        gt=0,
        le=1,
        description="Then keep the most likely tokens that reach this probability; 1 keeps all.",
    )


Candidates = Annotated[int, Field(ge=1, le=500, description="How many of the most likely tokens to list.")]
