"""What requests for explanations may say."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from app.api.run import Run
from app.api.schema import Index, ModelRequest

MAX_K = 100
Stack = Annotated[
    str | None,
    Field(max_length=20, description="`encoder` or `decoder`; a model of one stack: left out.", examples=["decoder"]),
]


class LensRequest(Run):
    k: int = Field(default=5, ge=1, le=MAX_K, description="How many of the likeliest answers to list.")


class AnswerRequest(Run):
    """A run, and which of its answers is explained."""

    answer: Index | None = Field(
        default=None, description="A token id, or a class's place in `classes`; left out: the model's own first."
    )
    row: Index | None = Field(
        default=None, description="The position that predicts, PADs counted; left out: the last, or [CLS]."
    )


class ContributionsRequest(AnswerRequest):
    against: Index | None = Field(default=None, description="Explain logit[answer] − logit[against].")


class GradientsRequest(AnswerRequest):
    pass


class HeadsRequest(Run):
    pass


class UnitsRequest(Run):
    k: int = Field(default=8, ge=1, le=MAX_K, description="How many units of a token, or tokens of a unit, to list.")
    unit: Index | None = Field(default=None, description="Tell this unit's strongest tokens too; goes with `layer`.")
    layer: Index | None = Field(default=None, description="The layer of `unit`.")
    stack: Stack = Field(default=None, description="The stack of `unit`: `encoder` or `decoder`; left out: the first.")

    @model_validator(mode="after")
    def unit_of_a_layer(self) -> Self:
        if (self.unit is None) != (self.layer is None):
            raise ValueError("give unit and layer together, or neither")
        return self


class SwapRequest(Run):
    i: Index = Field(description="One place of the source, PADs and [CLS] counted.", examples=[1])
    j: Index = Field(description="The other.", examples=[2])


class ResidualRequest(Run):
    pass


class NeighboursRequest(ModelRequest):
    token_id: Index = Field(description="Whose embedding's neighbours.", examples=[100])
    k: int = Field(default=10, ge=1, le=MAX_K, description="How many.")
    measure: Literal["cosine", "dot"] = Field(default="cosine", description="What ranks them; both are told.")


class PositionsRequest(ModelRequest):
    length: int | None = Field(default=None, ge=1, description="How many positions; left out: the model's window.")
    prefix: Stack = Field(default=None, description="`encoder.` or `decoder.`; left out: the stack of the source.")


class ParametersRequest(ModelRequest):
    pass
