"""What a request runs: a sentence, its target, masks, PADs and interventions.

Strict: unknown fields, text for a number, NaN and infinity are refused, never guessed at.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from app.api.schema import Index, ModelName, Request

MAX_IDS = 65_536


class Sentence(Request):
    """A sentence as text or as ids: exactly one of the two."""

    model: ModelName = None
    text: str | None = Field(default=None, description="The sentence.", examples=["Once upon a time"])
    token_ids: Annotated[list[int], Field(max_length=MAX_IDS, fail_fast=True)] | None = Field(
        default=None, description="The sentence as token ids, in place of `text`."
    )

    @model_validator(mode="after")
    def one_of_two(self) -> Self:
        if (self.text is None) == (self.token_ids is None):
            raise ValueError("give either text or token_ids, one of the two")
        return self


class WithTarget(Sentence):
    """A sentence and, for an encoder-decoder, a target."""

    target: str | None = Field(
        default=None, description="What an encoder-decoder is to read as written so far; empty: START alone."
    )
    target_ids: Annotated[list[int], Field(max_length=MAX_IDS, fail_fast=True)] | None = Field(
        default=None, description="The target as token ids, in place of `target`; START may be left out."
    )

    @model_validator(mode="after")
    def at_most_one(self) -> Self:
        if self.target is not None and self.target_ids is not None:
            raise ValueError("give target or target_ids, not both")
        return self


class MaskSwitches(Request):
    causal: bool | None = Field(
        default=None,
        description="No query sees a later key, in the stack that predicts. Left out: as the model was trained.",
    )
    padding: bool = Field(default=True, description="No query sees a PAD.")


class Pad(Request):
    count: int = Field(default=0, ge=0, le=4096, description="How many PAD tokens to add.")
    side: Literal["left", "right"] = Field(default="left", description="Where they go.")
    follow: bool = Field(
        default=True,
        description="Position ids follow the padding mask: while it is on, a PAD takes no position. "
        "Otherwise a PAD counts like any token.",
    )


AttentionId = Annotated[
    str | None,
    Field(max_length=200, description="An id of the model's `attentions`; left out: the first.", examples=["self"]),
]


class AblateHead(Request):
    """Switch a head off: its output z is 0 before W_O."""

    kind: Literal["ablate_head"]
    attention: AttentionId = None
    layer: Index
    head: Index


class EditMask(Request):
    """Forbid one cell of one head's mask (reason `edited`), or allow it whatever forbade it."""

    kind: Literal["mask"]
    attention: AttentionId = None
    layer: Index
    head: Index
    query: Index
    key: Index
    allow: bool


Intervention = Annotated[AblateHead | EditMask, Field(discriminator="kind")]


class RunRequest(WithTarget):
    """What is run, and how: a sentence, its target, masks, PADs and changes."""

    masks: MaskSwitches = Field(default=MaskSwitches(), description="Which masks are on.")
    pad: Pad = Field(default=Pad(), description="PAD tokens to put around the sentence.")
    interventions: list[Intervention] = Field(
        default=[],
        max_length=4096,
        description="Changes to make while the model runs.",
        examples=[[{"kind": "ablate_head", "layer": 0, "head": 3}]],
    )
