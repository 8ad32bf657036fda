"""A model that reads pictures as a ViT (Dosovitskiy et al. 2021): `pixel_values` [batch 1 row column], from 0 to 1."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor
from transformers import ViTConfig, ViTForImageClassification
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.describe.parameters import parts_of
from chumoku.model.pictures.picture import Picture
from chumoku.model.special_tokens import Special
from chumoku.model.transformer import Transformer

OPENED_BY = "AutoModelForImageClassification"


def suits(config: ModelConfig) -> bool:
    """Whether it is a ViT: pictures, pre-norm, learned positions."""
    kind = (config.mechanism, config.position, config.norm_order)
    return config.picture is not None and kind == ("softmax", "learned", "pre") and not config.scale_embeddings


def build(model: Transformer, special: Special) -> ViTForImageClassification:
    config, picture = model.config, model.config.picture
    assert picture is not None
    theirs = ViTForImageClassification(
        ViTConfig(
            hidden_size=config.d_model, num_hidden_layers=config.n_layer, num_attention_heads=config.n_head,
            intermediate_size=config.d_ff, hidden_act="relu", layer_norm_eps=config.layer_norm_eps,
            hidden_dropout_prob=config.dropout, attention_probs_dropout_prob=0.0, qkv_bias=True,
            image_size=picture.size, patch_size=picture.patch, num_channels=1,
            id2label=dict(enumerate(config.classes)), label2id={name: n for n, name in enumerate(config.classes)},
        )
    )  # fmt: skip
    assert special.first is not None
    theirs.load_state_dict(dict(renamed(model.state_dict(), config, special.first - picture.n_ids)))
    return theirs


def processor(picture: Picture) -> ViTImageProcessorPil:
    """A processor that divides a picture's levels by the highest."""
    size = {"height": picture.size, "width": picture.size}
    return ViTImageProcessorPil(size=size, rescale_factor=1 / (picture.levels - 1), do_normalize=False)


def renamed(ours: dict[str, Tensor], config: ModelConfig, cls: int) -> Iterator[tuple[str, Tensor]]:
    """ViT's names; `cls` is the row of [CLS] among the special tokens."""
    description, picture = describe(config), config.picture
    assert picture is not None
    (stack,) = description.stacks
    of, answer = stack.embedding.parameters, description.logits.parameters
    square = (config.d_model, 1, picture.patch, picture.patch)
    yield "vit.embeddings.cls_token", ours[str(of["special"])][None, None, cls]
    yield "vit.embeddings.position_embeddings", ours[str(of["positions"])][None]
    yield "vit.embeddings.patch_embeddings.projection.weight", ours[str(of["w_patch"])].reshape(square)
    yield "vit.embeddings.patch_embeddings.projection.bias", ours[str(of["b_patch"])]
    for n in range(config.n_layer):
        parts = parts_of(description, stack, n)
        for name, part in PARTS.items():
            for kind, parameter in zip(("weight", "bias"), parts[part], strict=True):
                yield f"vit.layers.{n}.{name}.{kind}", ours[parameter]
    assert stack.final_norm is not None
    yield "vit.layernorm.weight", ours[stack.final_norm.parameters["gain"]]
    yield "vit.layernorm.bias", ours[stack.final_norm.parameters["bias"]]
    yield "classifier.weight", ours[str(answer["unembedding"])]
    yield "classifier.bias", ours[str(answer["b_unembedding"])]


PARTS = {
    "layernorm_before": "self norm",
    "attention.q_proj": "self q",
    "attention.k_proj": "self k",
    "attention.v_proj": "self v",
    "attention.o_proj": "self o",
    "layernorm_after": "ffn norm",
    "mlp.fc1": "ffn 1",
    "mlp.fc2": "ffn 2",
}
