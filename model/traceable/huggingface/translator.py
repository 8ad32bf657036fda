"""An encoder-decoder of transformers: the source is read once, the target grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache

from chumoku.model.run import Run
from chumoku.model.taps import record, visit
from chumoku.model.trace import Trace, check_length, with_first
from chumoku.model.traceable.huggingface.capture import causal_mask
from chumoku.model.traceable.huggingface.model import HuggingFaceModel
from chumoku.model.traceable.huggingface.session import GrowingText


class Translator(HuggingFaceModel):
    """Its positions count PADs, which transformers gives no way to change."""

    @torch.inference_mode()
    def trace(self, run: Run, names: Sequence[str]) -> Trace:
        """Raises `ValueError` for no tokens, or more than the window on either side."""
        dims = {name: self.description.taps[name].dims for name in names}
        padded, target = self.padded(run), self.begun(run)
        check_length(len(padded), self.description.max_seq_len)
        check_length(len(target), self.description.max_seq_len, "target tokens, START included,")
        with record(names, run.edit) as recording, causal_mask(self.causal(run)):
            source = self.read_source(run)
            self.write(torch.tensor([target], device=self.device), source, self.seen(run))
        tensors = {name: recording.tensors[name][0].cpu() for name in names}
        return Trace(padded, run.is_pad, list(range(len(padded))), tensors, dims, target)

    def begun(self, run: Run) -> list[int]:
        """The target with START in front."""
        first = self.tokenizer.special.first
        return list(run.target or []) if first is None else with_first(run.target or [], first)

    def seen(self, run: Run) -> Tensor:
        """Which of the source's tokens are not hidden, int64 [1 key]."""
        is_pad = torch.tensor([run.is_pad], device=self.device)
        return (~(is_pad & run.use.padding)).long()

    def read_source(self, run: Run) -> Tensor:
        """The encoder's output [1 key d_model]."""
        ids = torch.tensor([self.padded(run)], device=self.device)
        found: Tensor = self.model.get_encoder()(input_ids=ids, attention_mask=self.seen(run)).last_hidden_state  # type: ignore[operator]
        return found

    def write(self, target: Tensor, source: Tensor, seen: Tensor, **cache: object) -> Tensor:
        """target int64 [1 query] → logits [1 query vocab]."""
        out = self.model(encoder_outputs=(source,), attention_mask=seen, decoder_input_ids=target, **cache)
        return visit(self.description.logits.tap, out.logits)

    def start(self, run: Run, names: Sequence[str]) -> GrowingText:
        return GrowingTarget(self, run, names)


class GrowingTarget(GrowingText):
    """The target of a translator. Its source is read before its first step."""

    traceable: Translator

    def __init__(self, traceable: Translator, run: Run, names: Sequence[str]) -> None:
        super().__init__(traceable, run, names)
        self.prompt = traceable.begun(run)
        self.source: Tensor | None = None
        self.both = None if self.cache is None else EncoderDecoderCache(self.cache, DynamicCache())

    @property
    def kept(self) -> list[Any]:
        return [] if self.both is None else [*super().kept, *self.both.cross_attention_cache.layers]

    def read(self, new: Tensor) -> Tensor:
        if self.source is None:
            with record(edit=self.run.edit):
                self.source = self.traceable.read_source(self.run)
        cache = {"use_cache": False} if self.both is None else {"past_key_values": self.both, "use_cache": True}
        return self.traceable.write(new, self.source, self.traceable.seen(self.run), **cache)
