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
from model.sampling import Distribution, Settings, distribution
from model.taps import record
from model.trace import check_length, with_first


class TargetGenerator(Generator):
    """A target that grows when asked: `prefill`, then `step` after `step`. `ids` are the target's, START first.

    `names` are taps of the decoder: in a `Step`, its self-attention's keys are all target positions, its
    cross-attention's the whole source. The source is read once, and its keys and values are kept.
    """

    def __init__(self, checkpoint: Checkpoint, settings: Settings, names: Sequence[str] = ()) -> None:
        """Raises `ValueError` for a model that is no encoder-decoder."""
        super().__init__(checkpoint, settings, names)
        self.model = checkpoint.encoder_decoder
        self.cache = DecoderCache.empty(checkpoint.config.n_layer)  # type: ignore[assignment]
        self.source_ids: list[int] = []

    def prefill(self, ids: Sequence[int], target_ids: Sequence[int] = ()) -> Step:
        """Read the source `ids`, and the target's beginning (START is put before it). Raises `ValueError` when either
        is longer than the window, or the source is empty."""
        check_length(len(ids), self.checkpoint.config.max_seq_len, "source tokens")
        self.source_ids = list(ids)
        self._encode()
        return super().prefill(with_first(target_ids, self.checkpoint.tokenizer.first_id))

    @torch.inference_mode()
    def _encode(self) -> None:
        source = torch.tensor([self.source_ids], device=self.checkpoint.device)  # 1 key
        self.no_pad = torch.zeros_like(source, dtype=torch.bool)
        self.memory = self.model.encode(source, masks.encoder_mask(self.no_pad))  # 1 key d_model

    @torch.inference_mode()
    def _forward(self, new_ids: Sequence[int]) -> tuple[Distribution, dict[str, Tensor]]:
        """Run the new target tokens on top of the cache."""
        new = torch.tensor([new_ids], device=self.checkpoint.device)  # 1 query
        is_pad = torch.zeros(1, len(self.ids), dtype=torch.bool, device=new.device)
        mask = masks.decoder_mask(is_pad, query_len=len(new_ids))  # 1 1 query key
        memory = Memory(self.memory, masks.cross_mask(self.no_pad, len(new_ids)))
        with record(self.names) as recording:
            logits = self.model.decode(new, mask, memory, cache=self.cache)[0, -1]  # type: ignore[arg-type]  # vocab
        tensors = {name: recording.tensors[name][0].cpu() for name in self.names}
        return distribution(logits, self.settings, banned=self.checkpoint.tokenizer.never_sampled), tensors


def generate_target(
    checkpoint: Checkpoint, ids: Sequence[int], settings: Settings, max_new_tokens: int, names: Sequence[str] = ()
) -> Iterator[Step]:
    """START's step, then up to `max_new_tokens` more of the target of the source `ids`; stops behind an END and where
    the window is full."""
    generator = TargetGenerator(checkpoint, settings, names)
    yield generator.prefill(ids)
    for _ in range(min(max_new_tokens, checkpoint.config.max_seq_len - 1)):
        step = generator.step()
        yield step
        if step.ids[-1] == checkpoint.tokenizer.end_id:
            return
