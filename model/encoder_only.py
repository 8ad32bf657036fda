"""BERT's shape: one stack in which every token sees every other; the class is read from the first."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from model.config import ModelConfig
from model.positions import positions_from
from model.stack import Stack, init_weights
from model.taps import Tap, name_taps


class EncoderOnly(Stack):
    """A classifier (Devlin et al. 2019): [CLS] comes first, and its last state gives the class of the whole text."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(config.d_model, len(config.classes))
        self.logits = Tap("class")
        name_taps(self)
        init_weights(self, config)

    def forward(
        self,
        token_ids: Tensor,
        mask: Tensor,
        position_ids: Tensor | None = None,
        cls_index: Tensor | None = None,
        is_pad: Tensor | None = None,
    ) -> Tensor:
        """token_ids, position_ids int64 [batch position], mask of reasons [batch 1|head query key], the place of [CLS]
        int64 [batch] (0 by default; after the PADs if they are on the left) → logits [batch class]."""
        if position_ids is None:
            position_ids = positions_from(token_ids)
        x = self.embed(token_ids, position_ids)
        for layer in self.layers:
            x = layer(x, mask, position_ids, is_pad)
        x = self.final_norm(x)  # batch position d_model
        if cls_index is None:
            cls_index = torch.zeros(len(x), dtype=torch.long, device=x.device)
        cls = x[torch.arange(len(x), device=x.device), cls_index]  # batch d_model
        return self.logits(self.classifier(cls))  # type: ignore[no-any-return]
