"""Requests for parameters."""

from __future__ import annotations

from pydantic import Field

from chumoku.app.api.schema import Indices, ModelRequest, Names


class WeightsRequest(ModelRequest):
    want: Names = Field(
        min_length=1,
        description="Parameters by name; `*` and `?` as in a shell. Names: `weights` in `GET /api/models/{name}`.",
        examples=[["layers.0.attn.w_q.weight"]],
    )
    rows: Indices | None = Field(
        default=None, description="Only these indices of the first dimension, in this order.", examples=[[0, 1]]
    )
