"""The models, put together from the parts: tokens in, logits out."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from model.block import Block, LayerNorm
from model.config import ModelConfig
from model.kv_cache import KVCache
from model.positions import build_positions
from model.taps import Tap, name_taps


class DecoderOnly(nn.Module):
    """A GPT (Radford et al. 2018): every position predicts the next token; row t of the logits is about token t+1."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = build_positions(config)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.final_norm = (
            LayerNorm(config.d_model, config.layer_norm_eps) if config.norm_order == "pre" else nn.Identity()
        )
        self.unembedding = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.tie_embeddings:  # Press & Wolf 2017
            self.unembedding.weight = self.token_embedding.weight

        self.embedding = Tap("position d_model")
        self.positional = Tap("position d_model")
        self.logits = Tap("position vocab")
        name_taps(self)
        self.apply(init_weights)
        shrink_residual_writers(self)

    def forward(
        self, token_ids: Tensor, mask: Tensor, position_ids: Tensor | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """token_ids, position_ids int64 [batch position], mask of reasons [batch 1|head query key]
        → logits [batch position vocab].

        With a cache, `token_ids` are the new positions only; `position_ids` default to counting on from the cache.
        """
        if position_ids is None:
            start = cache.seq_len if cache is not None else 0
            position_ids = torch.arange(start, start + token_ids.shape[1], device=token_ids.device)[None]
        x = self.embed(token_ids, position_ids)  # batch position d_model
        for i, layer in enumerate(self.layers):
            x = layer(x, mask, cache.layers[i] if cache is not None else None)
        return self.logits(self.unembedding(self.final_norm(x)))  # type: ignore[no-any-return]

    def embed(self, token_ids: Tensor, position_ids: Tensor) -> Tensor:
        """E[id] + position: [batch position d_model]"""
        embedding = self.token_embedding(token_ids)
        if self.config.scale_embeddings:  # Vaswani et al. 2017, section 3.4
            embedding = embedding * math.sqrt(self.config.d_model)
        x = self.embedding(embedding) + self.positional(self.positions(position_ids))
        return self.dropout(x)  # type: ignore[no-any-return]


def init_weights(module: nn.Module) -> None:
    """Normal, std 0.02 (GPT-2). torch's default std of 1 for embeddings makes tied logits huge, and training slow."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def shrink_residual_writers(model: DecoderOnly) -> None:
    """Scale what writes into the residual stream by 1/√(2 n_layer): its variance must not grow with depth (GPT-2)."""
    for layer in model.layers:
        assert isinstance(layer, Block)
        for writer in (layer.attn.w_o, layer.ffn.w_2):
            nn.init.normal_(writer.weight, std=0.02 / math.sqrt(2 * len(model.layers)))


FAMILIES = {"decoder-only": DecoderOnly}


def build(config: ModelConfig) -> DecoderOnly:
    """An untrained model of the family that `config` names. A new family is one class and one line in FAMILIES."""
    return FAMILIES[config.family](config)
