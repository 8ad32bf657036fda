"""What a translation looks like."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from app.api.answer import Note, Token


class HypothesisInfo(BaseModel):
    text: str
    tokens: list[Token] = Field(description="Without START; with END where it has `ended`.")
    log_p: float = Field(description="ln p(target | source).")
    score: float = Field(description="log_p / ((5 + n_tokens) / 6)^alpha, by which they are ranked.")
    ended: bool = Field(description="Whether the model ended it; else the search did, at its limit of tokens.")


class TranslateResponse(BaseModel):
    model: str
    run: dict[str, Any] = Field(description="What was searched under: the request's run, resolved.")
    tokens: list[Token] = Field(description="The source's, PADs included.")
    hypotheses: list[HypothesisInfo] = Field(description="Best first, at most `beams`.")
    beams: int
    alpha: float
    seconds: float = Field(description="That the search took, without waiting for its turns.")
    notes: list[Note]
