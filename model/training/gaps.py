"""MaskedTokens in texts: which tokens a masked language model has to predict, and what it sees in their place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from chumoku.model.tokenizer import Tokenizer

HIDDEN, REPLACED = 0.8, 0.1
"""The shares of the chosen tokens that become [MASK] and a random token; the rest stay (Devlin et al. 2019, 3.1)."""


class MaskedTokens(NamedTuple):
    """`seen` int64 [batch position] is what the model reads, `chosen` bool [batch position] where it has to answer, and
    `answers` int64 [chosen] the tokens that were there, row by row."""

    seen: Tensor
    chosen: Tensor
    answers: Tensor


def mask_tokens(ids: Tensor, share: float, tokenizer: Tokenizer, rng: np.random.Generator) -> MaskedTokens:
    """Choose `share` of the tokens of ids [batch position], at least one and never a special one, by BERT's rule
    (Devlin et al. 2019, section 3.1): 80 % of them become [MASK], 10 % a random token, 10 % stay as they are.

    Raises `ValueError` for a tokenizer without [MASK]."""
    if tokenizer.mask_id is None:
        raise ValueError("this tokenizer has no [MASK] to hide tokens with")
    flat = ids.flatten().numpy()
    first_special = min(tokenizer.special_ids.values())
    plain = np.flatnonzero(flat < first_special)
    n = max(1, round(share * len(plain)))
    places = rng.choice(plain, n, replace=False)
    n_hidden, n_replaced = round(HIDDEN * n), round(REPLACED * n)
    seen, chosen = flat.copy(), np.zeros(len(flat), dtype=bool)
    chosen[places] = True
    seen[places[:n_hidden]] = tokenizer.mask_id
    replaced = places[n_hidden : n_hidden + n_replaced]
    seen[replaced] = rng.integers(first_special, size=len(replaced))
    return MaskedTokens(
        torch.from_numpy(seen).view_as(ids), torch.from_numpy(chosen).view_as(ids), torch.from_numpy(flat[chosen])
    )
