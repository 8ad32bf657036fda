"""A step of a GPT written out, without its modules: the newest row of each text, of which only weights are recorded.

Modules, taps and what torch does around small products are half of a step's time. Where nothing is edited or padded and
only the newest row is computed, nobody needs them. Up to rounding, the numbers are those of the modules.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from chumoku.model.block import Block, LayerNorm, PreNormResidual
from chumoku.model.cache import Cache
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Description
from chumoku.model.mechanisms.caches import History
from chumoku.model.mechanisms.softmax import MultiHeadAttention
from chumoku.model.stopping import check
from chumoku.model.transformer import DecoderOnly

Affine = tuple[Tensor, Tensor]
"""A gain and a bias of a LayerNorm; or the transposed weight [in out] and the bias of a product."""


@dataclass(frozen=True)
class GptLayer:
    """One block's parameters; W^Q, W^K, W^V are one matrix [d_model, 3 d_model]. `pattern`: the tap of its weights."""

    norm_1: Affine
    qkv: Affine
    o: Affine
    norm_2: Affine
    w_1: Affine
    w_2: Affine
    pattern: str


class FusedStep:
    """Reads one token of each of several texts, which may have different lengths, after those in its cache: a pre-norm
    GPT with softmax attention."""

    def __init__(self, model: DecoderOnly, layers: list[GptLayer], final_norm: Affine) -> None:
        self.config, self.layers, self.final_norm = model.config, layers, final_norm
        self.eps, self.width = model.config.layer_norm_eps, (model.config.d_model,)
        self.embedding, self.positions = model.table.weight, model.positions
        self.unembedding = model.unembedding.weight.T
        self.scale = torch.tensor(1 / math.sqrt(model.config.d_head), device=self.embedding.device)

    def __call__(
        self, ids: Sequence[int], caches: Sequence[Cache], names: Collection[str]
    ) -> tuple[Tensor, list[dict[str, Tensor]]]:
        """The logits [text vocab] of the next tokens and, for each text, the weights [head 1 key] of the layers that
        `names` asks for. In inference mode; every cache has keys, and keeps all."""
        heads, d_model = self.config.n_head, self.config.d_model
        kept: list[dict[str, Tensor]] = [{} for _ in ids]
        x = self.embed(ids, [cache.positions for cache in caches])  # text d_model
        for n, layer in enumerate(self.layers):
            check()
            qkv = product(self.norm(x, layer.norm_1), layer.qkv)  # text 3·d_model
            qkv.narrow(1, 0, d_model).mul_(self.scale)  # Q/√d_head
            mixed = []
            for one, cache, weights in zip(qkv.view(len(ids), 3, 1, heads, 1, -1).unbind(0), caches, kept, strict=True):
                k, v = cache.layers[n].append_joint(one.narrow(0, 1, 2))  # type: ignore[attr-defined]  # 1 head key d
                pattern = torch.bmm(one[0, 0], k[0].mT).softmax(-1)  # head 1 key
                mixed.append(torch.bmm(pattern, v[0]).view(-1))  # d_model
                if layer.pattern in names:
                    weights[layer.pattern] = pattern.cpu()
            add_product(x, torch.stack(mixed), layer.o)
            add_product(x, product(self.norm(x, layer.norm_2), layer.w_1).clamp_min_(0), layer.w_2)
        return torch.mm(self.norm(x, self.final_norm), self.unembedding), kept

    def embed(self, ids: Sequence[int], positions: Sequence[int]) -> Tensor:
        """E[id] + position of each text: [text d_model]."""
        tokens, places = torch.tensor([ids, positions], device=self.embedding.device)  # text
        x = self.embedding[tokens]  # text d_model
        if self.config.scale_embeddings:  # Vaswani et al. 2017, section 3.4
            x = x * math.sqrt(self.config.d_model)
        added: Tensor = self.positions(places[None])[0]
        return x + added

    def norm(self, x: Tensor, affine: Affine) -> Tensor:
        """LayerNorm(x) over d_model."""
        return torch.native_layer_norm(x, self.width, *affine, self.eps)[0]


def product(x: Tensor, affine: Affine) -> Tensor:
    """x W + b. For one row, torch's `linear` takes twice the time for what is not the product."""
    return torch.mm(x, affine[0]).add_(affine[1])


def add_product(to: Tensor, x: Tensor, affine: Affine) -> None:
    """Adds x W + b to a tensor, in place."""
    to.addmm_(x, affine[0]).add_(affine[1])


def gain(norm: LayerNorm) -> Affine:
    return norm.weight, norm.bias


def matrix(linear: nn.Linear) -> Affine:
    return linear.weight.T, linear.bias


def fused_step(checkpoint: Checkpoint, names: Collection[str]) -> FusedStep | None:
    """None: the model has other sublayers, or `names` asks for more than weights."""
    model = checkpoint.model
    if type(model) is not DecoderOnly or model.training:
        return None
    if model not in READY:
        READY[model] = written_out(checkpoint.description, model)
    found = READY[model]
    return found if found and set(names) <= {layer.pattern for layer in found.layers} else None


READY: WeakKeyDictionary[DecoderOnly, FusedStep | None] = WeakKeyDictionary()
"""By model, as long as it is loaded: each request asks for its step."""


def written_out(description: Description, model: DecoderOnly) -> FusedStep | None:
    """A loaded model's step; None if its sublayers are others."""
    if type(model.final_norm) is not LayerNorm or type(model.token_embedding) is not nn.Embedding:
        return None
    taps = description.attentions[0].roles.get("pattern")
    layers = [layer_of(block, tap) for block, tap in zip(model.layers, taps.taps if taps else (), strict=bool(taps))]
    found = [layer for layer in layers if layer is not None]
    return FusedStep(model, found, gain(model.final_norm)) if len(found) == len(model.layers) else None


def layer_of(block: nn.Module, pattern: str) -> GptLayer | None:
    """None: it is another kind of block, or its projections are not joined."""
    if type(block) is not Block or type(block.attn) is not MultiHeadAttention or block.attn.joined is None:
        return None
    if "attend" in vars(block.attn) or {type(block.attn_residual), type(block.ffn_residual)} != {PreNormResidual}:
        return None
    attn, ffn = block.attn, block.ffn
    assert attn.joined is not None
    qkv = attn.joined[0].T, attn.joined[1]
    norm_1, norm_2 = gain(block.attn_residual.norm), gain(block.ffn_residual.norm)
    return GptLayer(norm_1, qkv, matrix(attn.w_o), norm_2, matrix(ffn.w_1), matrix(ffn.w_2), pattern)


def keeps_all_keys(cache: Cache | None) -> bool:
    """Whether a fused step can continue from it: something was read, and every key is kept."""
    return cache is not None and cache.positions > 0 and all(type(layer) is History for layer in cache.layers)
