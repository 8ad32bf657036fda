"""Rotary positions (Su et al. 2021): q and k are rotated by an angle that grows with the position, so their product
depends on how far apart they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from chumoku.model.mechanisms.mixer import Cost, CostTerm, Identity, MixerDescription
from chumoku.model.mechanisms.softmax import IDENTITIES, ROLES, MultiHeadAttention, PositionalAttention
from chumoku.model.taps import Tap

if TYPE_CHECKING:
    from chumoku.model.config import ModelConfig

BASE = 10_000.0
TURNED = {"q_rotated": ROLES["q"], "k_rotated": ROLES["k"]}


class RotaryAttention(PositionalAttention):
    """softmax(R_i q_i · R_j k_j / √d_k) (equation 16): R_p rotates pair (i, i + d_head/2) by p · 10000^(−2i/d_head).

    Pairs as in Llama: the first half of a head's dimensions with the second. (R_i q) · (R_j k) = q · R_{j−i} k. `q` and
    `k` are before the rotation, `q_rotated` and `k_rotated` after it. Values are not rotated.
    """

    def __init__(self, d_model: int, n_head: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, n_head, dropout)
        self.q_rotated, self.k_rotated = Tap(TURNED["q_rotated"]), Tap(TURNED["k_rotated"])

    @staticmethod
    def describe(config: ModelConfig) -> MixerDescription:
        if config.d_head % 2:
            raise ValueError(f"rotary positions turn pairs of dimensions; d_head={config.d_head} is odd")
        plain = MultiHeadAttention.describe(config)
        order = ("q", "k", "v", *TURNED, *(role for role in ROLES if role not in "qkv"))
        return replace(
            plain,
            roles={role: (ROLES | TURNED)[role] for role in order},
            identities=(Identity("scaled_product", tuple(TURNED), "scores"), *IDENTITIES[1:]),
            by_key=(*plain.by_key, "k_rotated"),
        )

    @classmethod
    def cost(cls) -> Cost:
        """In addition to softmax: rotating a pair of q or k takes four multiplications."""
        plain = super().cost()
        turned, held = CostTerm("rotation", ("4", "T", "d")), CostTerm("rotated", ("2", "T", "d"))
        return replace(plain, multiplications=(turned, *plain.multiplications), numbers=(*plain.numbers, held))

    def attend_at(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        q, k = self.q_rotated(rotate(q, query_positions)), self.k_rotated(rotate(k, key_positions))
        return self.attend(q, k, v, mask)


def angles(positions: Tensor, d_head: int) -> Tensor:
    """p · 10000^(−2i/d_head) for each position p and pair i: float64 [.. position d_head/2]."""
    two_i = torch.arange(0, d_head, 2, dtype=torch.float64, device=positions.device)  # d_head/2
    return positions[..., None] * BASE ** (-two_i / d_head)


def rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Rotate each pair of x [batch head position d_head] by its angle at its position id [1|batch position]."""
    angle = angles(positions, x.shape[-1])[:, None]  # 1|batch 1 position d_head/2
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
