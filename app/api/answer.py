"""What answers have in common: tokens, notes, errors; for `/docs` and for clients that read the schema."""

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


class Note(BaseModel):
    """Something to know about an answer that is no error."""

    code: Literal["untrained_language"]
    language: str = Field(description="Of the text, or the name of its script.", examples=["ja"])
    trained: list[str] = Field(description="The languages that the model can read.")
    models: list[str] = Field(description="Other models that are loaded and know the language.")


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


def tensors_answer(what: str) -> dict[str, Any]:
    """A safetensors body in the description of the API."""
    content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {"description": f"A safetensors body: {what}", "content": content}
