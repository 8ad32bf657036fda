"""The response for a tokenized text."""

from __future__ import annotations

from pydantic import BaseModel, Field

from chumoku.app.api.answer import Token


class EncodingCount(BaseModel):
    name: str = Field(examples=["cl100k_base"])
    available: bool = Field(description="Whether its files are on the server.")
    n_tokens: int | None = Field(description="The number of tokens for this text.")
    hint: str | None = Field(description="How to get its files, if they are missing.")


class TokenizeResponse(BaseModel):
    model: str
    text: str
    read_text: str = Field(
        description="The text that the tokens spell and their offsets refer to: normalised to the model's text form."
    )
    tokens: list[Token] = Field(description="The tokens. A classifier's begin with [CLS].")
    n_tokens: int
    n_characters: int = Field(description="Of `text`.")
    max_seq_len: int = Field(description="The largest number of tokens that the model reads.")
    encodings: list[EncodingCount] = Field(description="With `compare`: the same text under tiktoken's encodings.")
