"""The forms of an Attention Free Transformer that share its position bias between all features: full, local, simple."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import torch
from torch import Tensor, nn

from model.mechanisms.attention_free import ROLES, AttentionFree
from model.mechanisms.distances import apart
from model.mechanisms.mixer import Parameter

if TYPE_CHECKING:
    from model.config import ModelConfig


class AftFull(AttentionFree):
    """w = u vᵀ, u, v ∈ R^{T×d'} (section 3.1): every pair of positions has its own bias, the same for all features."""

    def __init__(self, d_model: int, n_head: int, max_seq_len: int, rank: int) -> None:
        super().__init__(d_model, n_head)
        self.bias_query = nn.Parameter(torch.empty(max_seq_len, rank))
        self.bias_key = nn.Parameter(torch.empty(max_seq_len, rank))
        self.init_weights()

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        return cls(config.d_model, config.n_head, config.max_seq_len, config.rank)

    @classmethod
    def parameters_by_role(cls) -> dict[str, Parameter]:
        own = {role: Parameter(role, "position rank") for role in ("bias_query", "bias_key")}
        return super().parameters_by_role() | own

    def init_weights(self) -> None:
        for factor in (self.bias_query, self.bias_key):
            nn.init.normal_(factor, std=0.01)

    def undecayed(self) -> tuple[nn.Parameter, ...]:
        return self.bias_query, self.bias_key

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return (self.bias_query[query_positions] @ self.bias_key[key_positions].mT)[:, None]


class AftLocal(AftFull):
    """The same where |t − i| < s, and w = 0 elsewhere: keys outside still count, by e^{k_i} (equation 3)."""

    def __init__(self, d_model: int, n_head: int, max_seq_len: int, rank: int, s: int) -> None:
        super().__init__(d_model, n_head, max_seq_len, rank)
        self.s = s

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        return cls(config.d_model, config.n_head, config.max_seq_len, config.rank, config.reach)

    def reaches(self) -> int:
        return self.s

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        near = apart(query_positions, key_positions).abs() < self.s  # 1|batch query key
        return super().bias(query_positions, key_positions) * near[:, None]


class AftSimple(AttentionFree):
    """w = 0: every query takes the same mean of what it may see, weighted by e^{k_i} (equation 4)."""

    roles: ClassVar[Mapping[str, str]] = {role: dims for role, dims in ROLES.items() if role != "position_bias"}

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        return cls(config.d_model, config.n_head)

    def reaches(self) -> int:
        return 0

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> None:
        return None
