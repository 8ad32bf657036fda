"""Masks as matrices of reasons.

A mask is a uint8 matrix `query key`: 0 means that the query may attend to the key, any other value says why not, one
bit per reason. `attend` needs a bool: **True = may attend**, the convention of
`torch.nn.functional.scaled_dot_product_attention` (`nn.MultiheadAttention` means the opposite).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

CAUSAL = 1
"""The key comes after the query."""
PADDING = 2
"""The key is a PAD token."""
WINDOW = 4
"""The key is too far from the query."""
EDITED = 8
"""An intervention forbids the cell."""
REASONS = {"causal": CAUSAL, "padding": PADDING, "window": WINDOW, "edited": EDITED}


def nothing(query_len: int, key_len: int, device: torch.device | None = None) -> Tensor:
    """Every query may attend to every key: zeros [query key], uint8."""
    return torch.zeros(query_len, key_len, dtype=torch.uint8, device=device)


def causal(query_len: int, key_len: int, device: torch.device | None = None) -> Tensor:
    """No query sees a later key: [query key], uint8. The queries are the last `query_len` of the `key_len` positions,
    as with a KV cache that holds the earlier ones (Vaswani et al. 2017, section 3.2.3)."""
    forbidden = torch.ones(query_len, key_len, dtype=torch.uint8, device=device)
    return forbidden.triu(diagonal=key_len - query_len + 1) * CAUSAL


def padding(is_pad: Tensor) -> Tensor:
    """No query sees a PAD key: bool [batch key] → uint8 [batch 1 key]."""
    return is_pad.to(torch.uint8)[:, None, :] * PADDING


def decoder_mask(is_pad: Tensor, *, use_causal: bool = True, use_padding: bool = True, query_len: int = 0) -> Tensor:
    """The mask of a decoder's self-attention: bool [batch key] → reasons [batch 1 query key], uint8.

    `query_len` is the number of newest positions that are queries (0: all of them); the 1 spans the heads.
    """
    key_len = is_pad.shape[-1]
    query_len = query_len or key_len
    reasons = (causal if use_causal else nothing)(query_len, key_len, is_pad.device)  # query key
    reasons = reasons.expand(is_pad.shape[0], -1, -1)  # batch query key
    if use_padding:
        reasons = reasons | padding(is_pad)
    return reasons[:, None]  # batch 1 query key


def allowed(reasons: Tensor) -> Tensor:
    """The bool mask that `attend` gets: True where there is no reason against attending."""
    return reasons == 0


def pads_right(lengths: Sequence[int]) -> Tensor:
    """Which positions are PADs in a batch of rows of these lengths, padded on the right: bool [batch position]."""
    return torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]


def position_ids(is_pad: Tensor) -> Tensor:
    """Position ids that count real tokens only, so padding shifts nothing: bool [batch position] → int64, same shape.

    A PAD gets the position of the last real token before it (0 at the start), because it needs some row of the table.
    """
    return (~is_pad).long().cumsum(dim=-1).sub(1).clamp(min=0)


def encoder_mask(is_pad: Tensor, *, use_causal: bool = False, use_padding: bool = True) -> Tensor:
    """The mask of an encoder's self-attention: bool [batch key] → reasons [batch 1 key key]. No encoder is trained with
    a causal mask; it can be switched on to see what it breaks."""
    return decoder_mask(is_pad, use_causal=use_causal, use_padding=use_padding)


def cross_mask(source_is_pad: Tensor, query_len: int, *, use_padding: bool = True) -> Tensor:
    """The mask of cross-attention: no target position sees a PAD of the source: bool [batch key]
    → reasons [batch 1 query key]."""
    return decoder_mask(source_is_pad, use_causal=False, use_padding=use_padding)[:, :, :1].expand(
        -1, -1, query_len, -1
    )
