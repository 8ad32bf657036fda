"""GPT's shape: one stack under a causal mask."""

from __future__ import annotations

from torch import Tensor, nn

from chumoku.model.cache import Cache
from chumoku.model.config import ModelConfig
from chumoku.model.positions import positions_from
from chumoku.model.stack import Stack, init_weights
from chumoku.model.taps import Tap, name_taps


class DecoderOnly(Stack):
    """A GPT (Radford et al. 2018): every position predicts the next token; row t of the logits is about token t+1."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.unembedding = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.logits = Tap("position vocab")
        name_taps(self)
        init_weights(self, config)
        if config.tie_embeddings:  # Press & Wolf 2017
            self.unembedding.weight = self.table.weight

    def forward(
        self,
        token_ids: Tensor,
        mask: Tensor,
        position_ids: Tensor | None = None,
        cache: Cache | None = None,
        is_pad: Tensor | None = None,
    ) -> Tensor:
        """token_ids, position_ids int64 [batch position], mask of reasons [batch 1|head query key], is_pad bool
        [batch position] (None: no masked PADs) → logits [batch position vocab].

        With a cache, `token_ids` are only the new positions; `position_ids` continue from the cache by default.
        """
        first = 0 if cache is None else cache.positions
        if position_ids is None:
            position_ids = positions_from(token_ids, first)
        x = self.embed(token_ids, position_ids, first)  # batch position d_model
        for i, layer in enumerate(self.layers):
            x = layer(x, mask, position_ids, is_pad, cache.layers[i] if cache is not None else None)
        return self.logits(self.unembedding(self.final_norm(x)))
