"""The four forms of an Attention Free Transformer.

Full, local and simple have one position bias for all features. Conv has a bias by distance for each head, and a key of
one number per head (Zhai et al. 2021, section 3.2).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self

import torch
from torch import Tensor, nn

from chumoku.model import masks
from chumoku.model.mechanisms.attention_free import ROLES, AttentionFree, factored_mean
from chumoku.model.mechanisms.attention_free import STATE as STATE_ROLES
from chumoku.model.mechanisms.distances import apart
from chumoku.model.mechanisms.mixer import GATE, INPUTS, QUOTIENT, Cost, CostTerm, Identity, MixerDescription, Parameter
from chumoku.model.taps import Tap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chumoku.model.config import ModelConfig


KEYED = CostTerm("keyed_values", ("T", "d"))
STATE = CostTerm("state", ("2", "d"))
FULL = Cost(
    multiplications=(
        CostTerm("bias", ("T", "T", "r")),
        KEYED,
        CostTerm("numerator", ("T", "T", "d")),
        CostTerm("denominator", ("T", "T", "d")),
        QUOTIENT,
        GATE,
    ),
    numbers=(INPUTS, CostTerm("exponentials", ("2", "T", "d")), CostTerm("bias_row", ("T",))),
    time="T²d",
    space="Td",
    steps="1",
    path="1",
)
LOCAL = Cost(
    multiplications=(
        CostTerm("bias", ("near", "r")),
        KEYED,
        CostTerm("numerator", ("near", "d")),
        CostTerm("denominator", ("near", "d")),
        QUOTIENT,
        GATE,
    ),
    numbers=(INPUTS, STATE, CostTerm("window", ("2", "s", "d"))),
    time="Tsd",
    space="Td",
    steps="T",
    path="T",
)
SIMPLE = Cost((KEYED, QUOTIENT, GATE), (INPUTS, STATE), time="Td", space="Td", steps="T", path="T")


class PositionBiased(AttentionFree):
    """AFT proper: a position bias w_ti is added to the keys."""

    @abstractmethod
    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor | None:
        """w_ti [1|batch 1|head query key], for position ids [1|batch query|key]; None: zero everywhere."""

    def mix(self, k: Tensor, v: Tensor, query_positions: Tensor, key_positions: Tensor, mask: Tensor) -> Tensor:
        """Σ_i exp(w_ti + k_i) ⊙ v_i / Σ_i exp(w_ti + k_i)"""
        w = self.bias(query_positions, key_positions)
        w = w if w is None else self.see_bias(w)
        allowed = masks.allowed(self.see_mask(mask))
        if self.factored:
            return factored_mean(k, v, w, allowed)
        return self.average(k[:, :, None] if w is None else k[:, :, None] + w[..., None], v, allowed)

    def see_bias(self, w: Tensor) -> Tensor:
        return self.position_bias(w[:, 0])[:, None]


class AftFull(PositionBiased):
    """w = u vᵀ, u, v ∈ R^{T×d'} (section 3.1): each pair of positions has a separate bias, the same for all
    features."""

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
        factors = {role: Parameter(role, "position rank") for role in ("bias_query", "bias_key")}
        return super().parameters_by_role() | factors

    @classmethod
    def cost(cls) -> Cost:
        """Computed query by query, with e^k and e^k v computed once. One matrix product would also hold w, T × T
        numbers."""
        return FULL

    def init_weights(self) -> None:
        for factor in (self.bias_query, self.bias_key):
            nn.init.normal_(factor, std=0.01)

    def undecayed(self) -> tuple[nn.Parameter, ...]:
        return self.bias_query, self.bias_key

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return (self.bias_query[query_positions] @ self.bias_key[key_positions].mT)[:, None]


class AftLocal(AftFull):
    """As AFT-full where |t − i| < s, and w = 0 elsewhere: keys outside the window still count, by e^{k_i} (equation
    3)."""

    def __init__(self, d_model: int, n_head: int, max_seq_len: int, rank: int, s: int) -> None:
        super().__init__(d_model, n_head, max_seq_len, rank)
        self.s = s

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        return cls(config.d_model, config.n_head, config.max_seq_len, config.rank, config.reach)

    @classmethod
    def cost(cls) -> Cost:
        """Computed as running sums of e^k and e^k v over all keys, plus (e^w − 1) times the keys of the window."""
        return LOCAL

    @classmethod
    def describe(cls, config: ModelConfig) -> MixerDescription:
        return replace(super().describe(config), bias_reach=config.reach)

    def reaches(self) -> int:
        return self.s

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        near = apart(query_positions, key_positions).abs() < self.s  # 1|batch query key
        return super().bias(query_positions, key_positions) * near[:, None]


class AftSimple(PositionBiased):
    """w = 0: every query averages the values it may attend to with the same weights e^{k_i} (equation 4)."""

    roles: ClassVar[Mapping[str, str]] = {
        role: dims for role, dims in (ROLES | STATE_ROLES).items() if role != "position_bias"
    }

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        return cls(config.d_model, config.n_head)

    @classmethod
    def cost(cls) -> Cost:
        """Computed as running sums of e^k and e^k v."""
        return SIMPLE

    def reaches(self) -> int:
        return 0

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> None:
        return None


class AftConv(PositionBiased):
    """K ∈ R^{T×h}, w ∈ R^{h×s} by distance t − i ∈ [0, s), 0 beyond: all features of a head share their weights.

    w = γ (w' − mean(w')) / std(w') + β, with mean and standard deviation over a head's s distances. γ and β are learned
    and start at 0: the model starts as AFT-simple and learns how much distance should matter.
    """

    roles: ClassVar[Mapping[str, str]] = {
        **{role: dims for role, dims in ROLES.items() if role != "mean_weights"},
        "k": "head position",
        "position_bias": "head query key",
        "weights": "head query key",
        "denominator": "head position",
    }
    overview: ClassVar[str] = "weights"

    def __init__(self, d_model: int, n_head: int, s: int) -> None:
        super().__init__(d_model, n_head)
        self.s = s
        self.w_k = nn.Linear(d_model, n_head)
        self.kernel = nn.Parameter(torch.empty(n_head, s))
        self.gamma, self.beta = nn.Parameter(torch.empty(n_head)), nn.Parameter(torch.empty(n_head))
        self.init_weights()

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        return cls(config.d_model, config.n_head, config.reach)

    @classmethod
    def cost(cls) -> Cost:
        """Like AFT-local, with one weight and one denominator per head."""
        near = (CostTerm("numerator", ("near", "d")), CostTerm("denominator", ("near", "h")))
        window = (CostTerm("window", ("s", "d")), CostTerm("window_keys", ("s", "h")))
        return Cost(
            (CostTerm("kernel", ("2", "s", "h")), CostTerm("keyed_values", ("T", "d")), *near, QUOTIENT, GATE),
            (INPUTS, CostTerm("state", ("2", "d")), *window),
            time="Tsd",
            space="Td",
            steps="T",
            path="T",
        )

    @classmethod
    def parameters_by_role(cls) -> dict[str, Parameter]:
        keys = {"w_k": Parameter("w_k.weight", "head d_model"), "b_k": Parameter("w_k.bias", "head")}
        kernel = {"kernel": Parameter("kernel", "head distance")}
        kernel |= {role: Parameter(role, "head") for role in ("gamma", "beta")}
        return super().parameters_by_role() | keys | kernel

    def init_weights(self) -> None:
        nn.init.normal_(self.kernel, std=0.02)
        for parameter in (self.gamma, self.beta):
            nn.init.zeros_(parameter)

    def undecayed(self) -> tuple[nn.Parameter, ...]:
        return (self.kernel,)

    def reaches(self) -> int:
        return self.s

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        deviation = self.kernel - self.kernel.mean(-1, keepdim=True)
        std = self.kernel.std(-1, correction=0, keepdim=True)
        w = self.gamma[:, None] * deviation / std + self.beta[:, None]  # head s
        distance = -apart(query_positions, key_positions)  # 1|batch query key
        near = (distance >= 0) & (distance < self.s)
        return w[:, distance.clamp(0, self.s - 1)].transpose(0, 1) * near[:, None]  # 1|batch head query key

    def see_bias(self, w: Tensor) -> Tensor:
        return self.position_bias(w)

    def see_features(self, tap: Tap, x: Tensor) -> Tensor:
        return tap(x[..., 0])[..., None]

    def see_means(self, weights: Tensor) -> None:
        """Nothing to average: one weight serves all features of a head."""

    @classmethod
    def identities(cls) -> tuple[Identity, ...]:
        kept = [identity for identity in super().identities() if identity.op not in ("feature_mean", "feature_sum")]
        return (*kept, Identity("weighted_sum", ("weights", "v"), "mixed"))

    @staticmethod
    def key_contributions(of: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """As in the other forms, with one weight for all features of a head; only their gates differ."""
        shared = of["weights"][..., None].expand(*of["weights"].shape, of["v"].shape[-1])
        return AttentionFree.key_contributions({**of, "weights": shared})
