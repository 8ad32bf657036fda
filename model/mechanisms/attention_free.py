"""Attention Free Transformers (Zhai et al. 2021): no QKᵀ. Each feature is a weighted mean of the values with weights
for this feature, and the query only gates the result.

    Y_t = σ(q_t) ⊙ Σ_i exp(w_ti + k_i) ⊙ v_i / Σ_i exp(w_ti + k_i)        (equation 2), sums over allowed i

The forms differ in w, the position bias (`aft.py`). RWKV takes the same sum with a bias that decays (`wkv.py`). All
subtract a maximum before the exponential, because exp of a float32 overflows at 89.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from chumoku.model import masks
from chumoku.model.mechanisms.caches import Folded
from chumoku.model.mechanisms.mixer import Identity, Mixer, MixerDescription, Parameter
from chumoku.model.taps import Tap

if TYPE_CHECKING:
    from chumoku.model.config import ModelConfig


SPREAD = 60.0
"""The largest spread of exponents for the product form. It loses terms below e^−60; float32 ends near e^−87, so no row
loses all its terms."""


def feature_weights(logits: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """exp(logits) over the allowed keys, normalised for each query and feature.

    logits [batch head 1|query key feature], allowed bool [batch 1|head query key] → weights and exponentials
    [batch head query key feature], and the sums of the exponentials [batch head query feature]. Exponentials are
    divided by the largest of their row; a row without an allowed key is zeros.
    """
    logits = logits.masked_fill(~allowed[..., None], -torch.inf)
    largest = logits.amax(-2, keepdim=True)  # batch head query 1 feature
    top = (logits - largest.masked_fill(largest == -torch.inf, 0.0)).exp()
    sums = top.sum(-2)
    return top / sums.clamp(min=torch.finfo(sums.dtype).tiny)[..., None, :], top, sums


def factored_mean(k: Tensor, v: Tensor, w: Tensor | None, allowed: Tensor) -> Tensor:
    """Σ_i exp(w_ti + k_i) v_i / Σ_i exp(w_ti + k_i) as two products of matrices: [batch head query d_head].

    k [batch head key 1|d_head], v [batch head key d_head], w [1|batch 1|head query key] or None for zeros. exp(w + k)
    is exp(w) exp(k), so nothing as large as query × key × d_head is made. If the spread of k over the keys plus that of
    w exceeds `SPREAD`, all terms of a row could round to zero (0/0), so the exact form is used.
    """
    with torch.autocast(k.device.type, enabled=False):
        k, v, w = exact(k), exact(v), w if w is None else exact(w)
        if too_far_apart(k, w):
            logits = k[:, :, None] if w is None else k[:, :, None] + w[..., None]
            return (feature_weights(logits, allowed)[0] * v[:, :, None]).sum(-2)
        e_k = (k - k.amax(-2, keepdim=True)).exp()  # batch head key 1|d_head
        e_w = allowed.to(k.dtype) if w is None else torch.where(allowed, (w - w.amax(-1, keepdim=True)).exp(), 0.0)
        return (e_w @ (e_k * v)) / (e_w @ e_k).clamp(min=torch.finfo(k.dtype).tiny)


def too_far_apart(k: Tensor, w: Tensor | None) -> bool:
    """Whether a product of two exponentials could be too small for float32."""
    k = k.detach()
    spread = (k.amax(-2) - k.amin(-2)).max() + (0 if w is None else w.detach().max() - w.detach().min())
    return bool(spread > SPREAD)


def exact(x: Tensor) -> Tensor:
    """Cast half precision to float32."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


ROLES = {
    "q": "head position d_head",
    "k": "head position d_head",
    "v": "head position d_head",
    "position_bias": "query key",
    "mask": "head query key",
    "weights": "head query key d_head",
    "mean_weights": "head query key",
    "numerator": "head position d_head",
    "denominator": "head position d_head",
    "mixed": "head position d_head",
    "gate": "head position d_head",
    "z": "head position d_head",
    "attn_out": "position d_model",
}
STATE = dict.fromkeys(("state_mean", "state_log_sum"), "head position d_head")
"""Of a mechanism whose sums over earlier keys are a state of constant size: what later positions need of them."""
BY_KEY = ("k", "v")
"""Roles whose positions are the keys'."""
SHOW_KEYS = (*BY_KEY, *(role for role, dims in ROLES.items() if "key" in dims.split()))
"""Roles that show every key: a cache that folds keys cannot give them."""


class AttentionFree(Mixer):
    """The base of all forms. Features are shown in n_head groups of d_head, so that a group resembles a head; still,
    each feature has separate weights.

    `numerator` and `denominator` are the two sums divided by exp(max_i (w_ti + k_i)), the largest allowed term of each
    query and feature, which keeps them finite; `mixed` is their quotient and `z` the gated one. `mean_weights` is a
    mean of `weights` over the features of a group, for display only: nothing is computed from it.
    """

    roles: ClassVar[Mapping[str, str]] = ROLES
    overview: ClassVar[str] = "mean_weights"
    gated_by: ClassVar[str] = "q"  # the role whose σ is the gate
    factored = False  # whether to use the product form, for training: `fuse`
    q: Tap
    k: Tap
    v: Tap
    position_bias: Tap
    mask: Tap
    weights: Tap
    mean_weights: Tap
    numerator: Tap
    denominator: Tap
    mixed: Tap
    gate: Tap
    z: Tap
    attn_out: Tap
    state_mean: Tap
    state_log_sum: Tap

    def __init__(self, d_model: int, n_head: int) -> None:
        super().__init__()
        self.n_head = n_head
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        for role, dims in self.roles.items():
            setattr(self, role, Tap(dims))

    @abstractmethod
    def mix(self, k: Tensor, v: Tensor, query_positions: Tensor, key_positions: Tensor, mask: Tensor) -> Tensor:
        """The weighted mean of the values [batch head query d_head], zeros without an allowed key."""

    @classmethod
    def describe(cls, config: ModelConfig) -> MixerDescription:
        return MixerDescription(
            cls.roles,
            cls.parameters_by_role(),
            overview=cls.overview,
            n_head=config.n_head,
            n_kv_head=config.n_head,
            d_head=config.d_head,
            identities=cls.identities(),
            contribution_roles=("v", "weights", "gate", "w_o"),
            by_key=BY_KEY,
        )

    @classmethod
    def parameters_by_role(cls) -> dict[str, Parameter]:
        square = {f"w_{x}": Parameter(f"w_{x}.weight", "d_model d_model") for x in "qkvo"}
        return square | {f"b_{x}": Parameter(f"w_{x}.bias", "d_model") for x in "qkvo"}

    @classmethod
    def identities(cls) -> tuple[Identity, ...]:
        logits = tuple(role for role in ("position_bias", "k", "mask") if role in cls.roles)
        return (
            Identity("feature_softmax", logits, "weights"),
            Identity("feature_mean", ("weights",), "mean_weights"),
            Identity("feature_sum", ("weights", "v"), "mixed"),
            Identity("quotient", ("numerator", "denominator"), "mixed"),
            Identity("sigmoid", (cls.gated_by,), "gate"),
            Identity("product", ("gate", "mixed"), "z"),
        )

    @staticmethod
    def key_contributions(of: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """For each feature, the gated weight, and v times the feature's row of W^O. b_O belongs to no key."""
        gated = of["weights"] * of["gate"][:, :, None]  # head query key d_head
        weights = gated.permute(0, 3, 1, 2).flatten(0, 1)  # feature query key
        v = of["v"].permute(0, 2, 1).flatten(0, 1)  # feature key
        return weights, v[..., None] * of["w_o"].T[:, None]

    def writers(self) -> Iterator[nn.Linear]:
        yield self.w_o

    def fuse(self, seq_len: int | None = None) -> None:
        self.factored = True

    def reaches(self) -> int | None:
        """The distance from which w is 0, so that a cache may fold those keys; None: never."""
        return None

    def new_cache(self) -> Folded:
        return Folded(self.reaches())

    def forward(
        self,
        x_query: Tensor,
        x_key_value: Tensor,
        mask: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        is_pad: Tensor | None = None,
        cache: Folded | None = None,  # type: ignore[override]
    ) -> Tensor:
        gate, k, v = (self.split(x) for x in self.project(x_query, x_key_value, is_pad, cache))
        places = key_positions[..., None]
        if cache is not None:
            every_key = x_query is not x_key_value or any(tap.wanted for tap in self.taps_by_key())
            k, v, places, mask = cache.attend(k, v, places, mask, every_key)
        k, v = self.see_features(self.k, k), self.v(v)  # batch head key d_head
        self.see_state(k, v, query_positions, places[..., 0], mask)
        mixed = self.mixed(self.mix(k, v, query_positions, places[..., 0], mask))
        z = self.z(self.see_gate(gate) * mixed)  # batch head query d_head
        return self.attn_out(self.w_o(z.transpose(1, 2).flatten(-2)))

    def project(
        self, x_query: Tensor, x_key_value: Tensor, is_pad: Tensor | None, cache: Folded | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gate's input, the keys and the values: each [batch position feature]."""
        return self.w_q(x_query), self.w_k(x_key_value), self.w_v(x_key_value)

    def see_gate(self, q: Tensor) -> Tensor:
        """σ(q), of q [batch head query d_head]."""
        return self.gate(getattr(self, self.gated_by)(q).sigmoid())

    def average(self, logits: Tensor, v: Tensor, allowed: Tensor) -> Tensor:
        """The exact form with its taps, from logits [batch head 1|query key 1|d_head]."""
        weights, top, sums = feature_weights(logits, allowed)
        weights = self.see_features(self.weights, weights)
        self.see_means(weights)
        numerator = self.numerator((top * v[:, :, None]).sum(-2))
        denominator = self.see_features(self.denominator, sums)
        if self.weights.edited:
            return (weights * v[:, :, None]).sum(-2)
        return numerator / denominator.clamp(min=torch.finfo(sums.dtype).tiny)

    def see_features(self, tap: Tap, x: Tensor) -> Tensor:
        """Visit a tap that has a number for each feature, the last dimension of `x`."""
        return tap(x)

    def see_means(self, weights: Tensor) -> None:
        if self.mean_weights.wanted:
            self.mean_weights(weights.mean(-1))

    def see_state(self, k: Tensor, v: Tensor, query_positions: Tensor, key_positions: Tensor, mask: Tensor) -> None:
        """Visit what is carried on after each query, if it is requested: of all keys that `mask` allows it, whatever an
        edit forbids. Both are zeros where there is none."""
        if "state_mean" not in self.roles or not (self.state_mean.wanted or self.state_log_sum.wanted):
            return
        logits = self.carried(k, query_positions, key_positions)
        allowed = masks.allowed(mask)
        self.state_mean((feature_weights(logits, allowed)[0] * v[:, :, None]).sum(-2))
        log_sum = logits.masked_fill(~allowed[..., None], -torch.inf).logsumexp(-2)
        self.state_log_sum(log_sum.masked_fill(log_sum == -torch.inf, 0.0).expand_as(v[..., : log_sum.shape[-2], :]))

    def carried(self, k: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """The exponents of the keys in the state after each query: [batch head 1|query key d_head]."""
        return k[:, :, None]

    def see_mask(self, mask: Tensor) -> Tensor:
        """The mask of reasons as recorded: the same for all groups unless an edit changed some."""
        seen: Tensor = self.mask(mask.expand(-1, self.n_head, -1, -1))
        return seen if self.mask.edited else mask

    def taps_by_key(self) -> Iterator[Tap]:
        return (getattr(self, role) for role in SHOW_KEYS if role in self.roles)

    def split(self, x: Tensor) -> Tensor:
        """[batch position feature] → [batch head position d_head]"""
        batch, position, feature = x.shape
        return x.view(batch, position, self.n_head, feature // self.n_head).transpose(1, 2)
