"""The response with the lines of a function."""

from __future__ import annotations

from pydantic import BaseModel, Field


class SourceResponse(BaseModel):
    name: str
    object: str = Field(description="The function, with its class.", examples=["MultiHeadAttention.attend"])
    file: str = Field(examples=["model/mechanisms/softmax.py"])
    line: int = Field(description="The first line in the file, from 1.")
    code: str
