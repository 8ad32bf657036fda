"""Scaled dot-product attention and its heads (Vaswani et al. 2017, section 3.2), with every intermediate tapped."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from chumoku.model import masks
from chumoku.model.mechanisms.caches import History
from chumoku.model.mechanisms.mixer import INPUTS, Cost, CostTerm, Identity, Mixer, MixerDescription, Parameter
from chumoku.model.taps import Tap

if TYPE_CHECKING:
    from chumoku.model.config import ModelConfig


ROLES = {
    "q": "head position d_head",
    "k": "kv_head position d_head",  # n_kv_head == n_head
    "v": "kv_head position d_head",
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
BY_FEATURE, BY_HEAD = ("T", "T", "d"), ("T", "T", "h")
COST = Cost(
    (CostTerm("scores", BY_FEATURE), CostTerm("scale", BY_HEAD), CostTerm("softmax", BY_HEAD),
     CostTerm("values", BY_FEATURE)),
    (INPUTS, CostTerm("weights", BY_HEAD)),
    time="T²d", space="T² + Td", steps="1", path="1",
)  # fmt: skip
SHORT = 256
"""Up to this length, our `attend` trains at least as fast on a CPU, and applies dropout to the weights: the backward
pass of the fused kernel costs more than it saves (8 rows of 256 tokens in bfloat16: 27 ms per layer; ours takes 13 ms
without dropout)."""
LOWEST = torch.finfo(torch.float32).min / 2


def masked_softmax(scores: Tensor, allowed: Tensor) -> Tensor:
    """softmax over the allowed keys: forbidden keys are exactly 0, and a row with no allowed key is all zeros.

    Computes softmax(scores + M) with M = 0, or a number so low that its exponential is 0. It is not −∞: a row of only
    −∞ would be 0/0. If `allowed` has 1 for the heads, only the sum and the product are as large as `scores`.
    """
    m = torch.where(allowed, 0.0, LOWEST)  # … 1|head query key
    some = (m.amax(dim=-1, keepdim=True) == 0).to(scores.dtype)  # … 1|head query 1
    return (scores + m).softmax(dim=-1) * some


class MultiHeadAttention(Mixer):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O, head_i = Attention(X W_i^Q, X' W_i^K, X' W_i^V).

    X is `x_query` and X' is `x_key_value`: the same tensor in self-attention, the encoder's output in
    cross-attention.
    """

    def __init__(self, d_model: int, n_head: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.n_head = n_head
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)
        self.joined: tuple[Tensor, Tensor] | None = None  # weight [3 d_model, d_model] and bias: join_projections

        self.q, self.k, self.v = Tap(ROLES["q"]), Tap(ROLES["k"]), Tap(ROLES["v"])
        self.scores, self.mask, self.pattern = Tap(ROLES["scores"]), Tap(ROLES["mask"]), Tap(ROLES["pattern"])
        self.z, self.head_out, self.attn_out = Tap(ROLES["z"]), Tap(ROLES["head_out"]), Tap(ROLES["attn_out"])

    @staticmethod
    def describe(config: ModelConfig) -> MixerDescription:
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
            contribution_roles=("pattern", "v", "w_o"),
            by_key=("k", "v"),
        )

    @classmethod
    def cost(cls) -> Cost:
        """With all weights in memory, because the page shows them. The fused kernel computes them in blocks: its space
        is Td."""
        return COST

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        return cls(config.d_model, config.n_head, config.dropout)

    def new_cache(self) -> History:
        """A cache of keys and values."""
        return History()

    @staticmethod
    def key_contributions(of: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The weights, and v_h W_h^O. b_V is part of v; b_O belongs to no key."""
        pattern, v, w_o = of["pattern"], of["v"], of["w_o"]
        v = v.repeat_interleave(len(pattern) // len(v), dim=0)  # query heads may share values
        w_o = w_o.view(len(w_o), len(pattern), -1)  # d_model head d_head
        return pattern, v @ w_o.permute(1, 2, 0)

    def writers(self) -> Iterator[nn.Linear]:
        yield self.w_o

    def forward(  # type: ignore[override]  # needs no positions and no PADs
        self,
        x_query: Tensor,
        x_key_value: Tensor,
        mask: Tensor,
        query_positions: Tensor | None = None,
        key_positions: Tensor | None = None,
        is_pad: Tensor | None = None,
        cache: History | None = None,
    ) -> Tensor:
        q, k, v = (self.split_heads(x) for x in self.project(x_query, x_key_value))
        q = self.q(q)  # batch head query d_head
        if cache is not None:
            k, v = cache.append(k, v)
        k, v = self.k(k), self.v(v)  # batch head key d_head
        return self.write(self.z(self.attend(q, k, v, mask)))

    def write(self, z: Tensor) -> Tensor:
        """Concat(z_1, …, z_h) W^O + b_O: [batch query d_model], of z [batch head query d_head]."""
        attn_out = self.w_o(z.transpose(1, 2).flatten(-2))  # batch query d_model
        if self.head_out.wanted:
            head_out = self.head_out(self.project_heads(z))
            if self.head_out.edited:
                attn_out = head_out.sum(dim=1) + self.w_o.bias
        return self.attn_out(attn_out)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        """Attention(Q, K, V) = softmax(QKᵀ/√d_k + M) V (equation 1): [batch head query d_head].

        The softmax is written out because its weights are what the page shows.
        """
        pattern = self.weigh(self.scores(q @ k.mT / math.sqrt(q.shape[-1])), mask)  # batch head query key
        return (self.dropout(pattern) if self.training else pattern) @ v

    def weigh(self, scores: Tensor, mask: Tensor) -> Tensor:
        """softmax(scores + M): [batch head query key], of a mask of reasons [batch 1|head query key]."""
        seen = self.mask(mask.expand_as(scores))
        mask = seen if self.mask.edited else mask  # one matrix for all heads, unless an edit changed a single head
        return self.pattern(masked_softmax(scores, masks.allowed(mask)))

    def project(self, x_query: Tensor, x_key_value: Tensor) -> Sequence[Tensor]:
        """X W^Q, X' W^K, X' W^V of all heads, each [batch position d_model]."""
        if self.joined is not None and x_query is x_key_value:
            return F.linear(x_query, *self.joined).chunk(3, dim=-1)
        return self.w_q(x_query), self.w_k(x_key_value), self.w_v(x_key_value)

    def fuse(self, seq_len: int | None = None) -> None:
        if seq_len is None or seq_len > SHORT:
            self.attend = sdpa_attend  # type: ignore[method-assign]

    def lay_out_for_reading(self) -> None:
        self.join_projections()

    def join_projections(self) -> None:
        """Make W^Q, W^K, W^V views of one matrix, so that self-attention multiplies once instead of three times.

        For a model that is only read: moving it to another device or dtype would separate them again.
        """
        linears = (self.w_q, self.w_k, self.w_v)
        weight = torch.cat([linear.weight.data for linear in linears]).T.contiguous().T  # laid out as in checkpoint.py
        bias = torch.cat([linear.bias.data for linear in linears])
        for linear, w, b in zip(linears, weight.chunk(3), bias.chunk(3), strict=True):
            linear.weight.data, linear.bias.data = w, b
        self.joined = weight, bias

    def split_heads(self, x: Tensor) -> Tensor:
        """[batch position d_model] → [batch head position d_head]"""
        batch, position, d_model = x.shape
        return x.view(batch, position, self.n_head, d_model // self.n_head).transpose(1, 2)

    def project_heads(self, z: Tensor) -> Tensor:
        """What each head adds to the residual stream, z_i W_i^O: [batch head position d_model].

        Their sum plus the bias is `attn_out`.
        """
        d_model = self.w_o.out_features
        w_o = self.w_o.weight.view(d_model, self.n_head, -1)  # d_model head d_head
        return z @ w_o.permute(1, 2, 0)


def sdpa_attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """`MultiHeadAttention.attend` with torch's fused kernel: no scores and no weights to record.

    Training uses it for speed; tests and benchmarks compare our `attend` with it.
    """
    return F.scaled_dot_product_attention(q, k, v, attn_mask=masks.allowed(mask))


class PositionalAttention(MultiHeadAttention):
    """Multi-head attention whose `attend_at` gets position ids too. Its cache keeps those of the keys."""

    @abstractmethod
    def attend_at(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        """`attend` for position ids int64 [1|batch query] and [1|batch key]: [batch head query d_head]."""

    def forward(  # type: ignore[override]
        self,
        x_query: Tensor,
        x_key_value: Tensor,
        mask: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        is_pad: Tensor | None = None,
        cache: History | None = None,
    ) -> Tensor:
        q, k, v = (self.split_heads(x) for x in self.project(x_query, x_key_value))
        places = key_positions[..., None]  # 1|batch key 1
        if cache is not None:
            k, v, places = cache.append(k, v, places.expand(len(k), -1, -1))
        q, k, v = self.q(q), self.k(k), self.v(v)  # batch head query|key d_head
        return self.write(self.z(self.attend_at(q, k, v, mask, query_positions, places[..., 0])))
