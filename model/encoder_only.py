"""BERT's shape: one stack in which every token sees every other. It classifies the whole text, or fills gaps in it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from chumoku.model.config import ModelConfig
from chumoku.model.positions import positions_from
from chumoku.model.stack import Stack, init_weights
from chumoku.model.taps import Tap, name_taps


class EncoderOnly(Stack):
    """A BERT (Devlin et al. 2019). [CLS] comes first; with classes, its last state gives the class of the whole text.

    Without classes it is a masked language model: row t of the logits is about token t itself, which [MASK] may hide.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        if config.classes:
            self.classifier = nn.Linear(config.d_model, len(config.classes))
        else:
            self.unembedding = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.logits = Tap("class" if config.classes else "position vocab")
        name_taps(self)
        init_weights(self, config)
        if config.tie_embeddings and not config.classes:  # Press & Wolf 2017
            self.unembedding.weight = self.table.weight

    def forward(
        self,
        token_ids: Tensor,
        mask: Tensor,
        position_ids: Tensor | None = None,
        cls_index: Tensor | None = None,
        is_pad: Tensor | None = None,
    ) -> Tensor:
        """Arguments as for `states`, and the place of [CLS], int64 [batch] (0 by default; after the PADs if they are on
        the left) → logits [batch class], or [batch position vocab] without classes."""
        x = self.states(token_ids, mask, position_ids, is_pad)
        if not self.config.classes:
            return self.logits(self.unembedding(x))
        if cls_index is None:
            cls_index = torch.zeros(len(x), dtype=torch.long, device=x.device)
        cls = x[torch.arange(len(x), device=x.device), cls_index]  # batch d_model
        return self.logits(self.classifier(cls))

    def states(
        self, token_ids: Tensor, mask: Tensor, position_ids: Tensor | None = None, is_pad: Tensor | None = None
    ) -> Tensor:
        """token_ids, position_ids int64 [batch position], mask of reasons [batch 1|head query key], is_pad bool
        [batch position] (None: no masked PADs) → the last states [batch position d_model]."""
        if position_ids is None:
            position_ids = positions_from(token_ids)
        x = self.embed(token_ids, position_ids)
        for layer in self.layers:
            x = layer(x, mask, position_ids, is_pad)
        states: Tensor = self.final_norm(x)
        return states
