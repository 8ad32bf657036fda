"""A block: attention, then FFN, each added to the residual stream with a LayerNorm before or after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from chumoku.model.config import ModelConfig
from chumoku.model.mechanisms import MECHANISMS, MixerCache
from chumoku.model.positions import positions_from
from chumoku.model.stopping import check
from chumoku.model.taps import Tap


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, equation 2)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.pre = Tap("position d_ff")
        self.post = Tap("position d_ff")
        self.out = Tap("position d_model")

    def writers(self) -> Iterator[nn.Linear]:
        """The matrix that writes to the residual stream."""
        yield self.w_2

    def forward(self, x: Tensor) -> Tensor:
        """[batch position d_model] → [batch position d_model]"""
        pre = self.pre(self.w_1(x))  # batch position d_ff
        post = self.post(pre.relu())  # batch position d_ff
        return self.out(self.w_2(post))


SublayerFunction = Callable[[Tensor], Tensor]


class LayerNorm(nn.LayerNorm):
    """(x − mean) / √(variance + ε) · gain + bias over d_model (Ba et al. 2016), input and output tapped."""

    __call__: Callable[..., Tensor]

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__(d_model, eps)
        self.input = Tap("position d_model")
        self.out = Tap("position d_model")

    def forward(self, x: Tensor) -> Tensor:
        return self.out(super().forward(self.input(x)))


class PreNormResidual(nn.Module):
    """x + Dropout(Sublayer(LayerNorm(x))): GPT-2's order; the stream itself is never normalised."""

    __call__: Callable[..., Tensor]

    def __init__(self, d_model: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.norm = LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: SublayerFunction) -> Tensor:
        return x + self.dropped(sublayer(self.norm(x)))

    def dropped(self, x: Tensor) -> Tensor:
        """Dropout(x) while training. Otherwise skips the call of the module, which happens 13 times per token."""
        return self.dropout(x) if self.training else x


class PostNormResidual(PreNormResidual):
    """LayerNorm(x + Dropout(Sublayer(x))): the order of Vaswani et al. 2017, section 3.1."""

    def forward(self, x: Tensor, sublayer: SublayerFunction) -> Tensor:
        return self.norm(x + self.dropped(sublayer(x)))


class ResPostNormResidual(PreNormResidual):
    """x + Dropout(LayerNorm(Sublayer(x))): normalises what is added, not the stream (Liu et al. 2022)."""

    def forward(self, x: Tensor, sublayer: SublayerFunction) -> Tensor:
        return x + self.dropped(self.norm(sublayer(x)))


RESIDUALS = {"pre": PreNormResidual, "post": PostNormResidual, "res-post": ResPostNormResidual}


class Block(nn.Module):
    """Self-attention and FFN with their residual connections."""

    __call__: Callable[..., Tensor]

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        residual = RESIDUALS[config.norm_order]
        self.attn = MECHANISMS[config.mechanism].build(config)
        self.attn_residual = residual(config.d_model, config.layer_norm_eps, config.dropout)
        self.ffn = FeedForward(config.d_model, config.d_ff)
        self.ffn_residual = residual(config.d_model, config.layer_norm_eps, config.dropout)
        self.resid_pre = Tap("position d_model")
        self.resid_mid = Tap("position d_model")
        self.resid_post = Tap("position d_model")

    def forward(
        self,
        x: Tensor,
        mask: Tensor,
        positions: Tensor,
        is_pad: Tensor | None = None,
        cache: MixerCache | None = None,
    ) -> Tensor:
        """x [batch position d_model], mask of reasons [batch 1|head query key], positions int64 [1|batch position],
        is_pad bool [batch position] → [batch position d_model]"""
        check()
        x = self.resid_mid(self.attend(self.resid_pre(x), mask, positions, is_pad, cache))
        return self.resid_post(self.ffn_residual(x, self.ffn))

    def attend(
        self, x: Tensor, mask: Tensor, positions: Tensor, is_pad: Tensor | None, cache: MixerCache | None
    ) -> Tensor:
        """The self-attention sublayer, including its residual connection."""
        return self.attn_residual(x, lambda x: self.attn(x, x, mask, positions, positions, is_pad, cache))


@dataclass(frozen=True)
class Memory:
    """What a decoder reads in addition to its stream: the encoder's output [batch key d_model], a mask of reasons
    [batch 1|head query key] over it, its positions int64 [1|batch key] (None: counted from 0), and which are PADs.
    Empty, [batch 0 ..], if a cache already holds it."""

    x: Tensor
    mask: Tensor
    positions: Tensor | None = None
    is_pad: Tensor | None = None

    def under(self, mask: Tensor, batch: int = 1) -> Memory:
        """This memory under another mask, repeated for each row of a batch."""
        positions, is_pad = (x if x is None else x.expand(batch, -1) for x in (self.positions, self.is_pad))
        return Memory(self.x.expand(batch, -1, -1), mask, positions, is_pad)

    @property
    def seen(self) -> Memory:
        """An empty memory, for a cache that already holds this one."""
        positions = None if self.positions is None else self.positions[:, :0]
        return Memory(self.x[:, :0], self.mask, positions, None if self.is_pad is None else self.is_pad[:, :0])


class CrossBlock(Block):
    """A block that also attends to an encoder's output, between self-attention and FFN, with separate weights."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.cross_attn = MECHANISMS[config.mechanism].build(config)
        self.cross_attn_residual = RESIDUALS[config.norm_order](config.d_model, config.layer_norm_eps, config.dropout)
        self.resid_cross = Tap("position d_model")

    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        mask: Tensor,
        positions: Tensor,
        memory: Memory,
        is_pad: Tensor | None = None,
        cache: MixerCache | None = None,
        cross: MixerCache | None = None,
    ) -> Tensor:
        """x [batch position d_model] → the same shape; `cross` is the cache for the memory."""
        check()
        x = self.resid_mid(self.attend(self.resid_pre(x), mask, positions, is_pad, cache))
        keys = positions_from(memory.x) if memory.positions is None else memory.positions
        x = self.cross_attn_residual(
            x, lambda x: self.cross_attn(x, memory.x, memory.mask, positions, keys, memory.is_pad, cross)
        )
        return self.resid_post(self.ffn_residual(self.resid_cross(x), self.ffn))
