"""A block: attention, then FFN, each added to the residual stream with a LayerNorm before or after."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from model.attention import MultiHeadAttention
from model.config import ModelConfig
from model.feedforward import FeedForward
from model.kv_cache import LayerCache
from model.taps import Tap

Sublayer = Callable[[Tensor], Tensor]


class LayerNorm(nn.LayerNorm):
    """(x − mean) / √(variance + ε) · gain + bias over d_model (Ba et al. 2016), input and output tapped."""

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__(d_model, eps)
        self.input = Tap("position d_model")
        self.out = Tap("position d_model")

    def forward(self, x: Tensor) -> Tensor:
        return self.out(super().forward(self.input(x)))  # type: ignore[no-any-return]


class PreNormResidual(nn.Module):
    """x + Dropout(Sublayer(LayerNorm(x))): GPT-2's order; the stream itself is never normalised."""

    def __init__(self, d_model: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.norm = LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        return x + self.dropout(sublayer(self.norm(x)))  # type: ignore[no-any-return]


class PostNormResidual(PreNormResidual):
    """LayerNorm(x + Dropout(Sublayer(x))): the order of Vaswani et al. 2017, section 3.1."""

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        return self.norm(x + self.dropout(sublayer(x)))  # type: ignore[no-any-return]


RESIDUALS = {"pre": PreNormResidual, "post": PostNormResidual}


class Block(nn.Module):
    """Self-attention and FFN with their residual connections."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        residual = RESIDUALS[config.norm_order]
        self.attn = MultiHeadAttention(config.d_model, config.n_head, config.dropout)
        self.attn_residual = residual(config.d_model, config.layer_norm_eps, config.dropout)
        self.ffn = FeedForward(config.d_model, config.d_ff)
        self.ffn_residual = residual(config.d_model, config.layer_norm_eps, config.dropout)
        self.resid_pre = Tap("position d_model")
        self.resid_mid = Tap("position d_model")
        self.resid_post = Tap("position d_model")

    def forward(self, x: Tensor, mask: Tensor, cache: LayerCache | None = None) -> Tensor:
        """x [batch position d_model], mask of reasons [batch 1|head query key] → [batch position d_model]"""
        x = self.resid_pre(x)
        x = self.resid_mid(self.attn_residual(x, lambda x: self.attn(x, x, mask, cache)))
        return self.resid_post(self.ffn_residual(x, self.ffn))  # type: ignore[no-any-return]
