"""A translation token by token: an encoder-decoder's generation, which can be stopped, sampled and looked into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from model import masks
from model.block import Memory
from model.checkpoint import Checkpoint
from model.encoder_decoder import DecoderCache
from model.generate import Generator, Step
from model.sampling import Settings
from model.trace import check_length, with_first


class TargetGenerator(Generator):
    """A target that grows when asked: `prefill`, then `step` after `step`. `ids` are the target's, START first.

    `names` are taps of the decoder: in a `Step`, its self-attention's keys are all target positions, its
    cross-attention's the whole source. The source is read once, and its keys and values are kept.
    """

    cache: DecoderCache

    def __init__(
        self, checkpoint: Checkpoint, source_ids: Sequence[int], settings: Settings, names: Sequence[str] = ()
    ) -> None:
        """Raises `ValueError` for a model that is no encoder-decoder, and for a source that is empty or too long."""
        super().__init__(checkpoint, settings, names)
        check_length(len(source_ids), checkpoint.config.max_seq_len, "source tokens")
        self.model = checkpoint.encoder_decoder
        self.cache = DecoderCache(checkpoint.config.n_layer)
        self.source = torch.tensor([list(source_ids)], device=checkpoint.device)  # 1 key
        self.no_pad = torch.zeros_like(self.source, dtype=torch.bool)

    def prefill(self, ids: Sequence[int] = ()) -> Step:
        """Read the source, and the target's beginning `ids` (START is put before it). Raises `ValueError` when that is
        longer than the window."""
        with torch.inference_mode():
            self.memory = self.model.encode(self.source, masks.encoder_mask(self.no_pad))  # 1 key d_model
        return super().prefill(with_first(ids, self.checkpoint.tokenizer.first_id))

    def _logits(self, new: Tensor) -> Tensor:
        is_pad = torch.zeros(1, len(self.ids), dtype=torch.bool, device=new.device)
        mask = masks.decoder_mask(is_pad, query_len=new.shape[1])  # 1 1 query key
        memory = Memory(self.memory, masks.cross_mask(self.no_pad, new.shape[1]))
        return self.model.decode(new, mask, memory, cache=self.cache)


def generate_target(
    checkpoint: Checkpoint, ids: Sequence[int], settings: Settings, max_new_tokens: int, names: Sequence[str] = ()
) -> Iterator[Step]:
    """START's step, then up to `max_new_tokens` more of the target of the source `ids`; stops behind an END and where
    the window is full."""
    generator = TargetGenerator(checkpoint, ids, settings, names)
    yield generator.prefill()
    for _ in range(min(max_new_tokens, checkpoint.config.max_seq_len - 1)):
        step = generator.step()
        yield step
        if step.ids[-1] == checkpoint.tokenizer.end_id:
            return
