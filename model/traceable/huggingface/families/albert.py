"""ALBERT (Lan et al. 2020): BERT whose layers share their weights, with embeddings narrower than the stream.

The weights are those of `num_hidden_groups` groups (usually one), each of `inner_group_num` layers, that are used again
and again. A module that is called several times could only be watched once, so each layer gets modules of its own that
hold the same numbers. The embeddings are normalised before a matrix makes them as wide as the stream: the stream is
shown from there on.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from chumoku.model.describe.variants import with_projected_embedding, with_shared_layers
from chumoku.model.traceable.huggingface.families.bert import encoder, encoder_config
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

CLASSIFIER, FILL_MASK = "AlbertForSequenceClassification", "AlbertForMaskedLM"
ARCHITECTURES = (CLASSIFIER, FILL_MASK)
PARTS = {
    "self q": Part("attention.query"),
    "self k": Part("attention.key"),
    "self v": Part("attention.value"),
    "self o": Part("attention.dense"),
    "self norm": Part("attention.LayerNorm"),
    "ffn 1": Part("ffn"),
    "ffn 2": Part("ffn_output"),
    "ffn norm": Part("full_layer_layer_norm"),
}
MOST = 64
"""Layers in a group."""
MAIN = StackLayout(
    "albert.encoder.embedding_hidden_mapping_in", None, "albert.encoder.unrolled.{n}", {"self": "attention"}, PARTS
)
"""`unroll` adds `unrolled`, the list of layers."""


def adapt(settings: TransformersConfig) -> Adapter:
    first = shared(settings)
    values = dict(settings.values) | {"num_hidden_layers": len(first)}
    values["hidden_act"] = settings.text("hidden_act", "gelu_new")
    named = replace(settings, values=values)
    config = encoder_config(named, classifies=settings.architecture == CLASSIFIER, norm_order="post")
    found = with_shared_layers(with_projected_embedding(encoder(config, named)), first)
    return Adapter(found, {"main": MAIN}, None, settings.whole("max_position_embeddings"), unused=("position_ids",),
                   prepare=unroll)  # fmt: skip


def shared(settings: TransformersConfig) -> list[int]:
    """For each layer of the forward pass, the first one with the same weights. Raises `ValueError` for more layers in a
    group than any model has."""
    n_layer, n_group = settings.whole("num_hidden_layers", 12), settings.whole("num_hidden_groups", 1)
    inner = settings.whole("inner_group_num", 1)
    if inner > MOST:
        raise ValueError(f"config.json: inner_group_num must be at most {MOST}, got {inner:,}")
    used = [(int(n / (n_layer / n_group)), m) for n in range(n_layer) for m in range(inner)]
    return [used.index(one) for one in used]


def unroll(model: nn.Module) -> None:
    """Give each layer modules of its own, with the same parameters."""
    from transformers.modeling_outputs import BaseModelOutput

    encoder: Any = next(module for module in model.modules() if type(module).__name__ == "AlbertTransformer")
    config = encoder.config
    groups = [int(n / (config.num_hidden_layers / config.num_hidden_groups)) for n in range(config.num_hidden_layers)]
    used = [layer for group in groups for layer in encoder.albert_layer_groups[group].albert_layers]
    same = {id(x): x for layer in used for x in layer.parameters()} | {id(config): config}
    layers = nn.ModuleList(copy.deepcopy(layer, dict(same)) for layer in used)
    encoder.unrolled = layers

    def forward(hidden_states: Tensor, attention_mask: Tensor | None = None, **given: Any) -> Any:
        stream = encoder.embedding_hidden_mapping_in(hidden_states)
        for layer in layers:
            stream = layer(stream, attention_mask, **given)
        return BaseModelOutput(last_hidden_state=stream)

    encoder.forward = forward
