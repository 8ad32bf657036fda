"""A loaded model of transformers that can be traced: traces, growing texts, parameters by our names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import torch
from torch import Tensor, nn

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.taps import record, visit
from chumoku.model.trace import Trace, check_length, pad_ids
from chumoku.model.traceable.huggingface.capture import causal_mask
from chumoku.model.traceable.huggingface.layout import Adapter, Stored
from chumoku.model.traceable.huggingface.session import GrowingText
from chumoku.model.traceable.protocols import About, Session, Tokenizer, TraceableModel
from chumoku.model.translate import BeamSearch


class HuggingFaceModel(TraceableModel):
    """It has none of our modules. What its tensors say is shown, and what a stream says to its own last modules."""

    def __init__(
        self, about: About, adapter: Adapter, model: nn.Module, tokenizer: Tokenizer, device: torch.device
    ) -> None:
        self._about, self.adapter, self.model, self._tokenizer, self._device = about, adapter, model, tokenizer, device

    @property
    def about(self) -> About:
        return self._about

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def device(self) -> torch.device:
        return self._device

    @cached_property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in (*self.model.parameters(), *self.model.buffers()))

    @property
    def checkpoint(self) -> Checkpoint | None:
        return None

    @property
    def simplest(self) -> Run:
        """What any such model can read."""
        return Run([0], target=[self.tokenizer.special.first or 0] if self.description.writes == "target" else None)

    @torch.inference_mode()
    def trace(self, run: Run, names: Sequence[str]) -> Trace:
        """Raises `ValueError` for no tokens or more than the window."""
        dims = {name: self.description.taps[name].dims for name in names}
        padded = self.padded(run)
        check_length(len(padded), self.description.max_seq_len)
        is_pad = torch.tensor([run.is_pad], device=self.device)  # 1 position
        position_ids = masks.position_ids(is_pad if run.pads_take_no_position else torch.zeros_like(is_pad))
        with record(names, run.edit) as recording, causal_mask(self.causal(run)):
            self.read_ids(torch.tensor([padded], device=self.device), position_ids, is_pad & run.use.padding)
        tensors = {name: recording.tensors[name][0].cpu() for name in names}
        return Trace(padded, run.is_pad, position_ids[0].tolist(), tensors, dims)

    def padded(self, run: Run) -> list[int]:
        pad_id = self.tokenizer.special.pad
        return pad_ids(run.ids, run.pad, 0 if pad_id is None else pad_id)

    def causal(self, run: Run) -> bool | None:
        """The causal mask of a run; None where it is the model's own."""
        own = any(one.causal for one in self.description.attentions)
        return None if run.use.causal == own else run.use.causal

    def read_ids(self, ids: Tensor, position_ids: Tensor, hidden: Tensor, **more: object) -> Tensor:
        """The forward pass: ids and position_ids [batch query], hidden bool [batch key] (the PADs that no query sees)
        → logits [batch query vocab]."""
        attention_mask = (~hidden).long()
        rows = position_ids + self.adapter.first_row
        out = self.model(input_ids=ids, attention_mask=attention_mask, position_ids=rows, **more)
        return visit(self.description.logits.tap, out.logits)

    def start(self, run: Run, names: Sequence[str]) -> Session:
        return GrowingText(self, run, names)

    def search(self, run: Run, beams: int, alpha: float) -> BeamSearch:
        raise NotImplementedError("`can` says that there is none")

    @torch.inference_mode()
    def read(self, stream: Tensor) -> Tensor:
        """Its own last norm, if it has one, and the matrix that makes its logits."""
        stack = self.description.readout
        x = stream.to(self.device)[None] * (stack.layers[-1].scale or 1.0)
        if (norm := self.adapter.stacks[stack.id].final_norm) is not None:
            x = self.model.get_submodule(norm)(x)
        assert self.adapter.head is not None  # `can` says so
        logits: Tensor = self.model.get_submodule(self.adapter.head)(x)
        return logits[0].cpu()

    @cached_property
    def stored(self) -> Mapping[str, Stored]:
        return {one.ours: one for one in self.adapter.stored()}

    def weights(self, names: Sequence[str]) -> dict[str, Tensor]:
        return {name: self.stored[name].of(self.model) for name in names}
