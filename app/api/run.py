"""A run: what a model reads, and how. The same JSON in requests, saved traces and links.

Strict: unknown fields, text in place of a number, NaN and infinity are refused, never coerced.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from chumoku.app.api.schema import Index, ModelName, Request
from chumoku.app.services.interventions import Intervention
from chumoku.app.services.interventions.kinds import Patch

MAX_IDS = 65_536
MAX_HIDDEN = 4096
MAX_CHANGES, MAX_PATCHES = 512, 64
"""Most interventions of a run, with those of the source runs of its patches; and most patches among them."""
MAX_SIDE = 256
MAX_SPELT = 4 * 1024**2
"""Of the largest picture that any model reads, 1,024 × 1,024 in three colours."""
TokenIds = Annotated[list[int], Field(max_length=MAX_IDS, fail_fast=True)]
TokenTypes = Annotated[list[Index], Field(max_length=MAX_IDS, fail_fast=True)]


Rows = Annotated[
    list[Annotated[list[int], Field(max_length=MAX_SIDE, fail_fast=True)]], Field(max_length=MAX_SIDE, fail_fast=True)
]
Spelt = Annotated[str, Field(max_length=MAX_SPELT)]
Pixels = Annotated[
    Annotated[Rows, Tag("#rows")] | Annotated[Spelt, Tag("#bytes")],
    Discriminator(lambda value: "#bytes" if isinstance(value, str) else "#rows"),
]
"""Levels, or bytes in base64. A tag that begins with # is not a field (`http/handlers.py`)."""


class Input(Request):
    """A sentence as text or as ids, or a picture: exactly one of the three. Text may have a second text, `pair`."""

    text: str | None = Field(default=None, description="The sentence.", examples=["Once upon a time"])
    special: bool = Field(
        default=False, description="Read names of special tokens in `text` ([MASK]) as these tokens, not as text."
    )
    add_special_tokens: bool = Field(
        default=True,
        description="Put what the model reads around a sentence around it ([CLS], <s>). The text of a chat already has "
        "these.",
    )
    pair: str | None = Field(
        default=None,
        description="A second text that is read after `text`, joined as the model's tokenizer joins two (premise and "
        "hypothesis, question and context).",
        examples=["A person is outside."],
    )
    token_ids: TokenIds | None = Field(default=None, description="The sentence as token ids, instead of `text`.")
    token_type_ids: TokenTypes | None = Field(
        default=None,
        description="The token type of each of `token_ids`, where a model tells two texts apart (BERT's segments). "
        "Default: 1 after what its tokenizer puts between two texts, otherwise 0.",
    )
    pixels: Pixels | None = Field(
        default=None,
        description="A picture, for a model that has a `picture`: its rows, of whole numbers from 0 to `levels` − 1; "
        "where the `picture` has `channels`, its bytes [row column channel] in base64 "
        "(`POST /api/models/{name}/pixels` makes them from a PNG or JPEG).",
    )

    @model_validator(mode="after")
    def one_of_three(self) -> Self:
        if sum(given is not None for given in (self.text, self.token_ids, self.pixels)) != 1:
            raise ValueError("give either text, token_ids or pixels, one of the three")
        if self.special and self.text is None:
            raise ValueError("special says how text is read: give text, too")
        if self.pair is not None and self.text is None:
            raise ValueError("pair is read after text: give text, too")
        if not self.add_special_tokens and (self.pair is not None or self.pixels is not None):
            raise ValueError("add_special_tokens is about one text, or token_ids: leave it out")
        if self.token_type_ids is not None and len(self.token_type_ids) != len(self.token_ids or []):
            raise ValueError("token_type_ids has one number for each of token_ids")
        return self

    def to_json(self) -> dict[str, Any]:
        """Without what has its default."""
        usual = {"special": False, "add_special_tokens": True}
        found = self.model_dump(exclude_none=True)
        return {name: value for name, value in found.items() if name not in usual or value != usual[name]}


EMPTY = Input.model_construct()
"""To be copied, with what it is about: making one takes ten times as long."""


class MaskSwitches(Request):
    causal: bool | None = Field(
        default=None,
        description="No query sees a later key, in the stack that predicts. Default: as trained.",
    )
    padding: bool = Field(default=True, description="No query sees a PAD.")


class Pad(Request):
    count: int = Field(default=0, ge=0, le=4096, description="How many PAD tokens to add.")
    side: Literal["left", "right"] = Field(default="left", description="The side on which they are added.")
    follow: bool = Field(
        default=True,
        description="Position ids follow the padding mask: while it is on, a PAD takes no position. "
        "Otherwise a PAD counts like any token.",
    )
    hidden: list[Index] = Field(
        default=[],
        max_length=MAX_HIDDEN,
        fail_fast=True,
        description="Positions of the patches of a picture that are hidden: keys that the padding mask forbids. "
        "They stay where they are.",
    )


def few_changes(value: object) -> object:
    """Counts interventions before validating any of them, those of source runs included."""
    lists, changes, patches = [value], 0, 0
    while lists:
        found = lists.pop()
        if isinstance(found, list):
            changes += len(found)
            if changes > MAX_CHANGES:
                raise ValueError(f"these are more than {MAX_CHANGES} interventions. {WHOLE_CELLS}")
            others = [one for one in found if isinstance(one, dict) and "from" in one]
            patches += len(others)
            lists += [one["from"].get("interventions") for one in others if isinstance(one["from"], dict)]
    if patches > MAX_PATCHES:
        raise ValueError(f"these are {patches} patches, and at most {MAX_PATCHES} are allowed. {WHOLE_ROWS}")
    return value


WHOLE_CELLS = "A mask edit without query, key or head is about a whole row, column or layer"
WHOLE_ROWS = "A patch without query or head replaces all rows of all heads"
Changes = Annotated[list[Intervention], Field(max_length=MAX_CHANGES, fail_fast=True), BeforeValidator(few_changes)]


class RunRequest(Request):
    """A run: a sentence, its target, masks, PADs and interventions."""

    model: ModelName = None
    input: Input | None = Field(default=None, description="The sentence.")
    text: str | None = Field(default=None, description="Short for `input.text`.", examples=["Once upon a time"])
    token_ids: TokenIds | None = Field(default=None, description="Shorthand for `input.token_ids`.")
    pixels: Pixels | None = Field(default=None, description="Shorthand for `input.pixels`.")
    target: str | None = Field(
        default=None, description="What an encoder-decoder reads as written so far; empty: START alone."
    )
    target_ids: TokenIds | None = Field(
        default=None, description="The target as token ids, instead of `target`; START may be omitted."
    )
    masks: MaskSwitches = Field(default=MaskSwitches(), description="Which masks are on.")
    pad: Pad = Field(default=Pad(), description="PAD tokens before or after the sentence.")
    interventions: Changes = Field(
        default=[],
        description="Changes to make while the model runs, in this order.",
        examples=[[{"kind": "ablate", "where": {"layer": 0, "head": 3}}]],
    )

    @model_validator(mode="after")
    def one_input(self) -> Self:
        if sum(given is not None for given in (self.input, self.text, self.token_ids, self.pixels)) != 1:
            raise ValueError("give either text, token_ids or pixels, one of the three (or input with one)")
        return self

    @model_validator(mode="after")
    def at_most_one_target(self) -> Self:
        if self.target is not None and self.target_ids is not None:
            raise ValueError("give target or target_ids, not both")
        return self

    @property
    def sentence(self) -> Input:
        """The sentence, however it was given."""
        given = {"text": self.text, "token_ids": self.token_ids, "pixels": self.pixels}
        return self.input or EMPTY.model_copy(update=given)

    def to_json(self, first: str | None) -> dict[str, Any]:
        """The run alone, without the other fields of a request; `first` is the id of the model's first attention."""
        sentence = self.sentence
        return {
            "model": self.model,
            "input": sentence.to_json(),
            "target": self.target,
            "target_ids": self.target_ids,
            "masks": self.masks.model_dump(),
            "pad": self.pad.model_dump(exclude=None if self.pad.hidden else {"hidden"}),
            "interventions": [item.to_json(first) for item in self.interventions],
        }


Patch.model_rebuild(_types_namespace={"RunRequest": RunRequest})
RunRequest.model_rebuild()
