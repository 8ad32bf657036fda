"""The shape of "Attention Is All You Need": an encoder reads the source, a decoder writes the target."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from chumoku.model.block import CrossBlock, Memory
from chumoku.model.cache import Cache, DecoderCache
from chumoku.model.config import ModelConfig
from chumoku.model.positions import positions_from
from chumoku.model.stack import Stack, init_weights
from chumoku.model.taps import Tap, name_taps


class EncoderDecoder(nn.Module):
    """The Transformer of Vaswani et al. 2017; source, target and output share one embedding (section 3.4).

    Row t of the logits is about target token t+1; the target begins with START.
    """

    __call__: Callable[..., Tensor]

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Stack(config)
        self.decoder = Stack(config, CrossBlock)
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
        """For the target, and for the decoder's reading of the source."""
        cross = Cache([one.cross_attn.new_cache() for one in self.decoder.layers if isinstance(one, CrossBlock)])
        return DecoderCache(self.decoder.new_cache().layers, cross)

    def encode(
        self, source_ids: Tensor, mask: Tensor, position_ids: Tensor | None = None, is_pad: Tensor | None = None
    ) -> Tensor:
        """source_ids, position_ids int64 [batch position] → what the decoder attends to [batch position d_model]"""
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
        """target_ids, position_ids int64 [batch position] → logits [batch position vocab].

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
