"""Weighted means over keys in which every feature has weights of its own, as AFT and RWKV take them.

Both forms subtract a maximum before the exponential: exp of a float32 overflows at 89.
"""

from __future__ import annotations

import torch
from torch import Tensor

SPREAD = 60.0
"""e^−60 is the smallest term that the product form may lose without a row of zeros: float32 ends near e^−87."""


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
    is exp(w) exp(k), so nothing as large as query × key × d_head is made. Where k's spread over the keys exceeds
    `SPREAD`, a row could see only terms that round to zero, 0/0: then the exact form is taken.
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
    """In float32 if it was rounded for speed."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
