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


class TokenizeResponse(BaseModel):
    model: str
    text: str
    tokens: list[Token]
    n_tokens: int
    n_characters: int
    max_seq_len: int = Field(description="Most tokens that the model reads.")


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
    "description": "A safetensors body; the metadata's `chumoku` is JSON text: version, model, text, tokens, "
    "n_characters, max_seq_len, dims, heads, masks, pad, dtype, scale, position_ids, seconds, predictions.",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
