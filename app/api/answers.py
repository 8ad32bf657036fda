"""Schemas that several answers share: tokens, notes and errors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field


class TokenInfo(BaseModel):
    index: int = Field(description="Position in the sentence, from 0.")
    id: int
    bytes: str = Field(description="The token's bytes in hexadecimal.", examples=["2074696d65"])
    text: str = Field(description="The bytes as text; � if they are only part of a character.", examples=[" time"])
    start: int = Field(description="The first character (code point) of which the token has a byte.")
    end: int = Field(description="One past the last character.")
    partial: bool = Field(description="Whether the bytes begin or end inside a character.")
    covers: tuple[int, int] | None = Field(
        default=None,
        description="The characters of the typed text that it stands for (first, and one past the last), where "
        "`start` and `end` count in another text: the normalised one.",
    )
    special: bool = Field(description="END, PAD, START, [CLS] or [MASK], which have no characters.")


class Unread(BaseModel):
    """Only the last tokens of the text were read: the model reads more than the page draws. Not an error."""

    code: Literal["windowed"]
    n_tokens: int = Field(description="Tokens of the whole text, as the model would read it.")
    n_read: int = Field(description="Tokens that it read, as if the text began there.")


class Untrained(BaseModel):
    """The text is in a language that the model was not trained on. Not an error."""

    code: Literal["untrained_language"]
    language: str = Field(description="The language of the text, or the name of its script.", examples=["ja"])
    trained: list[str] = Field(description="The languages that the model can read.")
    models: list[str] = Field(description="Other loaded models that read the language.")
    writers: list[str] = Field(description="Loaded models that write it and do not read it: translators into it.")


Note = Annotated[Untrained | Unread, Field(discriminator="code")]
"""A remark about an answer."""


class ErrorDetail(BaseModel):
    code: str = Field(description="For programs.", examples=["too_long"])
    message: str = Field(description="What was wrong.")
    where: str | None = Field(default=None, description="The field.", examples=["text"])
    got: int | float | str | None = None
    limit: int | float | None = None
    known: list[str | int] | None = Field(default=None, description="The known names.")
    hint: str = Field(description="What to do.")


class ErrorResponse(BaseModel):
    error: ErrorDetail


Answers = dict[int | str, dict[str, Any]]

REFUSALS: Answers = {
    400: {"model": ErrorResponse, "description": "The body is not JSON in UTF-8."},
    404: {"model": ErrorResponse, "description": "`unknown_model`"},
    413: {"model": ErrorResponse, "description": "`body_too_large`"},
    422: {"model": ErrorResponse, "description": "The request is invalid: `code` and `message` say why."},
}
BUSY: Answers = {
    503: {"model": ErrorResponse, "description": "`full`: try again after the seconds in `Retry-After`."},
}
CROSS_SITE: Answers = {
    403: {"model": ErrorResponse, "description": "`cross_site`: requested by a page of another site."},
}


EVENTS: dict[str, Any] = {
    "description": "Server-sent events; each `data` is JSON. Comments may come in between.",
    "content": {
        "text/event-stream": {
            "itemSchema": {
                "type": "object",
                "required": ["event", "data"],
                "properties": {"event": {"type": "string"}, "data": {"type": "string"}},
            }
        }
    },
}


def as_json(answers: Answers) -> Answers:
    """The same, declared as JSON even if the route returns another type."""
    schema = {"$ref": f"#/components/schemas/{ErrorResponse.__name__}"}
    content = {"application/json": {"schema": schema}}
    return {status: {"description": about["description"], "content": content} for status, about in answers.items()}


def tensors_answer(what: str) -> dict[str, Any]:
    """A safetensors body, for the API's description."""
    content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {"description": f"A safetensors body: {what}", "content": content}
