"""The model families: decoder-only (GPT), encoder-only (BERT) and encoder-decoder ("Attention Is All You Need").

A new family is one class and one line in FAMILIES.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from chumoku.model.block import CrossBlock, Memory
from chumoku.model.cache import Cache, DecoderCache
from chumoku.model.config import ModelConfig
from chumoku.model.positions import positions_from
from chumoku.model.stack import BlockStack, init_weights
from chumoku.model.taps import Tap, name_taps


class DecoderOnly(BlockStack):
    """A GPT (Radford et al. 2018): every position predicts the next token; row t of the logits predicts token t + 1."""

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


class EncoderOnly(BlockStack):
    """A BERT (Devlin et al. 2019). [CLS] comes first; with classes, its last state gives the class of the whole text.

    Without classes it is a masked language model: row t of the logits predicts token t itself, which [MASK] may hide.
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


class EncoderDecoder(nn.Module):
    """The Transformer of Vaswani et al. 2017; source, target and output share one embedding (section 3.4).

    Row t of the logits predicts target token t + 1; the target begins with START.
    """

    __call__: Callable[..., Tensor]

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = BlockStack(config)
        self.decoder = BlockStack(config, CrossBlock)
        self.unembedding = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.logits = Tap("position vocab")
        name_taps(self)
        init_weights(self, config)
        if config.tie_embeddings:
            self.decoder.table.weight = self.encoder.table.weight
            self.unembedding.weight = self.encoder.table.weight

    def forward(
        self, source_ids: Tensor, target_ids: Tensor, source_mask: Tensor, target_mask: Tensor, cross_mask: Tensor
    ) -> Tensor:
        """source_ids int64 [batch key], target_ids int64 [batch query], masks of reasons
        [batch 1|head key key], [batch 1|head query query], [batch 1|head query key] → logits [batch query vocab]"""
        memory = Memory(self.encode(source_ids, source_mask), cross_mask)
        return self.decode(target_ids, target_mask, memory)

    def new_cache(self) -> DecoderCache:
        """An empty cache for the target, and for the keys and values of the source in cross-attention."""
        cross = Cache([layer.cross_attn.new_cache() for layer in self.decoder.layers if isinstance(layer, CrossBlock)])
        return DecoderCache(self.decoder.new_cache().layers, cross)

    def encode(
        self, source_ids: Tensor, mask: Tensor, position_ids: Tensor | None = None, is_pad: Tensor | None = None
    ) -> Tensor:
        """source_ids, position_ids int64 [batch position], mask of reasons [batch 1|head query key], is_pad bool [batch
        position] (None: no masked PADs) → what the decoder attends to [batch position d_model]."""
        if position_ids is None:
            position_ids = positions_from(source_ids)
        x = self.encoder.embed(source_ids, position_ids)
        for layer in self.encoder.layers:
            x = layer(x, mask, position_ids, is_pad)
        leaves: Tensor = self.encoder.final_norm(x)
        return leaves

    def decode(
        self,
        target_ids: Tensor,
        mask: Tensor,
        memory: Memory,
        position_ids: Tensor | None = None,
        cache: DecoderCache | None = None,
        is_pad: Tensor | None = None,
    ) -> Tensor:
        """target_ids, position_ids int64 [batch position], mask of reasons [batch 1|head query key], is_pad bool [batch
        position] (None: no PADs) → logits [batch position vocab].

        With a cache, `target_ids` are only the new positions, and the memory is read once.
        """
        first = 0 if cache is None else cache.positions
        if position_ids is None:
            position_ids = positions_from(target_ids, first)
        if cache is not None and cache.cross.positions:
            memory = memory.seen
        x = self.decoder.embed(target_ids, position_ids, first)  # batch position d_model
        for i, layer in enumerate(self.decoder.layers):
            kept = (cache.layers[i], cache.cross.layers[i]) if cache is not None else (None, None)
            x = layer(x, mask, position_ids, memory, is_pad, *kept)
        return self.logits(self.unembedding(self.decoder.final_norm(x)))


__all__ = ["FAMILIES", "DecoderOnly", "EncoderDecoder", "EncoderOnly", "Transformer", "build"]

Transformer = DecoderOnly | EncoderOnly | EncoderDecoder

FAMILIES: dict[str, Callable[[ModelConfig], Transformer]] = {
    "decoder-only": DecoderOnly,
    "encoder-only": EncoderOnly,
    "encoder-decoder": EncoderDecoder,
}


def build(config: ModelConfig) -> Transformer:
    """An untrained model of the family that `config` names."""
    return FAMILIES[config.family](config)


class NoNumbers(TorchFunctionMode):
    """Skips random initialisation, for parameters that are about to be read from a file. Zeros and tables are
    filled."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func.__name__ in ("normal_", "uniform_"):
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        return func(*args, **kwargs)


class ShapesOnly(NoNumbers):
    """Also creates parameters without memory.

    Not `torch.device("meta")`: that also moves buffers (such as tables of sines), and makes torch import its compiler.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        more = {"device": "meta"} if func is torch.empty else {}
        return super().__torch_function__(func, types, args, (kwargs or {}) | more)


@lru_cache(maxsize=32)
def skeleton(config: ModelConfig) -> Transformer:
    """The model of a config, whose parameters have shapes but no numbers. It is shared: do not modify."""
    with ShapesOnly():
        return build(config)


def stored_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The shapes in `weights.safetensors`, where a tied matrix has one name."""
    return {name: tuple(x.shape) for name, x in skeleton(config).named_parameters()}
