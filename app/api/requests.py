"""Requests: to tokenize, trace, generate, translate, and for parameters. Those for explanations are in `explain/`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from chumoku.app.api.run import MAX_IDS, RunRequest
from chumoku.app.api.schema import (
    LONGEST_NAME,
    MAX_SEED,
    Candidates,
    Indices,
    ModelName,
    ModelRequest,
    Names,
    Request,
    Sampling,
    Texts,
)


class TokenizeRequest(Request):
    model: ModelName = None
    text: str = Field(description="What to tokenize; may be empty.", examples=["Once upon a time"])
    compare: bool = Field(
        default=False, description="Also count it under tiktoken's public encodings, if their files are present."
    )


class OpenRequest(Request):
    model: str = Field(
        min_length=1,
        max_length=LONGEST_NAME,
        description="A folder of the models directory, or an id of Hugging Face's hub.",
        examples=["openai-community/gpt2"],
    )


class Turn(Request):
    """What one says in a chat."""

    role: str = Field(min_length=1, max_length=64, examples=["user"])
    content: str = Field(examples=["Why is the sky blue?"])


class ChatRequest(Request):
    messages: Annotated[list[Turn], Field(min_length=1, max_length=256, fail_fast=True)] = Field(
        description="The turns: system, user and assistant, as the model's template takes them."
    )
    generation_prompt: bool = Field(default=True, description="Whether the assistant's next turn is begun.")


MAX_CANDIDATES = 2**15
"""Most candidates in one answer: positions × n."""


class Predict(Sampling):
    """The positions whose predictions to list, and the sampling settings."""

    positions: Indices | None = Field(
        default=None,
        description="Row t is about the token at t+1, or where the model `predicts` the `same` token, at t. In an "
        "encoder-decoder, rows are those of the target. Default: the last row that predicts.",
        examples=[[3]],
    )
    n: Candidates = 12

    @model_validator(mode="after")
    def not_too_many(self) -> Self:
        if self.listed > MAX_CANDIDATES:
            raise ValueError(f"positions × n is {self.listed}, more than {MAX_CANDIDATES}: list fewer of either")
        return self

    @property
    def listed(self) -> int:
        """How many candidates this lists, at most."""
        return self.n * (1 if self.positions is None else len(self.positions))


class Detail(Request):
    """More tensors of the same run, in float32: those of the open head, in addition to the overviews of all heads."""

    want: Names = Field(
        min_length=1,
        description="Tensors by name, as in `want`.",
        examples=[["layers.0.attn.q", "layers.0.attn.scores"]],
    )
    heads: Indices | None = Field(default=None, description="Only these heads, in this order.", examples=[[0]])


class TraceRequest(RunRequest):
    want: Names | None = Field(
        default=None,
        description="Tensors by name; `*` and `?` as in a shell. The names are in `GET /api/models/{name}` under "
        "`taps`. Default: the overview of every attention, its pattern.",
        examples=[["layers.0.attn.pattern", "layers.0.attn.mask"]],
    )
    layers: Indices | None = Field(default=None, description="Only these layers of each stack.", examples=[[0, 1]])
    heads: Indices | None = Field(default=None, description="Only these heads, in this order.", examples=[[0]])
    dtype: Literal["float32", "float16", "uint8"] = Field(
        default="float32",
        description="The dtype of float tensors. uint8 is round(255·x), for patterns only. A mask is always uint8.",
    )
    format: Literal["safetensors", "npz"] = Field(
        default="safetensors",
        description="npz is for `numpy.load`: the same arrays, with the metadata as `__metadata__`.",
    )
    describe: bool = Field(
        default=False,
        description="Put the model's whole description into the metadata, as in saved files.",
    )
    pooled: bool = Field(
        default=False,
        description="Pictures of heads: if all overviews together have more than 4 million weights, each cell of an "
        "overview is the largest of n × n weights, and of a mask 0 where any of its cells is allowed. The metadata's "
        "`pool` is n; 1: nothing was pooled.",
    )
    queries: Indices | None = Field(
        default=None,
        description="Only these rows of the tensors that have queries, in this order.",
        examples=[[3]],
    )
    predict: Predict | None = Field(default=None, description="List predicted tokens in the metadata's `predictions`.")
    detail: Detail | None = Field(
        default=None,
        description="More tensors in the same answer, in float32, with all rows, never pooled. Each is called "
        "`detail/` and its tap; the metadata's `detail` has the `heads`.",
    )
    whole: Names | None = Field(
        default=None,
        min_length=1,
        description="More tensors in the same answer, as in `detail`, with all heads. Each is called `whole/` and its "
        "tap.",
        examples=[["layers.*.attn.k", "layers.*.attn.v"]],
    )

    @model_validator(mode="after")
    def pooled_whole(self) -> Self:
        if self.pooled and self.queries is not None:
            raise ValueError("give either pooled or queries: a row of a pooled picture is not a row of the model's")
        return self

    @property
    def exact(self) -> dict[str, TraceRequest]:
        """What else is wanted exactly, as separate requests, by the field that asks for it: `detail` and `whole`."""
        plain = {"dtype": "float32", "layers": None, "pooled": False, "queries": None, "predict": None}
        plain |= {"detail": None, "whole": None}
        own: dict[str, dict[str, Any]] = {}
        if self.detail is not None:
            own["detail"] = {"want": self.detail.want, "heads": self.detail.heads}
        if self.whole is not None:
            own["whole"] = {"want": self.whole, "heads": None}
        return {field: self.model_copy(update=plain | wanted) for field, wanted in own.items()}


class GenerateRequest(RunRequest, Sampling):
    seed: int = Field(
        default=7, ge=0, le=MAX_SEED, description="The draw of the token at index i depends only on (seed, i)."
    )
    max_new_tokens: int = Field(
        default=32, ge=1, description="Stop after this many tokens, at most the server's limit.", examples=[8]
    )
    stop: Texts = Field(
        default=[], description="End after the token that completes one of these texts.", examples=[[".", "!"]]
    )
    begin: str | None = Field(
        default=None,
        max_length=1000,
        description="The answer begins with this text: its tokens are written first, with `u` null.",
        examples=[" there was"],
    )
    n_written: int = Field(
        default=0,
        ge=0,
        le=MAX_IDS,
        description="How many of the last ids are the answer so far. `begin` covers them, too: of it, what is left is "
        "written, or nothing if they differ from it.",
    )
    n: Candidates = 12
    rows: bool = Field(
        default=True,
        description="Send the new token's weights in every layer and head, for each attention (by its id) of the stack "
        "that writes.",
    )
    cache: bool = Field(
        default=True,
        description="Keep the keys and values of what was read. Off, each step reads all tokens again: the same text, "
        "to see what the cache saves.",
    )


MAX_WAYS = 16


class WaysRequest(GenerateRequest):
    """Ways on from one text."""

    ways: int = Field(
        default=10, ge=1, le=MAX_WAYS, description="How many; way i draws with the seed `seed` + 1 + i.", examples=[3]
    )

    @model_validator(mode="after")
    def seeds_exist(self) -> Self:
        if self.seed + self.ways > MAX_SEED:
            raise ValueError(f"the last way's seed is {self.seed + self.ways}, more than {MAX_SEED}")
        return self


MAX_BEAMS = 16


class SearchRequest(RunRequest):
    """A beam search, and what it may write."""

    beams: int = Field(default=4, ge=1, le=MAX_BEAMS, description="Texts followed side by side; 1 is greedy.")
    alpha: float = Field(
        default=0.6, ge=0, le=10, description="Length penalty: texts are ranked by log p / ((5 + n) / 6)^alpha."
    )
    banned: Texts = Field(default=[], description="Texts that are not written, as in `/api/generate`.")
    stop: Texts = Field(
        default=[], description="A beam ends after the token that completes one of these texts.", examples=[[".", "!"]]
    )


class TranslateRequest(SearchRequest):
    @field_validator("target", "target_ids")
    @classmethod
    def no_target(cls, given: object) -> object:
        if given is not None:
            raise ValueError("beam search writes the whole target: leave this out, or use /api/generate to continue it")
        return given


class BeamsRequest(SearchRequest):
    max_new_tokens: int = Field(
        default=16, ge=1, description="The longest text, at most the server's limit.", examples=[4]
    )


class WeightsRequest(ModelRequest):
    want: Names = Field(
        min_length=1,
        description="Parameters by name; `*` and `?` as in a shell. Names: `weights` in `GET /api/models/{name}`.",
        examples=[["layers.0.attn.w_q.weight"]],
    )
    rows: Indices | None = Field(
        default=None, description="Only these indices of the first dimension, in this order.", examples=[[0, 1]]
    )
    columns: Indices | None = Field(
        default=None, description="Only these of the second: of W_O, say, those of one head.", examples=[[0, 1]]
    )
