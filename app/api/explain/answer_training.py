"""The responses about a sentence as training sees it, for the description of the API."""

from __future__ import annotations

from pydantic import BaseModel, Field

from chumoku.app.api.explain.answer import Tokens


class LossesInfo(BaseModel):
    """The rows with a label. Losses are over the whole vocabulary, as in training."""

    rows: list[int] = Field(description="The positions that predict; the last one has no label yet.")
    labels: list[int] = Field(description="The token after each.")
    nats: list[float] = Field(description="−ln p(label) of each row.")
    spread: list[float] = Field(description="The mean of −ln p over all tokens, by row: label smoothing adds it.")
    first: list[int] = Field(description="The most likely token of each row.")
    first_p: list[float]
    n_bytes: int = Field(description="What the labels spell, in bytes.")
    sum: float | None = Field(description="Of `nats`; null without a label.")
    mean: float | None
    bits_per_byte: float | None


class ForcingResponse(LossesInfo):
    tokens: Tokens = Field(description="By id: every token in the answer.")


class PrefixResponse(BaseModel):
    """A row of one pass beside the last row of the run on its prefix."""

    row: int
    stream: list[float] = Field(description="The largest difference of their streams, before the first layer and on.")
    logits: float = Field(description="The largest difference of their logits.")
    top: list[int] = Field(description="The tokens that either finds most likely.")
    whole: list[float] = Field(description="Their probabilities in the pass over everything.")
    alone: list[float] = Field(description="Their probabilities in the run on the prefix.")
    tokens: Tokens


class RemovedInfo(BaseModel):
    n: int
    of: int = Field(description="Those that were not zero before.")


class DroppedInfo(LossesInfo):
    seed: int
    removed: dict[str, RemovedInfo] = Field(
        description="Numbers set to zero: at the `start` of a stream, among attention `weights`, in what is `added`."
    )


class DropoutResponse(BaseModel):
    p: float = Field(description="As in training.")
    without: LossesInfo = Field(description="The same sentence without dropout.")
    runs: list[DroppedInfo]
    tokens: Tokens
