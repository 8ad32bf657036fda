"""AFT-conv (Zhai et al. 2021, section 3.2): a bias by distance, and a key of one number per head."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

import torch
from torch import Tensor, nn

from chumoku.model.mechanisms.aft import PositionBiased
from chumoku.model.mechanisms.attention_free import ROLES, AttentionFree
from chumoku.model.mechanisms.cost import GATE, INPUTS, QUOTIENT, Cost, Term
from chumoku.model.mechanisms.distances import apart
from chumoku.model.mechanisms.mixer import Identity, Parameter
from chumoku.model.taps import Tap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chumoku.model.config import ModelConfig


class AftConv(PositionBiased):
    """K ∈ R^{T×h}, w ∈ R^{h×s} by distance t − i ∈ [0, s), 0 beyond: all features of a head share their weights.

    w = γ (w' − mean(w')) / std(w') + β, mean and standard deviation over a head's s distances, with γ and β learned
    and 0 at first: the model starts as AFT-simple and learns how much distance should matter.
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
        """As AFT-local's, with one weight and one denominator per head."""
        near = (Term("numerator", ("near", "d")), Term("denominator", ("near", "h")))
        window = (Term("window", ("s", "d")), Term("window_keys", ("s", "h")))
        return Cost(
            (Term("kernel", ("2", "s", "h")), Term("keyed_values", ("T", "d")), *near, QUOTIENT, GATE),
            (INPUTS, Term("state", ("2", "d")), *window),
            time="Tsd",
            space="Td",
            steps="T",
            path="T",
        )

    @classmethod
    def parameters_by_role(cls) -> dict[str, Parameter]:
        keys = {"w_k": Parameter("w_k.weight", "head d_model"), "b_k": Parameter("w_k.bias", "head")}
        own = {"kernel": Parameter("kernel", "head distance")}
        own |= {role: Parameter(role, "head") for role in ("gamma", "beta")}
        return super().parameters_by_role() | keys | own

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
        """There is nothing to take a mean of: one weight serves all features of a head."""

    @classmethod
    def identities(cls) -> tuple[Identity, ...]:
        kept = [one for one in super().identities() if one.op not in ("feature_mean", "feature_sum")]
        return (*kept, Identity("weighted_sum", ("weights", "v"), "mixed"))

    @staticmethod
    def key_contributions(of: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """As in the other forms: the gate is what makes the features of a head differ."""
        shared = of["weights"][..., None].expand(*of["weights"].shape, of["v"].shape[-1])
        return AttentionFree.key_contributions({**of, "weights": shared})
