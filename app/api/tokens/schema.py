"""Requests to tokenize."""

from __future__ import annotations

from pydantic import Field

from chumoku.app.api.schema import ModelName, Request


class TokenizeRequest(Request):
    model: ModelName = None
    text: str = Field(description="What to tokenize; may be empty.", examples=["Once upon a time"])
    compare: bool = Field(
        default=False, description="Also count it under tiktoken's public encodings, if their files are present."
    )
