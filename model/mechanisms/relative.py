"""Relative positions (Shaw et al. 2018): scores and values depend on how far apart query and key are.

Attention itself encodes the order, so a model needs no position module and can read texts longer than in training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn

from chumoku.model.mechanisms.distances import apart, are_consecutive, skew, unskew
from chumoku.model.mechanisms.mixer import Cost, CostTerm, Identity, MixerDescription, Parameter
from chumoku.model.mechanisms.softmax import ROLES, MultiHeadAttention, PositionalAttention
from chumoku.model.taps import Tap

if TYPE_CHECKING:
    from chumoku.model.config import ModelConfig

OWN = {
    "distance": "query key",
    "content_scores": "head query key",
    "relative_scores": "head query key",
    "content_z": "head position d_head",
    "relative_z": "head position d_head",
}
ORDER = (
    *("q", "k", "v", "distance", "content_scores", "relative_scores", "scores", "mask", "pattern"),
    *("content_z", "relative_z", "z", "head_out", "attn_out"),
)
IDENTITIES = (
    Identity("scaled_product", ("q", "k"), "content_scores"),
    Identity("scaled_row_product", ("q", "table_k", "distance"), "relative_scores"),
    Identity("masked_softmax", ("scores", "mask"), "pattern"),
    Identity("weighted_sum", ("pattern", "v"), "content_z"),
    Identity("weighted_rows", ("pattern", "table_v", "distance"), "relative_z"),
    Identity("sum_heads", ("head_out", "b_o"), "attn_out"),
)


class RelativeAttention(PositionalAttention):
    """e_ij = q_i · (k_j + a^K_ij) / √d_k, z_i = Σ_j α_ij (v_j + a^V_ij), a_ij = w_clip(j − i, −n, n): equations 3 to 5.

    `table_k` and `table_v` are w^K and w^V [2n + 1, d_head], one of each per layer, shared by its heads; row n is
    distance 0. The role `distance` is clip(j − i, −n, n) + n: the row of each pair.

    If positions are consecutive, the skew turns q w^Kᵀ by distance into scores by key. PADs without a position leave
    gaps; then each pair looks up its distance. Both give the same numbers. The skew covers all query_len + key_len − 1
    distances, even under a causal mask, because scores are computed before the mask.
    """

    def __init__(self, d_model: int, n_head: int, n: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, n_head, dropout)
        self.n = n
        self.table_k = nn.Parameter(torch.empty(2 * n + 1, d_model // n_head))
        self.table_v = nn.Parameter(torch.empty(2 * n + 1, d_model // n_head))
        self.distance = Tap(OWN["distance"])
        self.content_scores, self.relative_scores = Tap(OWN["content_scores"]), Tap(OWN["relative_scores"])
        self.content_z, self.relative_z = Tap(OWN["content_z"]), Tap(OWN["relative_z"])
        self.init_weights()

    @staticmethod
    def describe(config: ModelConfig) -> MixerDescription:
        plain, dims = MultiHeadAttention.describe(config), ROLES | OWN
        tables = {role: Parameter(role, "distance d_head") for role in ("table_k", "table_v")}
        return replace(
            plain,
            roles={role: dims[role] for role in ORDER},
            parameters={**plain.parameters, **tables},
            parts={"scores": ("content_scores", "relative_scores"), "z": ("content_z", "relative_z")},
            identities=IDENTITIES,
            contribution_roles=("distance", "pattern", "v", "table_v", "w_o"),
        )

    @classmethod
    def cost(cls) -> Cost:
        """In addition to softmax: q times every row of w^K, and the weights by distance times rows of w^V. The naive
        form holds a^K_ij and a^V_ij, two vectors for every pair, which all heads share."""
        plain, by_distance = super().cost(), ("T", "2T−1")
        by_distance_terms = (
            CostTerm("table_scores", ("T", "c", "d")),
            CostTerm("table_scale", ("T", "T", "h")),
            CostTerm("table_values", (*by_distance, "d")),
        )
        skewed = CostTerm("by_distance", (*by_distance, "h"))
        naive = tuple(CostTerm(name, ("T", "T", "d_k")) for name in ("pair_keys", "pair_values"))
        multiplications, numbers = plain.multiplications + by_distance_terms, (*plain.numbers, skewed)
        return replace(plain, multiplications=multiplications, numbers=numbers, skewed=(skewed,), naive=naive)

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        return cls(config.d_model, config.n_head, config.reach, config.dropout)

    def init_weights(self) -> None:
        for table in (self.table_k, self.table_v):
            nn.init.normal_(table, std=0.02)

    def undecayed(self) -> tuple[nn.Parameter, ...]:
        return self.table_k, self.table_v

    def fuse(self, seq_len: int | None = None) -> None:
        """Nothing to switch: a fused kernel gives no pattern, and Σ α_ij a^V_ij needs it."""

    @staticmethod
    def key_contributions(of: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The weights, and (v_k + a^V_qk) W_h^O, which differs by query: values [head query key d_model]."""
        pattern, v, w_o = of["pattern"], of["v"], of["w_o"]
        w_o = w_o.view(len(w_o), len(pattern), -1).permute(1, 2, 0)  # head d_head d_model
        rows = (of["table_v"] @ w_o)[:, of["distance"].long()]  # head query key d_model
        return pattern, (v @ w_o)[:, None] + rows

    def attend_at(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        rows = apart(query_positions, key_positions).clamp(-self.n, self.n) + self.n  # 1|batch query key
        rows, places = self.distance(rows.expand(len(q), -1, -1)), (query_positions, key_positions)
        by_skew = all(map(are_consecutive, places)) and not self.distance.edited
        content = self.content_scores(q @ k.mT / math.sqrt(q.shape[-1]))  # batch head query key
        relative = self.skewed_scores(q, *places) if by_skew else self.scores_by_row(q, rows)
        pattern = self.dropout(self.weigh(self.scores(content + self.relative_scores(relative)), mask))
        moved = self.skewed_values(pattern, *places) if by_skew else self.values_by_row(pattern, rows)
        return self.content_z(pattern @ v) + self.relative_z(moved)

    def skewed_scores(self, q: Tensor, query_positions: Tensor, places: Tensor) -> Tensor:
        """q_i · a^K_ij / √d_k [batch head query key], from q w^Kᵀ at all query_len + key_len − 1 distances."""
        by_distance = (q @ self.table_k.T)[..., self.columns(query_positions, places)]  # batch head query distance
        return skew(by_distance, places.shape[-1]) / math.sqrt(q.shape[-1])

    def scores_by_row(self, q: Tensor, rows: Tensor) -> Tensor:
        """The same as `skewed_scores` for any positions; `rows` [batch query key] are rows of the table."""
        by_row = q @ self.table_k.T  # batch head query 2n+1
        return by_row.gather(-1, rows[:, None].expand(*q.shape[:-1], -1)) / math.sqrt(q.shape[-1])

    def skewed_values(self, pattern: Tensor, query_positions: Tensor, places: Tensor) -> Tensor:
        """Σ_j α_ij a^V_ij [batch head query d_head]: the inverse skew gives the weight of each distance."""
        return unskew(pattern) @ self.table_v[self.columns(query_positions, places)]

    def values_by_row(self, pattern: Tensor, rows: Tensor) -> Tensor:
        """The same as `skewed_values` for any positions; `rows` [batch query key] are rows of the table."""
        weight = pattern.new_zeros(*pattern.shape[:-1], len(self.table_v))  # batch head query 2n+1
        return weight.scatter_add(-1, rows[:, None].expand_as(pattern), pattern) @ self.table_v

    def columns(self, query_positions: Tensor, places: Tensor) -> Tensor:
        """The table's row for each distance between consecutive positions, lowest first: int64 [distance]."""
        n_query, n_key = query_positions.shape[-1], places.shape[-1]
        lowest = places[0, :1] - query_positions[0, -1:]
        distances = lowest + torch.arange(n_query + n_key - 1, device=places.device)
        return distances.clamp(-self.n, self.n) + self.n
