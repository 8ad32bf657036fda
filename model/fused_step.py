"""A step of a GPT written out, without its modules: the newest row alone, of which only weights are recorded.

Modules and taps are a third of a step's time. Where nothing is edited and only the newest row is computed, nobody needs
them: the same products in the same order give the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from chumoku.model.block import Block, LayerNorm, PreNormResidual
from chumoku.model.cache import Cache
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.mechanisms.caches import History
from chumoku.model.mechanisms.softmax import MultiHeadAttention
from chumoku.model.stopping import check
from chumoku.model.transformer import DecoderOnly

Affine = tuple[Tensor, Tensor]
"""A weight and a bias: of a product, or of a LayerNorm."""


@dataclass(frozen=True)
class GptLayer:
    """One block's parameters; W^Q, W^K, W^V are one matrix [3 d_model, d_model]. `pattern`: the tap of its weights."""

    norm_1: Affine
    qkv: Affine
    o: Affine
    norm_2: Affine
    w_1: Affine
    w_2: Affine
    pattern: str


class FusedStep:
    """Reads one token of a pre-norm GPT with softmax attention after those in its cache."""

    def __init__(self, model: DecoderOnly, layers: list[GptLayer], final_norm: Affine) -> None:
        self.model, self.layers, self.final_norm = model, layers, final_norm
        self.eps, self.root = model.config.layer_norm_eps, math.sqrt(model.config.d_head)

    def __call__(self, token: int, cache: Cache, names: Collection[str]) -> tuple[Tensor, dict[str, Tensor]]:
        """The logits [vocab] of the next token, and the weights [head 1 key] of the layers that `names` asks for."""
        check()
        model, heads, norm, kept = self.model, self.model.config.n_head, self.norm, {}
        ids = torch.tensor([[token]], device=model.table.weight.device)
        positions = torch.full_like(ids, cache.positions)
        x = model.embed(ids, positions, cache.positions)[0]  # 1 d_model
        for layer, history in zip(self.layers, cache.layers, strict=True):
            qkv = F.linear(norm(x, layer.norm_1), *layer.qkv)  # 1 3·d_model
            q, k, v = qkv.view(3, 1, heads, 1, -1)  # each 1 head 1 d_head
            k, v = history.append(k, v)  # type: ignore[attr-defined]  # 1 head key d_head
            pattern = (q @ k.mT / self.root).softmax(-1)  # 1 head 1 key
            z = (pattern @ v).view(1, -1)  # 1 d_model
            x = x + F.linear(z, *layer.o)
            h = F.linear(norm(x, layer.norm_2), *layer.w_1).relu_()  # 1 d_ff
            x = x + F.linear(h, *layer.w_2)
            if layer.pattern in names:
                kept[layer.pattern] = pattern[0].cpu()
        return F.linear(norm(x, self.final_norm), model.unembedding.weight)[0], kept

    def norm(self, x: Tensor, affine: Affine) -> Tensor:
        """LayerNorm(x) over d_model."""
        return torch.layer_norm(x, (x.shape[-1],), *affine, self.eps)


def affine(module: nn.Linear | LayerNorm) -> Affine:
    return module.weight, module.bias


def fused_step(checkpoint: Checkpoint, names: Collection[str]) -> FusedStep | None:
    """None: the model has other sublayers, or `names` asks for more than weights."""
    model = checkpoint.model
    if type(model) is not DecoderOnly or model.training or type(model.final_norm) is not LayerNorm:
        return None
    taps = checkpoint.description.attentions[0].roles.get("pattern")
    layers = [layer_of(block, tap) for block, tap in zip(model.layers, taps.taps if taps else (), strict=bool(taps))]
    found = [layer for layer in layers if layer is not None]
    complete = len(found) == len(model.layers) and set(names) <= {layer.pattern for layer in found}
    return FusedStep(model, found, affine(model.final_norm)) if complete else None


def layer_of(block: nn.Module, pattern: str) -> GptLayer | None:
    """None: it is another kind of block, or its projections are not joined."""
    if type(block) is not Block or type(block.attn) is not MultiHeadAttention or block.attn.joined is None:
        return None
    if "attend" in vars(block.attn) or {type(block.attn_residual), type(block.ffn_residual)} != {PreNormResidual}:
        return None
    attn, ffn = block.attn, block.ffn
    assert attn.joined is not None
    norm_1, norm_2 = affine(block.attn_residual.norm), affine(block.ffn_residual.norm)
    return GptLayer(norm_1, attn.joined, affine(attn.w_o), norm_2, affine(ffn.w_1), affine(ffn.w_2), pattern)


def keeps_all_keys(cache: Cache | None) -> bool:
    """Whether a fused step can continue from it: something was read, and every key is kept."""
    return cache is not None and cache.positions > 0 and all(type(layer) is History for layer in cache.layers)
