"""The responses of explanations of the ways through the model, for the description of the API."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from chumoku.model.describe import Side


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
    own: ArrayInfo = Field(description="[layer query]: how much of it was there already.")


class RiverInfo(BaseModel):
    stack: str
    side: Side
    layers: int
    tokens: int = Field(description="Its positions, PADs included.")
    flows: list[FlowInfo] = Field(description="Its attentions, in the order in which a layer has them.")
    ffn: ArrayInfo = Field(description="[layer position]: ‖f‖ / ‖x‖ of what each FFN adds to the stream x.")


class RouteResponse(BaseModel):
    rivers: list[RiverInfo] = Field(description="One per stack, in the order of the forward pass.")
