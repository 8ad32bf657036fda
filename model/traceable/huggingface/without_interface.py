"""Attention modules that do not ask for an attention function: a `forward` of ours, from theirs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from chumoku.model import stopping
from chumoku.model.describe.attention_variants import CONTENT
from chumoku.model.taps import edited, visit, wanted
from chumoku.model.traceable.huggingface.capture import BIAS, TAPS, attend, weigh


def replace_attention(module: Any) -> None:
    """Of BERT's kind: compute as before, by `attend`. The mask is that of our mask function, which such a model does
    ask for."""

    def forward(hidden_states: Tensor, attention_mask: Tensor | None = None, **_: Any) -> tuple[Tensor, Tensor]:
        shape = (*hidden_states.shape[:-1], -1, module.attention_head_size)
        q, k, v = (
            x(hidden_states).view(shape).transpose(1, 2) for x in (module.query, module.key, module.value)
        )  # batch head position d_head
        z, pattern = attend(module, q, k, v, attention_mask, divisor=math.sqrt(module.attention_head_size))
        return z.flatten(-2), pattern

    module.forward = forward


def replace_alibi(module: Any) -> None:
    """Of BLOOM: the products and the bias are added up by one call of torch, whose rounding no two calls have."""

    def forward(
        hidden_states: Tensor, residual: Tensor, alibi: Tensor, attention_mask: Tensor | None = None,
        layer_past: Any = None, **_: Any,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        stopping.check()
        q, k, v = module._reshape(module.query_key_value(hidden_states))  # batch head position d_head
        if layer_past is not None:
            k, v = layer_past.update(k, v, module.layer_idx)
        taps: Mapping[str, str] = getattr(module, TAPS)
        q, k, v = visit(taps["q"], q), visit(taps["k"], k), visit(taps["v"], v)
        scores = scores_of(taps, q, k, alibi, module.inv_norm_factor)
        z, pattern = weigh(taps, scores, attention_mask, v)
        return residual + module.dense(z.flatten(-2)), pattern

    module.forward = forward


def scores_of(taps: Mapping[str, str], q: Tensor, k: Tensor, alibi: Tensor, scale: float) -> Tensor:
    """q kᵀ · scale + alibi [batch head query key]; the parts are computed only when asked for."""
    shape = (*q.shape[:-1], k.shape[-2])
    if wanted(taps[CONTENT]) or wanted(taps[BIAS]):
        content = visit(taps[CONTENT], q @ k.mT * scale)
        bias = visit(taps[BIAS], alibi.view(*q.shape[:2], 1, -1).expand(shape))
        if edited(taps[CONTENT]) or edited(taps[BIAS]):
            return content + bias
    flat = [x.reshape(-1, *x.shape[-2:]) for x in (q, k)]
    return alibi.baddbmm(flat[0], flat[1].transpose(-1, -2), beta=1.0, alpha=scale).view(shape)
