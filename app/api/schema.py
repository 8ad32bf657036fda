"""What requests share: strict validation, bounded numbers, the name of a model, sampling settings."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Index = Annotated[int, Field(ge=0)]
MAX_FIELDS = 50
LONGEST_NAME = 200
"""Most characters of a model's name."""


def distinct(values: list[int]) -> list[int]:
    if len(set(values)) < len(values):
        raise ValueError("the same number appears twice")
    return values


Indices = Annotated[list[Index], Field(min_length=1, max_length=4096, fail_fast=True), AfterValidator(distinct)]
Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=256, fail_fast=True)]
"""Of tensors or parameters; `*` and `?` as in a shell. Validation stops at the first error, as in every list of a
request: a million errors would take seconds."""


LONGEST_TEXT, MOST_TEXTS = 100, 50
Texts = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]], Field(max_length=MOST_TEXTS, fail_fast=True)
]
"""Short texts, of a token or a few."""


class Request(BaseModel):
    """A part of a request. Not to be modified, its lists included: defaults are shared."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # pydantic copies a default for each request

    @model_validator(mode="before")
    @classmethod
    def few_fields(cls, data: object) -> object:
        """Reporting each of 100,000 unknown fields would take seconds."""
        if isinstance(data, dict) and len(data) > MAX_FIELDS:
            raise ValueError(f"it has {len(data)} fields, more than exist")
        return data


ModelName = Annotated[
    str | None,
    Field(
        max_length=LONGEST_NAME,
        description="A name from `GET /api/models`. Default: its `default`.",
        examples=["stories-gpt"],
    ),
]


class ModelRequest(Request):
    """A request about a model itself, without a sentence."""

    model: ModelName = None


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
    min_p: float = Field(
        default=0,
        ge=0,
        le=1,
        description="Then drop tokens less likely than this share of the most likely one; 0 keeps all.",
    )
    repetition_penalty: float = Field(
        default=1,
        ge=0.1,
        le=10,
        description="First of all, the logits of tokens in the text are divided by it, negative ones multiplied.",
    )
    banned: Texts = Field(
        default=[],
        description="Texts that are not written, as they stand and after a space: the last token of each is banned "
        "where the text ends with those before it. It follows the penalty.",
        examples=[["cat", "dog"]],
    )


Candidates = Annotated[int, Field(ge=1, le=500, description="How many of the most likely tokens to list.")]
