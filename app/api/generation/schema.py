"""Requests to generate."""

from __future__ import annotations

from pydantic import Field

from chumoku.app.api.run import RunRequest
from chumoku.app.api.sampling import MAX_SEED, Candidates, Sampling


class GenerateRequest(RunRequest, Sampling):
    seed: int = Field(
        default=7, ge=0, le=MAX_SEED, description="The draw of the token at index i depends only on (seed, i)."
    )
    max_new_tokens: int = Field(
        default=32, ge=1, description="Stop after this many tokens; the server has a limit.", examples=[8]
    )
    n: Candidates = 12
    rows: bool = Field(
        default=True,
        description="Send the new token's weights in every layer and head, for each attention (by its id) of the stack "
        "that writes.",
    )
