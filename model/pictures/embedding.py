"""The embedding of patches: a matrix instead of a table."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from chumoku.model.pictures.picture import Picture
from chumoku.model.taps import Tap


class PatchEmbedding(nn.Module):
    """Ids [batch position] → [batch position d_model]: W x + b for a patch, x its pixels from 0 to 1; a learned row for
    a special token ([CLS]), whose pixels are recorded as zeros."""

    def __init__(self, picture: Picture, n_special: int, d_model: int) -> None:
        super().__init__()
        self.picture = picture
        self.projection = nn.Linear(picture.n_pixels, d_model)
        self.special = nn.Embedding(n_special, d_model)
        self.patches = Tap("position pixel")

    def forward(self, token_ids: Tensor) -> Tensor:
        n_ids = self.picture.n_ids
        is_patch = (token_ids < n_ids)[..., None]
        patches = self.patches(self.pixels(token_ids.clamp(max=n_ids - 1)) * is_patch)
        special = self.special((token_ids - n_ids).clamp(min=0))
        return torch.where(is_patch, self.projection(patches), special)

    def pixels(self, token_ids: Tensor) -> Tensor:
        """The pixels of patches, from 0 to 1: [batch position pixel]."""
        levels = self.picture.levels
        places = levels ** torch.arange(self.picture.n_pixels - 1, -1, -1, device=token_ids.device)
        return (token_ids[..., None] // places % levels).to(self.projection.weight.dtype) / (levels - 1)
