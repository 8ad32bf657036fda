"""The responses of explanations of an answer and of a model, for `/docs`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from chumoku.app.api.answers import tensors_answer

Rows = list[list[float | None]]


class VocabularyToken(BaseModel):
    """A token outside a sentence."""

    id: int
    text: str = Field(examples=[" time"])
    bytes: str = Field(description="In hexadecimal.")
    partial: bool = Field(description="Whether the bytes begin or end inside a character.")
    special: bool


Tokens = dict[str, VocabularyToken]


class Answering(BaseModel):
    """Answers are token ids, described in `tokens`, or a classifier's classes, named in `classes`."""

    classes: list[str] = Field(description="Null if answers are tokens.")
    tokens: Tokens = Field(description="By id: every token in the answer.")


class FollowedInfo(BaseModel):
    """One answer per row, followed through the layers."""

    ids: list[int | None] = Field(description="[row]; null if there is none.")
    probability: Rows = Field(description="[depth][row]")
    rank: list[list[int | None]] = Field(description="[depth][row]: how many answers are more likely; 0 leads.")


class LensNext(FollowedInfo):
    same: list[bool] = Field(description="[row]: whether this token is the model's final first choice.")


class LensResponse(Answering):
    """Depth 0 is before the first layer, depth n + 1 after layer n; the last is the model's own output."""

    taps: list[str] = Field(description="[depth]: the tap that is decoded.")
    rows: list[int] = Field(description="The position of each row, without PADs.")
    top: list[list[list[int]]] = Field(description="[depth][row][k]: the most likely answers.")
    probability: list[Rows] = Field(description="[depth][row][k]: their probabilities over the whole vocabulary.")
    final: FollowedInfo = Field(description="The model's final first choice.")
    next: LensNext = Field(description="The actual next token.")


class TermInfo(BaseModel):
    part: str = Field(examples=["head"])
    path: str = Field(description="Its module, or the tap of an embedding.", examples=["layers.0.attn"])
    layer: int | None
    attention: str | None = Field(description="Its id.")
    head: int | None
    value: float | None = Field(description="What it adds to the logit.")
    keys: list[float | None] | None = Field(
        description="[key]: with `by_key`, what a head brings from each key; null if an intervention wrote its output."
    )


class UnitTermInfo(BaseModel):
    unit: int
    activation: float | None
    length: float | None = Field(description="‖activation · its column of W₂‖")
    value: float | None = Field(description="What it adds to the logit.")
    favours: list[int] = Field(description="The answers whose logits it raises most.")


class UnitTermsInfo(BaseModel):
    layer: int
    units: list[UnitTermInfo] = Field(description="Those that write most, longest first.")
    total: float | None = Field(description="Sum over all units: the FFN's term.")


class ContributionsResponse(Answering):
    answer: int
    row: int
    against: int | Literal["mean"] | None
    terms: list[TermInfo] = Field(description="In the order in which they were written.")
    logit: float | None = Field(description="The model's own: logit[answer] − that of `against`.")
    total: float | None = Field(description="Sum of the terms.")
    error: float | None = Field(description="logit − total.")
    scales: dict[str, float | None] = Field(description="The fixed 1/σ of each LayerNorm on the way.")
    units: UnitTermsInfo | None = Field(description="Of the FFN in the layer `units_of`, if it has units.")


class WritesResponse(Answering):
    answer: int
    row: int
    logit: list[float | None] = Field(description="[key]: what it adds to the logit of the answer at the row.")
    favoured: list[list[int]] = Field(description="[key][k]: the answers that it favours, whatever its weight.")


class StackGradientInfo(BaseModel):
    stack: str
    taps: list[str] = Field(description="[depth]")
    norm: Rows = Field(description="[depth][position]: ‖∂ ln p / ∂x‖.")
    total: list[float | None] = Field(description="[depth]: over all positions.")


class GradientInfo(BaseModel):
    residuals: bool = Field(description="Whether the residual connections were present.")
    row: int
    answer: int
    log_p: float | None = Field(description="ln p(answer) in this run.")
    stacks: list[StackGradientInfo]


class GradientsResponse(Answering):
    runs: list[GradientInfo] = Field(description="With residual connections, then without.")


class NeighboursResponse(BaseModel):
    id: int
    norm: float | None = Field(description="‖E[id]‖")
    ids: list[int] = Field(description="Nearest first, without the token itself and special tokens.")
    cosine: list[float | None]
    dot: list[float | None]
    mean_cosine: float | None = Field(
        description="Mean cosine over all pairs of tokens: the baseline for a neighbour's."
    )
    tokens: Tokens


class VocabularyResponse(BaseModel):
    """The direct path: no earlier layer, no position; the final LayerNorm's scale is 1."""

    matches: list[int] = Field(description="The tokens whose keys its query matches best.")
    scores: list[float | None] = Field(description="q·k of each, scaled as in the model.")
    mean_score: float | None = Field(description="Of all tokens.")
    writes: list[int] = Field(description="The tokens whose logits its value raises most.")
    raised: list[float | None] = Field(description="By how much, above the mean of all tokens.")
    own: float | None = Field(description="By how much it raises its own logit.")
    copying: float | None = Field(
        description="Σλ / Σ|λ| over the eigenvalues of the head's OV circuit through the vocabulary, from −1 to 1."
    )
    tokens: Tokens


class InductionHeadInfo(BaseModel):
    attention: str = Field(description="An id of the model's `attentions`.")
    layer: int
    head: int
    prefix_matching: float = Field(description="The mean weight on the token after the earlier occurrence.")
    copying: float | None = Field(
        description="Of the logits of the sequence's tokens that the head raises above their mean, the share of the "
        "token that it attends to most; null: the logits are not a sum over heads."
    )


class InductionResponse(BaseModel):
    """On random tokens that repeat (Olsson et al. 2022)."""

    heads: list[InductionHeadInfo] = Field(description="In the model's order.")
    repeated: int = Field(description="How many tokens repeat.")
    sequences: int = Field(description="Over how many sequences the means are.")
    chance: float = Field(description="The prefix matching of a head that attends evenly.")
    copying_chance: float = Field(description="The copying expected by chance: 1 / `repeated`.")


class CountInfo(BaseModel):
    part: str = Field(examples=["W_Q"])
    stack: str | None = Field(description="Its id; null: outside the stacks.")
    layer: int | None
    attention: str | None = Field(description="Its id.")
    shapes: list[list[int]]
    n: int
    tied: bool = Field(description="Whether the matrix was already counted (tied weights).")


class ParametersResponse(BaseModel):
    counts: list[CountInfo]
    total: int = Field(description="Numbers that are stored and trained.")
    untied_total: int = Field(description="The count without tying.")
    position_table: list[int] | None = Field(
        description="The shape of a sinusoidal table, which is computed and counted in neither total."
    )


POSITIONS_ANSWER = tensors_answer(
    "`table` [position d_model] and `similarity` [position position] (cosines), float32; the metadata's `chumoku` is "
    "JSON text: kind, trained (positions of the window), beyond (`continues` or `nothing`), stack, dims."
)


class CostTermInfo(BaseModel):
    what: str = Field(description="What is computed, or held.")
    of: list[str] = Field(description="Its factors: whole numbers and symbols.")


class CostInfo(BaseModel):
    name: str = Field(description="A mechanism, as in a model's config.")
    multiplications: list[CostTermInfo] = Field(description="Divisions included.")
    numbers: list[CostTermInfo] = Field(description="Held at once.")
    time: str = Field(description="The order of growth of the multiplications.")
    space: str = Field(description="The order of growth of the numbers.")
    steps: Literal["1", "T"] = Field(description="Steps that must follow each other.")
    path: Literal["1", "T"] = Field(description="Steps between two tokens far apart.")
    skewed: list[CostTermInfo] = Field(description="Numbers held by the skewed form of relative positions.")
    naive: list[CostTermInfo] = Field(description="Numbers held by the formula as written, in their place.")


class CostResponse(BaseModel):
    own: str | None = Field(description="The model's mechanism; null if its costs are unknown.")
    sizes: dict[str, int] = Field(description="The symbols that do not depend on T: d, h, s, r, c, d_k.")
    forms: list[CostInfo]
