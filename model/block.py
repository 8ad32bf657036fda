"""A block: attention, then FFN, each added to the residual stream with a LayerNorm before or after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


class ResPostNormResidual(PreNormResidual):
    """x + Dropout(LayerNorm(Sublayer(x))): what is written is normalised, the stream is not (Liu et al. 2022)."""

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        return x + self.dropout(self.norm(sublayer(x)))  # type: ignore[no-any-return]


RESIDUALS = {"pre": PreNormResidual, "post": PostNormResidual, "res-post": ResPostNormResidual}


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
        x = self.resid_mid(self.attend(self.resid_pre(x), mask, cache))
        return self.resid_post(self.ffn_residual(x, self.ffn))  # type: ignore[no-any-return]

    def attend(self, x: Tensor, mask: Tensor, cache: LayerCache | None) -> Tensor:
        """The self-attention's part, residual included."""
        return self.attn_residual(x, lambda x: self.attn(x, x, mask, cache))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Memory:
    """What a decoder reads beside its own stream: the encoder's output [batch key d_model] and a mask of reasons
    [batch 1|head query key] over it. With a cache that has seen it already, `x` is empty: [batch 0 d_model]."""

    x: Tensor
    mask: Tensor


class CrossBlock(Block):
    """A block that also attends to an encoder's output, between self-attention and FFN, with weights of its own."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.cross_attn = MultiHeadAttention(config.d_model, config.n_head, config.dropout)
        self.cross_attn_residual = RESIDUALS[config.norm_order](config.d_model, config.layer_norm_eps, config.dropout)
        self.resid_cross = Tap("position d_model")

    def forward(  # type: ignore[override]
        self, x: Tensor, mask: Tensor, memory: Memory, cache: LayerCache | None = None, cross: LayerCache | None = None
    ) -> Tensor:
        """x [batch position d_model] → the same shape; `cross` keeps the memory's keys and values."""
        x = self.resid_mid(self.attend(self.resid_pre(x), mask, cache))
        x = self.cross_attn_residual(x, lambda x: self.cross_attn(x, memory.x, memory.mask, cross))
        return self.resid_post(self.ffn_residual(self.resid_cross(x), self.ffn))  # type: ignore[no-any-return]
