"""A model of transformers that reads pictures."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from chumoku.model.pictures.picture import Photo, Picture
from chumoku.model.run import Run
from chumoku.model.taps import record, visit
from chumoku.model.trace import Trace, with_first
from chumoku.model.traceable.huggingface.capture import causal_mask
from chumoku.model.traceable.huggingface.model import HuggingFaceModel
from chumoku.model.traceable.huggingface.processing import Processing


class PictureReader(HuggingFaceModel):
    """Reads [CLS] and the patches of a picture; hidden patches keep their positions."""

    @property
    def picture(self) -> Picture | Photo:
        assert self.description.picture is not None
        return self.description.picture

    @property
    def processing(self) -> Processing:
        assert self.adapter.processing is not None
        return self.adapter.processing

    @property
    def simplest(self) -> Run:
        """A picture of zeros."""
        if isinstance(self.picture, Photo):
            return Run(self.read_as(self.picture.places), pixels=bytes(self.picture.n_bytes))
        return Run(self.read_as([0] * self.picture.n_patches))

    @torch.inference_mode()
    def trace(self, run: Run, names: Sequence[str]) -> Trace:
        """One forward pass. Raises `ValueError` for an incomplete picture."""
        dims = {name: self.description.taps[name].dims for name in names}
        ids = self.read_as(run.ids)
        is_pad = [at in run.pad.hidden for at in range(len(ids))]
        hidden = torch.tensor([is_pad], device=self.device)  # 1 position
        numbers = self.processing.numbers(self.pixels_of(run)).to(self.device)
        with record(names, run.edit) as recording, causal_mask(self.causal(run)):
            self.read_numbers(numbers[None], hidden & run.use.padding)
        tensors = {name: recording.tensors[name][0].cpu() for name in names}
        return Trace(ids, is_pad, list(range(len(ids))), tensors, dims)

    def read_as(self, ids: Sequence[int]) -> list[int]:
        first = self.tokenizer.special.first
        assert first is not None
        return with_first(ids, first)

    def pixels_of(self, run: Run) -> Tensor:
        """The bytes of a run's picture [row column channel], from `run.pixels` or from its ids."""
        picture = self.picture
        if isinstance(picture, Photo):
            if run.pixels is None or len(run.pixels) != picture.n_bytes:
                raise ValueError(f"a picture is {picture.n_bytes:,} bytes, got {len(run.pixels or b''):,}")
            flat = torch.frombuffer(bytearray(run.pixels), dtype=torch.uint8)
            return flat.view(picture.size, picture.size, picture.channels)
        patches = torch.tensor([picture.patch_of(token_id) for token_id in self.read_as(run.ids)[1:]])
        cells = patches.view(picture.across, picture.across, picture.patch, picture.patch)
        return cells.transpose(1, 2).reshape(picture.size, picture.size, 1)

    def read_numbers(self, pictures: Tensor, hidden: Tensor) -> Tensor:
        """The forward pass: pictures [batch channel row column], hidden bool [batch key] (the patches that no query
        sees) → logits [batch class]."""
        out = self.model(pixel_values=pictures, attention_mask=(~hidden).long())
        return visit(self.description.logits.tap, self.adapter.answer_of(out))
