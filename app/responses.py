"""What answers look like, for the API page and for clients that read the schema."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Token(BaseModel):
    index: int = Field(description="0-based place in the sentence.")
    id: int
    bytes: str = Field(description="The token's bytes in hexadecimal.", examples=["2074696d65"])
    text: str = Field(description="The bytes as text; � where they are only part of a character.", examples=[" time"])
    start: int = Field(description="First character (code point) that the token has a byte of.")
    end: int = Field(description="One past the last.")
    partial: bool = Field(description="Whether the bytes begin or end inside a character.")
    special: bool = Field(description="END or PAD, which stand for no characters.")


class EncodingCount(BaseModel):
    name: str = Field(examples=["cl100k_base"])
    available: bool = Field(description="Whether its files are on the server.")
    n_tokens: int | None = Field(description="How many tokens it makes of the text.")
    hint: str | None = Field(description="How to get its files, where they are not there.")


class TokenizeResponse(BaseModel):
    model: str
    text: str
    tokens: list[Token]
    n_tokens: int
    n_characters: int
    max_seq_len: int = Field(description="Most tokens that the model reads.")
    encodings: list[EncodingCount] = Field(description="With `compare`: the same text under tiktoken's encodings.")


class TapInfo(BaseModel):
    name: str = Field(examples=["layers.0.attn.pattern"])
    dims: str = Field(description="Names of the dimensions, in order.", examples=["head query key"])


class ModelInfo(BaseModel):
    name: str
    family: str
    n_layer: int
    n_head: int
    d_model: int
    d_head: int
    d_ff: int
    vocab_size: int
    max_seq_len: int
    position: str
    norm_order: str
    tie_embeddings: bool
    n_parameters: int
    end_id: int = Field(description="The id that ends a text.")
    pad_id: int
    device: str
    card: dict[str, Any] = Field(description="What the model was trained on, how, and how good it is.")
    taps: list[TapInfo] = Field(description="The tensors that a trace can give.")


class ModelsResponse(BaseModel):
    default: str = Field(description="The model that a request without a name gets.")
    models: list[ModelInfo]


class Health(BaseModel):
    status: str = Field(examples=["ok"])


class Readiness(BaseModel):
    status: str = Field(examples=["ready"])
    models: list[str]
    jobs: int = Field(description="Model work that runs or waits.")
    places: int = Field(description="How much of it may; one more is answered with 503.")
    streams: int = Field(description="Generations that are open.")


class ErrorDetail(BaseModel):
    code: str = Field(description="For programs.", examples=["too_long"])
    message: str = Field(description="What was wrong.")
    where: str | None = Field(default=None, description="The field.", examples=["text"])
    got: int | float | str | None = None
    limit: int | float | None = None
    known: list[str | int] | None = Field(default=None, description="The names there are.")
    hint: str = Field(description="What to do.")


class ErrorResponse(BaseModel):
    error: ErrorDetail


Answers = dict[int | str, dict[str, Any]]

REFUSALS: Answers = {
    400: {"model": ErrorResponse, "description": "The body is no JSON in UTF-8."},
    404: {"model": ErrorResponse, "description": "`unknown_model`"},
    413: {"model": ErrorResponse, "description": "`body_too_large`"},
    422: {"model": ErrorResponse, "description": "Something in the request is wrong: `code` and `message` say what."},
}
BUSY: Answers = {
    503: {"model": ErrorResponse, "description": "`full`: try again after the seconds in `Retry-After`."},
}


def as_json(answers: Answers) -> Answers:
    """The same, said to be JSON also where the route itself answers with something else."""
    schema = {"$ref": f"#/components/schemas/{ErrorResponse.__name__}"}
    content = {"application/json": {"schema": schema}}
    return {status: {"description": about["description"], "content": content} for status, about in answers.items()}


TRACE_ANSWER: dict[str, Any] = {
    "description": "A safetensors (or .npz) body; the metadata's `chumoku` is JSON text: version, produced_by, model, "
    "config, end_id, pad_id, text, tokens, n_characters, max_seq_len, dims, heads, masks, pad, interventions, dtype, "
    "scale, position_ids, seconds, predictions.",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
METRICS_ANSWER: dict[str, Any] = {
    "description": "Prometheus' text format.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}
