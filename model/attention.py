"""Scaled dot-product attention and its heads (Vaswani et al. 2017, section 3.2), with every intermediate tapped."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from model import masks
from model.kv_cache import LayerCache
from model.taps import Tap


def masked_softmax(scores: Tensor, allowed: Tensor) -> Tensor:
    """softmax over the keys that are allowed: exactly 0 where they are not, and a row of zeros where none is.

    The same as softmax(scores + M) with M = 0 or −∞, but a row of only −∞ would give 0/0 there.
    """
    weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
    return weights.masked_fill(~allowed, 0.0)


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O, head_i = Attention(X W_i^Q, X' W_i^K, X' W_i^V).

    X asks (`x_query`), X' answers (`x_key_value`): the same for self-attention, the encoder's output for
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

        self.q = Tap("head position d_head")
        self.k = Tap("head position d_head")
        self.v = Tap("head position d_head")
        self.scores = Tap("head query key")
        self.mask = Tap("head query key")
        self.pattern = Tap("head query key")
        self.z = Tap("head position d_head")
        self.head_out = Tap("head position d_model")
        self.attn_out = Tap("position d_model")

    def forward(self, x_query: Tensor, x_key_value: Tensor, mask: Tensor, cache: LayerCache | None = None) -> Tensor:
        """x_query [batch query d_model], x_key_value [batch key d_model], mask of reasons [batch 1|head query key]
        → [batch query d_model]. With a cache, `x_key_value` holds only the new positions, the mask all of them."""
        q = self.q(self.split_heads(self.w_q(x_query)))  # batch head query d_head
        k, v = self.split_heads(self.w_k(x_key_value)), self.split_heads(self.w_v(x_key_value))
        if cache is not None:
            k, v = cache.append(k, v)
        k, v = self.k(k), self.v(v)  # batch head key d_head
        z = self.z(self.attend(q, k, v, mask))  # batch head query d_head
        attn_out = self.w_o(z.transpose(1, 2).flatten(-2))  # batch query d_model
        if self.head_out.wanted:
            head_out = self.head_out(self.project_heads(z))
            if self.head_out.edited:
                attn_out = head_out.sum(dim=1) + self.w_o.bias
        return self.attn_out(attn_out)  # type: ignore[no-any-return]

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        """Attention(Q, K, V) = softmax(QKᵀ/√d_k + M) V (equation 1): [batch head query d_head].

        The softmax is written out, for its weights are what we are here to see.
        """
        scores = self.scores(q @ k.mT / math.sqrt(q.shape[-1]))  # batch head query key
        reasons = self.mask(mask.expand_as(scores))
        pattern = self.pattern(masked_softmax(scores, masks.allowed(reasons)))
        return self.dropout(pattern) @ v  # type: ignore[no-any-return]

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
        return torch.einsum("bhpd,mhd->bhpm", z, w_o)


def sdpa_attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """`MultiHeadAttention.attend` by torch's fused kernel: no scores, no weights, nothing to look at.

    Training uses it for speed; tests and benchmarks hold our own `attend` against it.
    """
    return F.scaled_dot_product_attention(q, k, v, attn_mask=masks.allowed(mask))


def fuse_attention(model: nn.Module) -> None:
    """Swap every `attend` of `model` for `sdpa_attend` (without attention dropout)."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.attend = sdpa_attend  # type: ignore[method-assign]
