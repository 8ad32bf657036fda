"""A text that grows in a model of transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import DynamicCache

from chumoku.model import masks
from chumoku.model.run import Run
from chumoku.model.session import Forward
from chumoku.model.taps import begin_at, record
from chumoku.model.traceable.huggingface.capture import causal_mask

if TYPE_CHECKING:
    from chumoku.model.traceable.huggingface.model import HuggingFaceModel


class GrowingText:
    """A text under a run's masks, PADs and edits. If a query may see a later key, each step reads everything again."""

    def __init__(self, traceable: HuggingFaceModel, run: Run, names: Sequence[str]) -> None:
        """Raises `ValueError` if the prompt is empty or longer than the window."""
        self.traceable, self.run, self.names = traceable, run, names
        self.window = traceable.description.max_seq_len
        self.prompt, self.ids = traceable.padded(run), list[int]()
        if not 0 < len(self.prompt) <= self.window:
            raise ValueError(f"a prompt needs 1 to {self.window} tokens, got {len(self.prompt)}")
        keeps = run.use.causal is not False and not run.looks_ahead
        self.cache = DynamicCache() if keeps else None  # of every position, also where a window hides the first
        self.last: Tensor | None = None  # vocab

    @torch.inference_mode()
    def step(self, ids: Sequence[int]) -> Forward:
        if not ids and self.last is not None:
            return Forward(self.last, {}, 0, self.nbytes)
        before = self.before
        self.ids = [*self.ids, *ids]
        new = self.ids[before:]
        with record(self.names, self.run.edit) as recording, causal_mask(self.traceable.causal(self.run)):
            begin_at(before)
            logits = self.read(torch.tensor([new], device=self.traceable.device))
        self.last = logits[0, -1].clone()
        tensors = {name: recording.tensors[name][0].cpu() for name in self.names}
        return Forward(self.last, tensors, len(new), self.nbytes)

    @property
    def before(self) -> int:
        """How many positions need not be read again."""
        return 0 if self.cache is None else len(self.ids)

    def read(self, new: Tensor) -> Tensor:
        """The newest of `self.ids`, int64 [1 query] → logits [1 query vocab]."""
        is_pad = torch.zeros(1, len(self.ids), dtype=torch.bool, device=new.device)  # 1 key
        is_pad[0, : len(self.run.is_pad)] = torch.tensor(self.run.is_pad)[: len(self.ids)]
        skipped = is_pad if self.run.pads_take_no_position else torch.zeros_like(is_pad)
        position_ids = masks.position_ids(skipped)[:, -new.shape[1] :]
        cache = {"use_cache": False} if self.cache is None else {"past_key_values": self.cache, "use_cache": True}
        return self.traceable.read_ids(new, position_ids, is_pad & self.run.use.padding, **cache)

    @property
    def nbytes(self) -> int:
        """Bytes of the keys and values that are kept."""
        if self.cache is None or not self.ids:
            return 0
        return sum(layer.keys.nbytes + layer.values.nbytes for layer in self.kept)

    @property
    def kept(self) -> list[Any]:
        """The layers of the cache."""
        return [] if self.cache is None else list(self.cache.layers)
