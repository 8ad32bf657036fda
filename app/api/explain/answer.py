"""What explanations of an answer, and of a model alone, look like in the description of the API."""

from __future__ import annotations

from pydantic import BaseModel, Field

from app.api.answer import tensors_answer

Rows = list[list[float | None]]


class TokenLook(BaseModel):
    """A token by itself, in no sentence."""

    id: int
    text: str = Field(examples=[" time"])
    bytes: str = Field(description="In hexadecimal.")
    partial: bool = Field(description="Whether the bytes begin or end inside a character.")
    special: bool


Tokens = dict[str, TokenLook]


class Answering(BaseModel):
    """Answers are token ids, which `tokens` shows, or a classifier's classes, which `classes` names."""

    classes: list[str] = Field(description="None where answers are tokens.")
    tokens: Tokens = Field(description="By id: those that are named here.")


class FollowedInfo(BaseModel):
    """One answer of each row, watched through the layers."""

    ids: list[int | None] = Field(description="[row]; null: there is none.")
    probability: Rows = Field(description="[depth][row]")
    rank: list[list[int | None]] = Field(description="[depth][row]: how many answers are likelier; 0 leads.")


class LensNext(FollowedInfo):
    same: list[bool] = Field(description="[row]: whether the model's own first choice at the end is this token.")


class LensResponse(Answering):
    """Depth 0 is before the first layer, depth n + 1 after layer n; the last is the model's own output."""

    taps: list[str] = Field(description="[depth]: the stream that is read.")
    rows: list[int] = Field(description="The position of each row; PADs have none.")
    top: list[list[list[int]]] = Field(description="[depth][row][k]: the likeliest answers.")
    probability: list[Rows] = Field(description="[depth][row][k]: theirs, of the whole vocabulary.")
    final: FollowedInfo = Field(description="The model's own first choice at the end.")
    next: LensNext = Field(description="The token that does come next.")


class TermInfo(BaseModel):
    part: str = Field(examples=["head"])
    path: str = Field(description="Its module, or an embedding's tap.", examples=["layers.0.attn"])
    layer: int | None
    attention: str | None = Field(description="Its id.")
    head: int | None
    value: float | None = Field(description="What it adds to the logit.")


class ContributionsResponse(Answering):
    answer: int
    row: int
    against: int | None
    terms: list[TermInfo] = Field(description="In the order in which they are written.")
    logit: float | None = Field(description="The model's own: logit[answer], less logit[against].")
    total: float | None = Field(description="Of the terms.")
    error: float | None = Field(description="logit − total.")
    scales: dict[str, float | None] = Field(description="1/σ of each LayerNorm on the way, held fixed.")


class StackGradientInfo(BaseModel):
    prefix: str
    stack: str
    taps: list[str] = Field(description="[depth]")
    norm: Rows = Field(description="[depth][position]: ‖∂ ln p / ∂x‖.")
    total: list[float | None] = Field(description="[depth]: of all positions together.")


class GradientInfo(BaseModel):
    residuals: bool = Field(description="Whether the residual connections were there.")
    row: int
    answer: int
    log_p: float | None = Field(description="ln p(answer) in this run.")
    stacks: list[StackGradientInfo]


class GradientsResponse(Answering):
    runs: list[GradientInfo] = Field(description="With residual connections, then without.")


class NeighboursResponse(BaseModel):
    id: int
    norm: float | None = Field(description="‖E[id]‖")
    ids: list[int] = Field(description="The nearest first; neither itself nor special tokens.")
    cosine: list[float | None]
    dot: list[float | None]
    mean_cosine: float | None = Field(description="Of any two tokens: what a neighbour's has to be seen against.")
    tokens: Tokens


class CountInfo(BaseModel):
    part: str = Field(examples=["W_Q"])
    stack: str = Field(description="Empty, `encoder` or `decoder`.")
    layer: int | None
    attention: str | None = Field(description="Its id.")
    shapes: list[list[int]]
    n: int
    tied: bool = Field(description="Whether it is a matrix that was counted before.")


class ParametersResponse(BaseModel):
    counts: list[CountInfo]
    total: int = Field(description="Numbers that are stored and trained.")
    untied_total: int = Field(description="What the same shapes would hold without tying.")
    position_table: list[int] | None = Field(description="A sinusoid's shape: computed, in neither total.")


POSITIONS_ANSWER = tensors_answer(
    "`table` [position d_model] and `similarity` [position position] (cosines), float32; the metadata's `chumoku` is "
    "JSON text: kind, trained (positions of the window), beyond (`continues` or `nothing`), stack, prefix, dims."
)
