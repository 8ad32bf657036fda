"""Capture in a model of transformers: we replace its attention function and its mask function.

Hooks visit the other taps (`hooks.py`); they are set once, when the model is loaded. Attention modules that do not look
up a function get a new `forward` (`forwards.py`). All of them read the ContextVar of `model.taps`, so threads that
share a model never see each other's tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface

from chumoku.model import masks, stopping
from chumoku.model.describe import Attention
from chumoku.model.describe.attention_variants import CONTENT
from chumoku.model.taps import visit

NAME = "chumoku"
LOWEST = torch.finfo(torch.float32).min
"""Added to forbidden scores. A row without an allowed key has the weight 1/T everywhere, as in transformers."""
TAPS = "chumoku_taps"
"""The attribute of an attention module that maps its roles to taps."""
UNSHOWN = ("s_aux", "softcap", "indices", "head_mask")
"""Arguments that change the weights, and that no known family passes."""
BIAS = "bias"
"""The key in `taps_of` for the part of the scores that depends only on positions, whatever its role is called."""

_causal: ContextVar[bool | None] = ContextVar("chumoku_causal", default=None)
_positions: ContextVar[Tensor | None] = ContextVar("chumoku_positions", default=None)


@contextmanager
def causal_mask(on: bool | None) -> Iterator[None]:
    """In this block the causal mask of a decoder's stack is on or off; None: as the model was trained."""
    token = _causal.set(on)
    try:
        yield
    finally:
        _causal.reset(token)


@contextmanager
def positions_given(ids: Tensor | None) -> Iterator[None]:
    """In this block a model that finds its own positions takes these [batch position]; None: its own."""
    token = _positions.set(ids)
    try:
        yield
    finally:
        _positions.reset(token)


def given_positions() -> Tensor | None:
    return _positions.get()


def reasons(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] | None = None,
    attention_mask: Tensor | None = None,
    device: torch.device | str = "cpu",
    **_: object,
) -> Tensor:
    """The mask of a forward pass as reasons (model/masks.py): uint8 [batch 1 query key].

    Later keys that transformers' mask function forbids are causal if it forbids the very next one; all other keys that
    it forbids are outside the window.
    """
    query = torch.arange(q_offset, q_offset + q_length, device=device)[:, None]
    key = torch.arange(kv_offset, kv_offset + kv_length, device=device)[None]
    later = key > query
    shape = (batch_size, 1, q_length, kv_length)
    seen = torch.ones_like(later) if mask_function is None else mask_function(0, 0, query, key)
    seen = torch.as_tensor(seen, device=device).expand_as(later)
    causal, outside = _causal.get(), ~later & ~seen
    if (seen & (key == query + 1)).any():  # an encoder, whose window may have two sides
        outside, seen = ~seen, torch.ones_like(seen)
    forbidden = later & ~seen if causal is None else later & torch.tensor(causal, device=device)
    found = forbidden * masks.CAUSAL | outside * masks.WINDOW
    found = found.to(torch.uint8).expand(shape)
    if attention_mask is not None:
        is_pad = ~attention_mask[:, kv_offset : kv_offset + kv_length].bool()
        found = found | masks.padding(is_pad)[:, None]
    return found


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    *,
    divisor: float | None = None,
    position_bias: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    """softmax(QKᵀ · scaling + M) V, in the order of transformers' eager attention, so that no bit differs. With a
    `divisor`, the products are divided by it; a `position_bias` [1|batch head query key] is added to them.

    query [batch head query d_head], key and value [batch kv_head key d_head]; returns z [batch query head d_head] and
    the weights. Raises `ValueError` for an argument that it does not know.
    """
    stopping.check()
    if given := [name for name in UNSHOWN if others.get(name) is not None]:
        raise ValueError(f"its attention has {given[0]}, which changes the weights and is not shown")
    taps: Mapping[str, str] = getattr(module, TAPS)
    if position_bias is not None and BIAS not in taps and position_bias.any():
        raise ValueError("its attention has position_bias, which changes the weights and is not shown")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    query, key, value = visit(taps["q_turned"], query), visit(taps["k_turned"], key), visit(taps["v"], value)
    group = query.shape[1] // key.shape[1]
    if group > 1:
        key, value = repeated(key, group), repeated(value, group)
    products = torch.matmul(query, key.transpose(2, 3))
    products = products * scaling if divisor is None else products / divisor
    if position_bias is not None and BIAS in taps:
        products = visit(taps[CONTENT], products) + visit(taps[BIAS], position_bias.expand_as(products))
    return weigh(taps, products, attention_mask, value)


def weigh(
    taps: Mapping[str, str], scores: Tensor, attention_mask: Tensor | None, value: Tensor
) -> tuple[Tensor, Tensor]:
    """softmax(scores + M) V: z [batch query head d_head], and the weights [batch head query key]."""
    scores = visit(taps["scores"], scores)
    mask = torch.zeros((), dtype=torch.uint8, device=scores.device) if attention_mask is None else attention_mask
    mask = visit(taps["mask"], mask.expand_as(scores))
    pattern = (scores + torch.where(masks.allowed(mask), 0.0, LOWEST)).softmax(dim=-1)
    pattern = visit(taps["pattern"], pattern)
    z = visit(taps["z"], torch.matmul(pattern, value))
    return z.transpose(1, 2).contiguous(), pattern


def repeated(x: Tensor, group: int) -> Tensor:
    """Repeat each head `group` times, [batch kv_head key d] → [batch head key d], as transformers does: a single head
    stays a view, which torch multiplies in another order."""
    batch, n_kv_head, n, d = x.shape
    return x[:, :, None].expand(batch, n_kv_head, group, n, d).reshape(batch, n_kv_head * group, n, d)


def taps_of(attention: Attention, layer: int) -> dict[str, str]:
    """The tap of each role. `q_turned` and `k_turned` are the factors of the scores, rotated or not; `bias` is what is
    added to their products."""
    taps = {role: attention.tap(role, layer) for role in attention.roles}
    taps |= {f"{x}_turned": taps.get(f"{x}_rotated", taps[x]) for x in "qk"}
    added = [role for role in attention.parts.get("scores", ()) if role != CONTENT]
    return taps | {BIAS: taps[added[0]]} if added else taps


# Both under one name: without a mask function of this name, transformers passes no mask, and nothing is causal.
AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, reasons)
