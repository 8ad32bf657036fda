"""A stack: embeddings and positions, then blocks. Encoders and decoders are stacks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from chumoku.model.block import Block, FeedForward, LayerNorm, ResPostNormResidual
from chumoku.model.cache import Cache
from chumoku.model.config import ModelConfig
from chumoku.model.mechanisms import Mixer, mixers
from chumoku.model.pictures.picture import Picture
from chumoku.model.positions import build_positions
from chumoku.model.taps import Tap, begin_at


class PatchEmbedding(nn.Module):
    """Ids [batch position] → [batch position d_model]: W x + b for a patch with pixels x from 0 to 1; a learned row for
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


class BlockStack(nn.Module):
    """E[id] + position → `n_layer` blocks → a final LayerNorm if the stream itself was never normalised."""

    __call__: Callable[..., Tensor]

    def __init__(self, config: ModelConfig, block: type[Block] = Block) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = build_embedding(config)
        self.positions = build_positions(config)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(block(config) for _ in range(config.n_layer))
        self.final_norm = (
            nn.Identity() if config.norm_order == "post" else LayerNorm(config.d_model, config.layer_norm_eps)
        )
        self.embedding = Tap("position d_model")
        self.positional = Tap("position d_model")

    @property
    def table(self) -> nn.Embedding:
        """E, of a model that reads text."""
        assert isinstance(self.token_embedding, nn.Embedding)
        return self.token_embedding

    def new_cache(self) -> Cache:
        """An empty cache for the positions of this stack."""
        return Cache([layer.attn.new_cache() for layer in self.layers if isinstance(layer, Block)])

    def embed(self, token_ids: Tensor, position_ids: Tensor, first: int = 0) -> Tensor:
        """E[id] + position: [batch position d_model]. `first` positions are already in a cache."""
        begin_at(first)
        embedding = self.token_embedding(token_ids)
        if self.config.scale_embeddings:  # Vaswani et al. 2017, section 3.4
            embedding = embedding * math.sqrt(self.config.d_model)
        x = self.embedding(embedding) + self.positional(self.positions(position_ids))
        dropped: Tensor = self.dropout(x)
        return dropped


def build_embedding(config: ModelConfig) -> nn.Embedding | PatchEmbedding:
    """A table with a row for each id; for patches of a picture, a matrix that multiplies their pixels."""
    if config.picture is None:
        return nn.Embedding(config.vocab_size, config.d_model)
    return PatchEmbedding(config.picture, config.vocab_size - config.picture.n_ids, config.d_model)


def init_weights(model: nn.Module, config: ModelConfig) -> None:
    """Random weights that train well from the first step. Gains stay 1, except with res-post; biases become 0.

    Post-norm: Xavier (Glorot & Bengio 2010), with embeddings of std 1/√d_model, which scaled by √d_model have the size
    of the positions. Otherwise as GPT-2: std 0.02, and matrices that write to the residual stream smaller by √(number
    of writers), because nothing else keeps the stream from growing with depth. torch's default std of 1 for embeddings
    would make tied logits huge and training slow. Res-post-norm: the LayerNorm's gain starts at 0, and so does what is
    added, as in the code of Swin Transformer V2 (Liu et al. 2022); with a gain of 1 each of the first layers would
    write 50 times the embedding. A model that reads pictures is initialised by Xavier too, with larger embeddings: its
    tokens are few numbers, and a short training would spend half its steps on making them matter.
    """
    post = config.norm_order == "post" or config.picture is not None
    std = 0.3 if config.picture is not None else 1 / math.sqrt(config.d_model) if config.scale_embeddings else 0.02
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=std)
        elif isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight) if post else nn.init.normal_(module.weight, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for stack in (m for m in model.modules() if isinstance(m, BlockStack) and not post):
        writers = list(residual_writers(stack))
        for writer in writers:
            nn.init.normal_(writer.weight, std=0.02 / math.sqrt(len(writers)))
    for mixer in mixers(model):
        mixer.init_weights()
    for module in model.modules():
        if isinstance(module, ResPostNormResidual):
            nn.init.zeros_(module.norm.weight)
    for module in model.modules():
        if isinstance(module, PatchEmbedding):
            nn.init.normal_(module.projection.weight, std=1 / math.sqrt(module.picture.n_pixels))


def residual_writers(stack: BlockStack) -> Iterator[nn.Linear]:
    """The matrices that write to a stack's residual stream."""
    for module in stack.modules():
        if isinstance(module, Mixer | FeedForward):
            yield from module.writers()
