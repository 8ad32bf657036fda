"""What a request to generate may say."""

from __future__ import annotations

from pydantic import Field

from app.api.run import Run
from app.api.sampling import MAX_SEED, Candidates, Sampling


class GenerateRequest(Run, Sampling):
    seed: int = Field(
        default=7, ge=0, le=MAX_SEED, description="The draw of the token at index i depends on (seed, i) alone."
    )
    max_new_tokens: int = Field(
        default=32, ge=1, description="Stop after so many; the server has a limit.", examples=[8]
    )
    n: Candidates = 12
    rows: bool = Field(default=True, description="Send the new token's attention rows in all layers and heads.")
