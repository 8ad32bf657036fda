"""What a tokenized text looks like."""

from __future__ import annotations

from pydantic import BaseModel, Field

from app.api.answer import Token


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
