"""The response of what attention costs, for the description of the API."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class TermInfo(BaseModel):
    what: str = Field(description="What is computed, or held.")
    of: list[str] = Field(description="Its factors: whole numbers and symbols.")


class CostInfo(BaseModel):
    name: str = Field(description="A mechanism, as in a model's config.")
    multiplications: list[TermInfo] = Field(description="Divisions included.")
    numbers: list[TermInfo] = Field(description="Held at once.")
    time: str = Field(description="The order of growth of the multiplications.")
    space: str = Field(description="The order of growth of the numbers.")
    steps: Literal["1", "T"] = Field(description="Steps that must follow each other.")
    path: Literal["1", "T"] = Field(description="Steps between two tokens far apart.")
    skewed: list[TermInfo] = Field(description="Those of the numbers that the skew of relative positions holds.")
    naive: list[TermInfo] = Field(description="What the formula as it is written would hold in their place.")


class CostResponse(BaseModel):
    own: str | None = Field(description="The model's mechanism; null: it does not say what it costs.")
    sizes: dict[str, int] = Field(description="The symbols that do not depend on T: d, h, s, r, c, d_k.")
    forms: list[CostInfo]
