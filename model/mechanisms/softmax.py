"""Scaled dot-product attention (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from model.mechanisms.mixer import Identity, MixerDescription, Parameter

if TYPE_CHECKING:
    from model.config import ModelConfig

ROLES = {
    "q": "head position d_head",
    "k": "head position d_head",
    "v": "head position d_head",
    "scores": "head query key",
    "mask": "head query key",
    "pattern": "head query key",
    "z": "head position d_head",
    "head_out": "head position d_model",
    "attn_out": "position d_model",
}
IDENTITIES = (
    Identity("scaled_product", ("q", "k"), "scores"),
    Identity("masked_softmax", ("scores", "mask"), "pattern"),
    Identity("weighted_sum", ("pattern", "v"), "z"),
    Identity("sum_heads", ("head_out", "b_o"), "attn_out"),
)


def describe(config: ModelConfig) -> MixerDescription:
    """Roles, parameters and identities of one attention."""
    matrices = {f"w_{x}": Parameter(f"w_{x}.weight", "d_model d_model") for x in "qkvo"}
    biases = {f"b_{x}": Parameter(f"w_{x}.bias", "d_model") for x in "qkvo"}
    return MixerDescription(
        ROLES,
        matrices | biases,
        overview="pattern",
        n_head=config.n_head,
        n_kv_head=config.n_head,
        d_head=config.d_head,
        scale=1 / math.sqrt(config.d_head),
        identities=IDENTITIES,
    )
