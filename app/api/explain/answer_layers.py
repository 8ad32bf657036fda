"""What explanations of what the layers do look like in the description of the API."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from app.api.explain.answer import Rows


class HeadScoreInfo(BaseModel):
    score: float | None
    share: float | None = Field(description="Of a row's weight that the score speaks of.")
    rows: int
    fits: bool = Field(description="Whether it makes a label.")


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


class FfnInfo(BaseModel):
    """PADs are left out: `positions` are those that count, of what the stack reads."""

    path: str
    prefix: str = Field(description="Of its stack: empty, `encoder.` or `decoder.`.")
    stack: str
    layer: int
    positions: list[int]
    fires: list[int] = Field(description="[d_ff]: on how many tokens each unit fires.")
    dead: list[int] = Field(description="Units that fire on none.")
    always_on: list[int] = Field(description="Units that fire on all.")
    top_units: list[list[int]] = Field(description="[position][k]: each token's strongest units.")
    top_activations: Rows = Field(description="[position][k]: theirs.")


class UnitInfo(BaseModel):
    path: str
    prefix: str
    stack: str
    layer: int
    unit: int
    top_positions: list[int] = Field(description="Its strongest tokens, strongest first.")
    top_values: list[float | None] = Field(description="Theirs; 0 where it does not fire.")


class UnitsResponse(BaseModel):
    ffns: list[FfnInfo]
    unit: UnitInfo | None = Field(description="The one that was asked for.")


class StackSwapInfo(BaseModel):
    prefix: str
    stack: str
    taps: list[str] = Field(description="[depth]")
    change: Rows = Field(description="[depth][position]: ‖x' − x‖ / ‖x‖ of the same token, wherever it stands; PADs 0.")


class SwapInfo(BaseModel):
    positions: bool = Field(description="Whether the model had its positions.")
    stacks: list[StackSwapInfo]
    rows: list[int] = Field(description="The positions that predict, before the swap.")
    prediction: list[float | None] = Field(description="[row]: how far it moved; 0 the same, 1 disjoint.")
    largest: float | None = Field(description="The largest change.")
    order_only: bool = Field(description="Whether the swap did nothing but permute.")


class SwapResponse(BaseModel):
    runs: list[SwapInfo] = Field(description="With positions, then without.")


class SublayerInfo(BaseModel):
    stack: str
    layer: int
    attention: str | None = Field(description="Its id; null for an FFN.")
    kind: Literal["attn", "cross_attn", "ffn"]
    path: str
    norm: str = Field(description="Its LayerNorm.")
    before: str = Field(description="The tap of the stream that comes in.")
    after: str = Field(description="… and that goes out.")
    out: str = Field(description="The tap of what it computed.")


class WrittenInfo(BaseModel):
    """What a sublayer added to the stream x, each [position]."""

    sublayer: SublayerInfo
    norm: list[float | None] = Field(description="‖f‖")
    relative: list[float | None] = Field(description="‖f‖ / ‖x‖")
    cosine: list[float | None] = Field(description="cos(f, x)")


class NormedInfo(BaseModel):
    """What a LayerNorm did, each [position]: x̂ = (x − mean) / √(variance + ε), out = x̂ · γ + β."""

    path: str
    layer: int | None = Field(description="null: the last one, behind all layers.")
    mean: list[float | None]
    variance: list[float | None]
    norm_in: list[float | None] = Field(description="‖x‖")
    norm_hat: list[float | None] = Field(description="‖x̂‖")
    norm_out: list[float | None] = Field(description="‖out‖")
    cos_in_out: list[float | None]
    cos_in_hat: list[float | None]
    cos_hat_out: list[float | None]
    gain: list[float | None] = Field(description="The least and the largest γ.")
    bias_norm: float | None = Field(description="‖β‖")


class StreamInfo(BaseModel):
    prefix: str
    stack: str
    ids: list[int] = Field(description="What the stack read, PADs included.")
    taps: list[str] = Field(description="[depth]")
    norm: Rows = Field(description="[depth][position]: ‖x‖.")
    written: list[WrittenInfo]
    norms: list[NormedInfo]


class ResidualResponse(BaseModel):
    streams: list[StreamInfo]
