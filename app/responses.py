"""What answers look like, for the API page and for clients that read the schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class Token(BaseModel):
    index: int = Field(description="0-based place in the sentence.")
    id: int
    bytes: str = Field(description="The token's bytes in hexadecimal.", examples=["2074696d65"])
    text: str = Field(description="The bytes as text; � where they are only part of a character.", examples=[" time"])
    start: int = Field(description="First character (code point) that the token has a byte of.")
    end: int = Field(description="One past the last.")
    partial: bool = Field(description="Whether the bytes begin or end inside a character.")
    special: bool = Field(description="END, PAD, START or [CLS], which stand for no characters.")


class EncodingCount(BaseModel):
    name: str = Field(examples=["cl100k_base"])
    available: bool = Field(description="Whether its files are on the server.")
    n_tokens: int | None = Field(description="How many tokens it makes of the text.")
    hint: str | None = Field(description="How to get its files, where they are not there.")


class TokenizeResponse(BaseModel):
    model: str
    text: str
    read_text: str = Field(
        description="What the tokens spell and count their places in: the text in the form that the model reads."
    )
    tokens: list[Token] = Field(description="A classifier's begin with [CLS].")
    n_tokens: int
    n_characters: int = Field(description="Of `text`.")
    max_seq_len: int = Field(description="Most tokens that the model reads.")
    encodings: list[EncodingCount] = Field(description="With `compare`: the same text under tiktoken's encodings.")


class TapInfo(BaseModel):
    name: str = Field(examples=["layers.0.attn.pattern"])
    dims: str = Field(description="Names of the dimensions, in order.", examples=["head query key"])


class AttentionInfo(BaseModel):
    """One attention that every layer of a stack has."""

    id: str = Field(examples=["self"])
    path: str = Field(description="Its taps, without their last part.", examples=["layers.{layer}.attn"])
    queries: Literal["source", "target"] = Field(description="Whose tokens ask.")
    keys: Literal["source", "target"] = Field(description="Whose tokens are asked.")
    causal: bool = Field(description="Whether it was trained under a causal mask.")


class FirstToken(BaseModel):
    """The special token that a classifier's text, or an encoder-decoder's target, begins with."""

    id: int
    text: str = Field(examples=["[CLS]"])


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
    scale_embeddings: bool
    layer_norm_eps: float
    text_form: str = Field(description="How text is written before it is cut into tokens.", examples=["natural"])
    attentions: list[AttentionInfo] = Field(description="Where it attends, in the order of the forward pass.")
    classes: list[str] = Field(description="What a classifier tells apart; none in the other families.")
    languages: list[str] = Field(description="What it was trained on; an encoder-decoder's source, then its target.")
    n_parameters: int
    end_id: int = Field(description="The id that ends a text, or a target.")
    pad_id: int
    first: FirstToken | None
    device: str
    card: dict[str, Any] = Field(description="What the model was trained on, how, and how good it is.")
    units: dict[str, Any] | None = Field(
        description="The card's summary of FFN units over a corpus: of each FFN, which never fire and which always do."
    )
    weights: dict[str, list[int]] = Field(
        description="The parameters' names and shapes, for `POST /api/weights`.",
        examples=[{"layers.0.attn.w_q.weight": [256, 256]}],
    )
    taps: list[TapInfo] = Field(description="The tensors that a trace can give.")


class ModelsResponse(BaseModel):
    default: str = Field(description="The model that a request without a name gets.")
    models: list[ModelInfo]


class Note(BaseModel):
    """Something to know about an answer that is no error."""

    code: Literal["untrained_language"]
    language: str = Field(description="Of the text, or the name of its script.", examples=["ja"])
    trained: list[str] = Field(description="The languages that the model can read.")
    models: list[str] = Field(description="Other models that are loaded and know the language.")


class HypothesisInfo(BaseModel):
    text: str
    tokens: list[Token] = Field(description="Without START; with END where it has `ended`.")
    log_p: float = Field(description="ln p(target | source).")
    score: float = Field(description="log_p / ((5 + n_tokens) / 6)^alpha, by which they are ranked.")
    ended: bool = Field(description="Whether the model ended it; else the search did, at its limit of tokens.")


class TranslateResponse(BaseModel):
    model: str
    tokens: list[Token] = Field(description="The source's.")
    hypotheses: list[HypothesisInfo] = Field(description="Best first, at most `beams`.")
    beams: int
    alpha: float
    seconds: float = Field(description="That the search took, without waiting for its turns.")
    notes: list[Note]


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
    "family, config, attentions, end_id, pad_id, first_id, max_seq_len, text, read_text, tokens, n_characters, "
    "position_ids, target_tokens, target_position_ids, target_text, target_from, heads, masks, pad, interventions, "
    "dtype, dims, scale, seconds, predictions, classes, notes.",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
METRICS_ANSWER: dict[str, Any] = {
    "description": "Prometheus' text format.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}
