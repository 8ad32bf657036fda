"""The cache of a mechanism that adds keys up: the recent ones as they are, and all older ones as a single key.

Where the position bias of a key no longer depends on the query, or falls at the same rate for every key, the sums over
those keys are those of one key:

    Σ_i e^{k_i} v_i = e^{k_s} v_s,    k_s = log Σ_i e^{k_i},    v_s = Σ_i e^{k_i − k_s} v_i

This is the state of the recurrent form, in a shape that the matrix form reads.
"""

from __future__ import annotations

import torch
from torch import Tensor

from chumoku.model.mechanisms.history import History


class Folded(History):
    """k [batch head key 1|d_head], v [batch head key d_head] and positions [1|batch key 1] of the keys that are kept.

    The leading keys are folded once they are at least `reach` positions before every later query; None: never.
    `decay` [head d_head] is how fast their weight falls with each position (RWKV); None: it stays. Only causal and
    padding masks allow it, because then a key is forbidden to all later queries or to none.
    """

    def __init__(self, reach: int | None, decay: Tensor | None = None) -> None:
        super().__init__()
        self.reach, self.decay = reach, decay
        self.seen = 0
        self.folded = False  # whether the first key stands for several

    @property
    def positions(self) -> int:
        return self.seen

    def copy(self) -> Folded:
        other = Folded(self.reach, self.decay)
        other.kept, other.seen, other.folded = self.kept, self.seen, self.folded
        return other

    def attend(
        self, k: Tensor, v: Tensor, places: Tensor, mask: Tensor, every_key: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The keys, values, positions and the mask of reasons [batch 1|head query key] that the new positions attend
        to, themselves included; then fold what later ones need only as a sum, unless `every_key` is asked for."""
        self.seen += k.shape[-2]
        k, v, places = self.append(k, v, places.expand(len(k), -1, -1))
        if self.folded:
            recent = mask[..., mask.shape[-1] - k.shape[-2] + 1 :]
            mask = torch.cat((torch.zeros_like(mask[..., :1]), recent), -1)  # a folded key is allowed
        if self.reach is not None and not every_key:
            self.fold(k, v, places, mask[..., -1, :] != 0, self.reach)
        return k, v, places, mask

    def fold(self, k: Tensor, v: Tensor, places: Tensor, forbidden: Tensor, reach: int) -> None:
        """`forbidden` bool [batch 1|head key]: PADs, which add nothing."""
        newest = places[:, -1:]  # batch 1 1
        old = newest + 1 - places >= reach  # batch key 1
        n = int(old.long().cumprod(1).sum(1).min())
        if n == 0:
            return
        until = places[:, n - 1 : n]  # batch 1 1
        logits = k[..., :n, :].masked_fill(forbidden[..., :n, None], -torch.inf)
        if self.decay is not None:
            logits = logits - (until - places[:, :n])[:, None] * self.decay[:, None]
        total = logits.logsumexp(-2, keepdim=True)  # batch head 1 1|d_head
        share = (logits - total.masked_fill(total == -torch.inf, 0.0)).exp()
        value = (share * v[..., :n, :]).sum(-2, keepdim=True)
        self.kept = tuple(
            torch.cat((sum_, x[..., n:, :]), -2) for sum_, x in zip((total, value, until), (k, v, places), strict=True)
        )
        self.folded = True
