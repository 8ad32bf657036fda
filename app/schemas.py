"""What requests may say. Strict: unknown fields, text for a number, NaN and infinity are refused, never guessed at."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from app.schema_base import Index, Indices, Request, zero_or_more_than_tiny

MAX_IDS = 65_536
MAX_BEAMS = 16
MAX_SEED = 2**53 - 1
"""The largest integer that JavaScript's numbers hold exactly."""

ModelName = Annotated[
    str | None,
    Field(max_length=200, description="A name of `GET /api/models`; left out: its default.", examples=["stories-gpt"]),
]


class TokenizeRequest(Request):
    model: ModelName = None
    text: str = Field(description="What to tokenize; may be empty.", examples=["Once upon a time"])
    compare: bool = Field(
        default=False, description="Count it under tiktoken's public encodings too, where their files are present."
    )


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


class Sampling(Request):
    temperature: Annotated[float, AfterValidator(zero_or_more_than_tiny)] = Field(
        default=0.8, ge=0, le=100, description="Divides the logits: 0 is greedy, else 0.01 to 100."
    )
    top_k: int = Field(default=20, ge=0, le=1_000_000, description="Keep the k likeliest tokens; 0 keeps all.")
    top_p: float = Field(
        default=0.95, gt=0, le=1, description="Then keep the likeliest tokens that reach this probability; 1 keeps all."
    )


Candidates = Annotated[int, Field(ge=1, le=500, description="How many of the likeliest tokens to list.")]


class Predict(Sampling):
    """Which positions' next tokens to list, and under which sampling settings."""

    positions: Indices = Field(
        description="Row t is about the token at t+1; an encoder-decoder's rows are its target's.", examples=[[3]]
    )
    n: Candidates = 12


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


class TraceRequest(RunRequest):
    want: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default=["*.pattern"],
        max_length=256,
        description="Tensors by name; `*` and `?` as in a shell. The names are in `GET /api/models` under `taps`.",
        examples=[["layers.0.attn.pattern", "layers.0.attn.mask"]],
    )
    layers: Indices | None = Field(
        default=None, description="Only these layers, of each stack, of what `want` names.", examples=[[0, 1]]
    )
    heads: Indices | None = Field(default=None, description="Only these heads, in this order.", examples=[[0]])
    dtype: Literal["float32", "float16", "uint8"] = Field(
        default="float32",
        description="Of float tensors. uint8 is round(255·x), for patterns only. A mask is always uint8.",
    )
    format: Literal["safetensors", "npz"] = Field(
        default="safetensors", description="npz is for `numpy.load`: the same arrays, the metadata as `__metadata__`."
    )
    predict: Predict | None = Field(default=None, description="List next tokens in the metadata's `predictions`.")


class GenerateRequest(WithTarget, Sampling):
    seed: int = Field(
        default=7, ge=0, le=MAX_SEED, description="The draw of the token at index i depends on (seed, i) alone."
    )
    max_new_tokens: int = Field(
        default=32, ge=1, description="Stop after so many; the server has a limit.", examples=[8]
    )
    n: Candidates = 12
    rows: bool = Field(default=True, description="Send the new token's attention rows in all layers and heads.")


class TranslateRequest(Sentence):
    beams: int = Field(default=4, ge=1, le=MAX_BEAMS, description="Targets followed side by side; 1 is greedy.")
    alpha: float = Field(
        default=0.6, ge=0, le=10, description="Length penalty: hypotheses are ranked by log p / ((5 + n) / 6)^alpha."
    )
