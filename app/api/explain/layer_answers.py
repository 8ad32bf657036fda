"""The responses of explanations of a sentence, layer by layer and token by token, for `/docs`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from chumoku.app.api.explain.answers import Rows, Tokens
from chumoku.model.describe import Side


class HeadScoreInfo(BaseModel):
    score: float | None
    share: float | None = Field(description="The share of a row's weight that the score covers.")
    rows: int
    fits: bool = Field(description="Whether the score earns the label.")


class HeadInfo(BaseModel):
    attention: str = Field(description="An id of the model's `attentions`.")
    layer: int
    head: int
    label: str | None
    scores: dict[str, HeadScoreInfo] = Field(description="By kind.")


class RuleInfo(BaseModel):
    threshold: float
    words: str


class HeadsResponse(BaseModel):
    heads: list[HeadInfo]
    rules: dict[str, RuleInfo] = Field(description="By kind.")


class ChangeInfo(BaseModel):
    """Means over the rows of the sentence's own tokens, [layer][head]."""

    attention: str = Field(description="An id of the model's `attentions`.")
    moved: list[list[float]] = Field(description="Total variation ½ Σ|after − before| of a row.")
    future: list[list[float]] = Field(
        description="In the run after, the weight on later tokens, if causal by training."
    )
    pad: list[list[float]] = Field(description="In the run after, the weight on PADs.")


class ChangesResponse(BaseModel):
    changes: list[ChangeInfo] = Field(description="Of the attentions whose tokens correspond; from float16 weights.")


class FfnInfo(BaseModel):
    """PADs are excluded: `positions` are the counted positions of what the stack reads."""

    path: str
    stack: str
    layer: int
    positions: list[int]
    fires: list[int] = Field(description="[d_ff]: number of tokens on which each unit fires.")
    dead: list[int] = Field(description="Units that fire on no position.")
    always_on: list[int] = Field(description="Units that fire on every position.")
    top_units: list[list[int]] = Field(description="[position][k]: each token's strongest units.")
    top_activations: Rows = Field(description="[position][k]: theirs.")


class UnitInfo(BaseModel):
    path: str
    stack: str
    layer: int
    unit: int
    top_positions: list[int] = Field(description="Its strongest tokens, strongest first.")
    top_values: list[float | None] = Field(description="Their values; 0 if the unit does not fire.")


class UnitsResponse(BaseModel):
    ffns: list[FfnInfo]
    unit: UnitInfo | None = Field(description="The requested unit.")


class StackSwapInfo(BaseModel):
    stack: str
    taps: list[str] = Field(description="[depth]")
    change: Rows = Field(description="[depth][position]: ‖x' − x‖ / ‖x‖ of the same token at its new position; PADs 0.")


class SwapInfo(BaseModel):
    positions: bool = Field(description="Whether the model had its positions.")
    stacks: list[StackSwapInfo]
    rows: list[int] = Field(description="The positions that predict, before the swap.")
    prediction: list[float | None] = Field(description="[row]: how far the prediction moved; 0: the same, 1: disjoint.")
    largest: float | None = Field(description="The largest change.")
    order_only: bool = Field(description="Whether the swap only permuted the tokens.")


class SwapResponse(BaseModel):
    runs: list[SwapInfo] = Field(description="With positions, then without.")


class SublayerInfo(BaseModel):
    stack: str
    layer: int
    kind: Literal["attention", "ffn"]
    attention: str | None = Field(description="Its id; null for an FFN.")
    path: str
    norm: str | None = Field(description="Its LayerNorm, if it has one.")
    before: str = Field(description="The tap of the incoming stream.")
    after: str = Field(description="The tap of the outgoing stream.")
    out: str = Field(description="The tap of its output.")


class WrittenInfo(BaseModel):
    """What a sublayer added to the stream x, each [position]."""

    sublayer: SublayerInfo
    norm: list[float | None] = Field(description="‖f‖")
    relative: list[float | None] = Field(description="‖f‖ / ‖x‖")
    cosine: list[float | None] = Field(description="cos(f, x)")


class NormedInfo(BaseModel):
    """What a LayerNorm did, each [position]: x̂ = (x − mean) / √(variance + ε), out = x̂ · γ + β."""

    path: str
    layer: int | None = Field(description="null: the final one, after all layers.")
    mean: list[float | None]
    variance: list[float | None]
    norm_in: list[float | None] = Field(description="‖x‖")
    norm_hat: list[float | None] = Field(description="‖x̂‖")
    norm_out: list[float | None] = Field(description="‖out‖")
    cos_in_out: list[float | None]
    cos_in_hat: list[float | None]
    cos_hat_out: list[float | None]
    gain: list[float | None] = Field(description="The smallest and the largest γ.")
    bias_norm: float | None = Field(description="‖β‖")


class StreamInfo(BaseModel):
    stack: str
    ids: list[int] = Field(description="The tokens the stack read, PADs included.")
    taps: list[str] = Field(description="[depth]")
    norm: Rows = Field(description="[depth][position]: ‖x‖.")
    written: list[WrittenInfo]
    norms: list[NormedInfo]


class ResidualResponse(BaseModel):
    streams: list[StreamInfo]


class ArrayInfo(BaseModel):
    """An array in JSON."""

    dtype: Literal["float32", "float16"]
    shape: list[int]
    data: str = Field(description="Its bytes in base64, little-endian, the last dimension fastest.")


class FlowInfo(BaseModel):
    attention: str = Field(description="An id of the model's `attentions`.")
    queries: Side
    keys: Side
    share: ArrayInfo = Field(
        description="[layer query key]: how much of the query comes from the key. More than 4 million are float16."
    )
    packed: bool = Field(
        description="Of each query, only the keys up to itself are in `share`, [layer, query (query + 1) / 2 + key]: "
        "so where there are more than 4 million, under a causal mask."
    )
    own: ArrayInfo = Field(description="[layer query]: the part that was already there.")


class RiverInfo(BaseModel):
    stack: str
    side: Side
    layers: int
    tokens: int = Field(description="Its positions, PADs included.")
    flows: list[FlowInfo] = Field(description="Its attentions, in the order in which a layer has them.")
    ffn: ArrayInfo = Field(description="[layer position]: ‖f‖ / ‖x‖ of what each FFN adds to the stream x.")


class RouteResponse(BaseModel):
    rivers: list[RiverInfo] = Field(description="One per stack, in the order of the forward pass.")


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
    """A row of one pass, compared with the last row of the run on its prefix."""

    row: int
    stream: list[float] = Field(description="The largest difference of their streams, before the first layer and on.")
    logits: float = Field(description="The largest difference of their logits.")
    top: list[int] = Field(description="The most likely tokens of either.")
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
