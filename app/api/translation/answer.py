"""The response of a translation."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from chumoku.app.api.answer import Note, Token


class HypothesisInfo(BaseModel):
    text: str
    tokens: list[Token] = Field(description="Without START; with END if it `ended`.")
    log_p: float = Field(description="ln p(target | source).")
    score: float = Field(description="log_p / ((5 + n_tokens) / 6)^alpha, which ranks them.")
    ended: bool = Field(description="Whether the model ended it. Otherwise the search stopped at its token limit.")


class TranslateResponse(BaseModel):
    model: str
    run: dict[str, Any] = Field(description="The request's run, resolved.")
    tokens: list[Token] = Field(description="Those of the source, PADs included.")
    hypotheses: list[HypothesisInfo] = Field(description="Best first, at most `beams`.")
    beams: int
    alpha: float
    seconds: float = Field(description="The time the search took, without waiting.")
    notes: list[Note]
