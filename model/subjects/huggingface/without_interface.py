"""Attention modules of BERT's kind that do not ask for an attention function: a `forward` of ours, from theirs."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from chumoku.model.subjects.huggingface.capture import attend


def replace_attention(module: Any) -> None:
    """Compute as before, by `attend`. The mask is that of our mask function, which such a model does ask for."""

    def forward(hidden_states: Tensor, attention_mask: Tensor | None = None, **_: Any) -> tuple[Tensor, Tensor]:
        shape = (*hidden_states.shape[:-1], -1, module.attention_head_size)
        q, k, v = (
            x(hidden_states).view(shape).transpose(1, 2) for x in (module.query, module.key, module.value)
        )  # batch head position d_head
        z, pattern = attend(module, q, k, v, attention_mask, divisor=math.sqrt(module.attention_head_size))
        return z.flatten(-2), pattern

    module.forward = forward
