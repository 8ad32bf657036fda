"""RWKV-4's time mixing (Peng et al. 2023), which is based on AFT: the weight of a key falls by the same factor with
each position, so the sums over all earlier keys are a state of constant size.

    wkv_t = (Σ_{i<t} e^{−(t−1−i)w + k_i} v_i + e^{u + k_t} v_t) / (Σ_{i<t} e^{−(t−1−i)w + k_i} + e^{u + k_t})

(equation 16), with w = e^decay > 0 and a bonus u for each feature. The FFN is ours, without RWKV's channel mixing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self, cast

import torch
from torch import Tensor, nn

from chumoku.model import masks
from chumoku.model.mechanisms.attention_free import ROLES, STATE, AttentionFree, exact
from chumoku.model.mechanisms.caches import Folded
from chumoku.model.mechanisms.distances import apart
from chumoku.model.mechanisms.mixer import GATE, INPUTS, QUOTIENT, Cost, CostTerm, Identity, MixerDescription, Parameter

if TYPE_CHECKING:
    from chumoku.model.config import ModelConfig

NONE_OF = ("q", "position_bias")
VECTORS = ("decay", "bonus", "mix_r", "mix_k", "mix_v")


class Shifted(Folded):
    """A folded cache, and the input [batch 1 d_model] of the last real token, which is mixed into the next token's."""

    last: Tensor | None = None

    def select(self, rows: Tensor) -> None:
        super().select(rows)
        self.last = None if self.last is None else self.last[rows]

    def copy(self) -> Shifted:
        copy = Shifted(self.reach, self.decay)
        copy.kept, copy.seen, copy.folded, copy.last = self.kept, self.seen, self.folded, self.last
        return copy

    @property
    def nbytes(self) -> int:
        return super().nbytes + (0 if self.last is None else self.last.nbytes)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return super().tensors + (() if self.last is None else (self.last,))


class Wkv(AttentionFree):
    """r, k, v are projections of a mix of a token's input and the previous token's (token shift); σ(r) gates the mean.

    Causal by construction: without the causal mask, later keys stay forbidden. The matrix form serves traces and any
    mask; training runs the recurrence.
    """

    roles: ClassVar[Mapping[str, str]] = {"r": ROLES["q"]} | {
        role: dims for role, dims in (ROLES | STATE).items() if role not in NONE_OF
    }
    gated_by: ClassVar[str] = "r"

    def __init__(self, d_model: int, n_head: int) -> None:
        super().__init__(d_model, n_head)
        del self.w_q
        self.w_r, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        for name in VECTORS:
            setattr(self, name, nn.Parameter(torch.empty(d_model)))
        self.init_weights()

    decay: Tensor
    bonus: Tensor
    mix_r: Tensor
    mix_k: Tensor
    mix_v: Tensor

    @classmethod
    def describe(cls, config: ModelConfig) -> MixerDescription:
        if config.family != "decoder-only":
            raise ValueError(f"wkv reads one stream in its order: decoder-only, not {config.family}")
        return super().describe(config)

    @classmethod
    def parameters_by_role(cls) -> dict[str, Parameter]:
        square = {f"w_{x}": Parameter(f"w_{x}.weight", "d_model d_model") for x in "rkvo"}
        return square | {name: Parameter(name, "d_model") for name in VECTORS}

    @classmethod
    def cost(cls) -> Cost:
        """The cost of the recurrence: for each feature, the state decays, takes in k and v, and is read."""
        return Cost(
            (CostTerm("read", ("3", "T", "d")), CostTerm("written", ("3", "T", "d")), QUOTIENT, GATE),
            (INPUTS, CostTerm("state", ("3", "d"))),
            time="Td",
            space="Td",
            steps="T",
            path="T",
        )

    @classmethod
    def identities(cls) -> tuple[Identity, ...]:
        return tuple(identity for identity in super().identities() if identity.op != "feature_softmax")

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        return cls(config.d_model, config.n_head)

    def init_weights(self) -> None:
        """Decays from slow to fast over the features, so that some remember long from the start."""
        d_model = len(self.decay)
        nn.init.constant_(self.bonus, 0.5)
        with torch.no_grad():
            self.decay.copy_(torch.linspace(-5.0, 1.0, d_model))
            for name in ("mix_r", "mix_k", "mix_v"):
                getattr(self, name).copy_(torch.linspace(0.0, 1.0, d_model) ** 0.5)

    def new_cache(self) -> Shifted:
        return Shifted(0, self.by_head(self.decay.exp()))

    def project(
        self, x_query: Tensor, x_key_value: Tensor, is_pad: Tensor | None, cache: Folded | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """r, k, v of each token, from a mix of its input and the previous token's: each [batch position d_model]."""
        x, before = x_query, self.shift(x_query, is_pad, cast(Shifted | None, cache))  # batch position d_model
        r, k, v = (torch.lerp(before, x, mix) for mix in (self.mix_r, self.mix_k, self.mix_v))
        return self.w_r(r), self.w_k(k), self.w_v(v)

    def mix(self, k: Tensor, v: Tensor, query_positions: Tensor, key_positions: Tensor, mask: Tensor) -> Tensor:
        """wkv_t; later keys are forbidden under any mask."""
        later = masks.causal(mask.shape[-2], mask.shape[-1], mask.device)
        if self.factored and len(mask) == 1 and torch.equal(mask[0, 0], later):
            return recurrent(k, v, self.by_head(self.decay.exp()), self.by_head(self.bonus))
        allowed = masks.allowed(self.see_mask(mask | later))
        return self.average(self.logits(k, query_positions, key_positions), v, allowed)

    def shift(self, x: Tensor, is_pad: Tensor | None, cache: Shifted | None) -> Tensor:
        """For each token, the input of the real token before it, zeros for the first: [batch position d_model]."""
        batch, n, _ = x.shape
        first = torch.zeros_like(x[:, :1]) if cache is None or cache.last is None else cache.last
        every = torch.cat((first, x), 1)  # batch 1+position d_model
        real = torch.ones(batch, n, dtype=torch.bool, device=x.device) if is_pad is None else ~is_pad
        latest = (torch.arange(1, n + 1, device=x.device) * real).cummax(1).values  # batch position
        rows = torch.arange(batch, device=x.device)[:, None]
        if cache is not None:
            cache.last = every[rows, latest[:, -1:]]
        return every[rows, torch.cat((torch.zeros_like(latest[:, :1]), latest[:, :-1]), 1)]

    def logits(self, k: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """k_i − (t − 1 − i)w, and k_t + u for the token itself: [batch head query key d_head].

        The queries are the last positions of the keys. Positions count real tokens only, so PADs add no decay.
        """
        n_query, n_key = query_positions.shape[-1], k.shape[-2]
        between = (-apart(query_positions, key_positions) - 1).clamp(min=0)[:, None, :, :, None]
        fallen = k[:, :, None] - between * self.by_head(self.decay.exp())[:, None, None]
        itself = torch.eye(n_query, dtype=torch.bool, device=k.device)
        itself = torch.cat((itself.new_zeros(n_query, n_key - n_query), itself), -1)[..., None]  # query key 1
        return torch.where(itself, k[:, :, None] + self.by_head(self.bonus)[:, None, None], fallen)

    def see_state(self, k: Tensor, v: Tensor, query_positions: Tensor, key_positions: Tensor, mask: Tensor) -> None:
        later = masks.causal(mask.shape[-2], mask.shape[-1], mask.device)
        super().see_state(k, v, query_positions, key_positions, mask | later)

    def carried(self, k: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """k_i − (t − i)w: what `logits` reads at t + 1."""
        between = (-apart(query_positions, key_positions)).clamp(min=0)[:, None, :, :, None]
        return k[:, :, None] - between * self.by_head(self.decay.exp())[:, None, None]

    def by_head(self, x: Tensor) -> Tensor:
        """[d_model] → [head d_head]"""
        return x.view(self.n_head, -1)


def recurrent(k: Tensor, v: Tensor, w: Tensor, u: Tensor) -> Tensor:
    """wkv_t for every t [batch head position d_head] under the causal mask, one position after the other.

    k, v [batch head position d_head], w, u [head d_head]. The state is the two sums divided by e^top; top is the
    largest exponent so far.
    """
    k, v = exact(k), exact(v)
    a, b = torch.zeros_like(v[..., 0, :]), torch.zeros_like(v[..., 0, :])
    top = torch.full_like(a, -torch.inf)
    out = []
    for k_t, v_t in zip(k.unbind(-2), v.unbind(-2), strict=True):
        here = torch.maximum(top, k_t + u)
        e_state, e_own = (top - here).exp(), (k_t + u - here).exp()
        out.append((e_state * a + e_own * v_t) / (e_state * b + e_own))
        later = torch.maximum(top - w, k_t)
        e_state, e_own = (top - w - later).exp(), (k_t - later).exp()
        a, b, top = e_state * a + e_own * v_t, e_state * b + e_own, later
    return torch.stack(out, -2)
