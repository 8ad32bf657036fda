"""ViT (Dosovitskiy et al. 2021): BERT's blocks, pre-norm, over the patches of a picture after [CLS].

Pictures with few levels of grey, as in our exports, are read like ours: every possible patch has an id. Otherwise the
id of a patch is its place.
"""

from __future__ import annotations

import math
from dataclasses import replace

from torch import Tensor

from chumoku.model.config import MOST, ModelConfig
from chumoku.model.describe import Description, describe
from chumoku.model.describe.attention_variants import without_biases
from chumoku.model.describe.variants import with_activation, with_photos, without_our_modules
from chumoku.model.pictures.picture import DIGITS, Photo, Picture
from chumoku.model.special_tokens import special_names
from chumoku.model.traceable.huggingface.layout import SHARES, Adapter, Part, StackLayout, whole
from chumoku.model.traceable.huggingface.processing import Processing, processing_of
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig, activation_of

ARCHITECTURES = ("ViTForImageClassification",)
PARTS = {
    **{f"self {x}": Part(f"attention.{x}_proj") for x in "qkvo"},
    "self norm": Part("layernorm_before"),
    "ffn 1": Part("mlp.fc1"),
    "ffn 2": Part("mlp.fc2"),
    "ffn norm": Part("layernorm_after"),
}
START = "vit.embeddings"


def first(x: Tensor) -> Tensor:
    return x[0]


def flat(x: Tensor) -> Tensor:
    """A kernel [d_model channel row column] as a matrix [d_model pixel]."""
    return x.flatten(1)


MAIN = StackLayout(
    START, None, "vit.layers.{n}", {"self": "attention"}, PARTS, "vit.layernorm",
    tables={
        "w_patch": (f"{START}.patch_embeddings.projection.weight", flat),
        "b_patch": (f"{START}.patch_embeddings.projection.bias", whole),
        "special": (f"{START}.cls_token", first),
        "positions": (f"{START}.position_embeddings", first),
    },
)  # fmt: skip


def adapt(settings: TransformersConfig) -> Adapter:
    settings.need("problem_type", "single_label_classification")
    side, patch, channels = sizes_of(settings)
    processing = processing_of(settings.processor, channels, side)
    description = described(settings, picture_of(side, patch, channels, processing))
    return Adapter(without_our_modules(description), {"main": MAIN}, "classifier", n_tokens(description),
                   processing=processing)  # fmt: skip


def n_tokens(description: Description) -> int:
    """How many tokens a picture is. Raises `ValueError` for more than can be drawn: it cannot be read in part."""
    n, layers = description.max_seq_len, sum(attention.n_layer for attention in description.attentions)
    if layers * n**2 > SHARES:
        most = math.isqrt(SHARES // layers)
        raise ValueError(f"config.json: its pictures are {n:,} tokens, and with {layers} layers {most:,} can be drawn")
    return n


SIZES = {"image_size": 224, "patch_size": 16, "num_channels": 3}


def sizes_of(settings: TransformersConfig) -> list[int]:
    """The sides of a picture and of a patch, and the channels. Raises `ValueError` if one is no square."""
    for name in ("image_size", "patch_size"):
        given = settings.values.get(name)
        if isinstance(given, list) and len({*map(str, given)}) > 1:
            shape = " × ".join(map(str, given))[:40]
            raise ValueError(
                f"config.json: {name} is {shape}, and only squares are drawn here: open a {settings.model_type} whose "
                "pictures are square"
            )
    alike = {name: given[0] for name, given in settings.values.items() if name in SIZES and isinstance(given, list)}
    named = replace(settings, values=dict(settings.values) | alike)
    return [named.whole(name, default) for name, default in SIZES.items()]


def picture_of(side: int, patch: int, channels: int, processing: Processing) -> Picture | Photo:
    """A `Picture` with few levels of grey if the processor only divides by the highest level; otherwise a `Photo`."""
    most = 0 if processing.factor is None or processing.mean else round(1 / processing.factor)
    divides = most > 0 and processing.factor == 1 / most
    if divides and channels == 1 and most < len(DIGITS) and (most + 1) ** patch**2 < MOST:
        return Picture(side, patch, most + 1)
    return Photo(side, patch, channels)


def described(settings: TransformersConfig, reads: Picture | Photo) -> Description:
    counted = reads if isinstance(reads, Picture) else None
    before = reads.before if isinstance(reads, Photo) else ()
    n_special = len(before) or len(special_names("encoder-only"))
    config = ModelConfig(
        vocab_size=reads.n_ids + n_special, n_layer=settings.whole("num_hidden_layers", 12),
        n_head=settings.whole("num_attention_heads", 12), d_model=settings.whole("hidden_size", 768),
        d_ff=settings.whole("intermediate_size", 3072), max_seq_len=reads.n_patches + (len(before) or 1),
        family="encoder-only", classes=settings.labels(), picture=counted,
        layer_norm_eps=settings.number("layer_norm_eps", 1e-12),
    )  # fmt: skip
    settings.need("head_dim", config.d_head)
    found = describe(config) if isinstance(reads, Picture) else with_photos(describe(config), reads)
    found = without_biases(found, "" if settings.flag("qkv_bias", True) else "qkv")
    return with_activation(found, activation_of(settings.text("hidden_act", "gelu")))
