"""What all requests share: strictness, bounded numbers, and the name of a model."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Index = Annotated[int, Field(ge=0)]
MAX_FIELDS = 50


def distinct(values: list[int]) -> list[int]:
    if len(set(values)) < len(values):
        raise ValueError("the same number appears twice")
    return values


Indices = Annotated[list[Index], Field(min_length=1, max_length=4096, fail_fast=True), AfterValidator(distinct)]
Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=256, fail_fast=True)]
"""Of tensors or parameters; `*` and `?` as in a shell. Like every list of a request it ends at its first error: a
million of them would take seconds."""


class Request(BaseModel):
    """A part of a request."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def few_fields(cls, data: object) -> object:
        """An error for each of 100,000 unknown fields would take seconds."""
        if isinstance(data, dict) and len(data) > MAX_FIELDS:
            raise ValueError(f"it has {len(data)} fields, more than exist")
        return data


ModelName = Annotated[
    str | None,
    Field(
        max_length=200, description="A name from `GET /api/models`. Default: its `default`.", examples=["stories-gpt"]
    ),
]


class ModelRequest(Request):
    """A request about a model itself, without a sentence."""

    model: ModelName = None
