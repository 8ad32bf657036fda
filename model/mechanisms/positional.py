"""Softmax attention that knows where its queries and keys are: what relative and rotary positions share."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor

from chumoku.model.mechanisms.history import History
from chumoku.model.mechanisms.softmax import MultiHeadAttention


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
