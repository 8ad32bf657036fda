"""What all parts of requests have in common: strictness, and numbers with limits."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Index = Annotated[int, Field(ge=0)]
MAX_FIELDS = 50


def distinct(values: list[int]) -> list[int]:
    if len(set(values)) < len(values):
        raise ValueError("the same number is there twice")
    return values


def zero_or_more_than_tiny(value: float) -> float:
    if 0 < value < 0.01:
        raise ValueError("must be 0 (greedy) or at least 0.01")
    return value


Indices = Annotated[list[Index], Field(min_length=1, max_length=4096), AfterValidator(distinct)]


class Request(BaseModel):
    """A part of a request."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def few_fields(cls, data: object) -> object:
        """A complaint about each of 100,000 unknown fields would take seconds."""
        if isinstance(data, dict) and len(data) > MAX_FIELDS:
            raise ValueError(f"it has {len(data)} fields, more than there are")
        return data
