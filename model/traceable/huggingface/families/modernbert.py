"""ModernBERT (Warner et al. 2024): BERT, pre-norm, with rotary positions, a gated FFN, layers that see a window.

Every third layer sees the whole text; the others see `local_attention` / 2 tokens on either side, and rotate by another
base. The first layer has no norm before its attention, because the embeddings are normalised.
"""

from __future__ import annotations

from dataclasses import replace

from chumoku.model.describe import Description
from chumoku.model.describe import variants as v
from chumoku.model.describe.attention_variants import with_bases, without_biases
from chumoku.model.traceable.huggingface.families.bert import encoder, encoder_config
from chumoku.model.traceable.huggingface.layout import Adapter, Chunk, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import LEAST_BASE, TransformersConfig

CLASSIFIER, FILL_MASK = "ModernBertForSequenceClassification", "ModernBertForMaskedLM"
ARCHITECTURES = (CLASSIFIER, FILL_MASK)
PARTS = {
    **{f"self {x}": Part("attn.Wqkv", Chunk(n, 3)) for n, x in enumerate("qkv")},
    "self o": Part("attn.Wo"),
    "self norm": Part("attn_norm"),
    "ffn 1": Part("mlp.Wi", Chunk(0, 2)),
    "ffn up": Part("mlp.Wi", Chunk(1, 2)),
    "ffn 2": Part("mlp.Wo"),
    "ffn norm": Part("mlp_norm"),
}
MAIN = StackLayout(
    "model.embeddings.tok_embeddings", None, "model.layers.{n}", {"self": "attn"}, PARTS, "model.final_norm",
    embedding_norm="model.embeddings.norm",
)  # fmt: skip
FULL, LOCAL = "full_attention", "sliding_attention"
BASES = {FULL: ("global_rope_theta", 160_000.0), LOCAL: ("local_rope_theta", 10_000.0)}


def adapt(settings: TransformersConfig) -> Adapter:
    settings.refuse("mlp_bias")
    values = dict(settings.values)
    values |= {"layer_norm_eps": settings.number("norm_eps", 1e-5)}
    values |= {"hidden_act": settings.text("hidden_activation", "gelu")}
    named = replace(settings, values=values)
    config = encoder_config(named, classifies=settings.architecture == CLASSIFIER, norm_order="pre")
    found = encoder(replace(config, mechanism="rotary", position="none"), named)
    found = v.without_positions(v.with_embedding_norm(v.with_gate(found), config.layer_norm_eps))
    found = with_bases(v.without_first_norm(found), tuple(base_of(settings, kind) for kind in kinds(settings)))
    if not settings.flag("norm_bias", False):
        found = v.without_norm_biases(found)
    return Adapter(without_projection_biases(found, settings), {"main": MAIN}, None,
                   settings.whole("max_position_embeddings"))  # fmt: skip


def without_projection_biases(found: Description, settings: TransformersConfig) -> Description:
    return found if settings.flag("attention_bias", False) else without_biases(found, "qkvo")


def kinds(settings: TransformersConfig) -> list[str]:
    """What each layer sees. Raises `ValueError` for a list of another length or with another kind, or for a window
    without a neighbour."""
    n_layer, given = settings.whole("num_hidden_layers"), settings.values.get("layer_types")
    every = settings.whole("global_attn_every_n_layers", 3)
    found = [LOCAL if n % every else FULL for n in range(n_layer)] if given is None else given
    if not isinstance(found, list) or len(found) != n_layer or not set(found) <= {*BASES}:
        raise ValueError(f"config.json: layer_types must be {FULL} or {LOCAL} for each of {n_layer} layers")
    if settings.whole("local_attention", 128) < 2:
        raise ValueError("config.json: local_attention must be at least 2, so that a token sees its neighbours")
    return found


def base_of(settings: TransformersConfig, kind: str) -> float:
    """The base of a layer's angles. Raises `ValueError` for angles that are scaled."""
    name, default = BASES[kind]
    given = settings.table("rope_parameters").get(kind)
    table = given if isinstance(given, dict) else {}
    for each in (table, settings.table("rope_scaling")):
        if each.get("rope_type", each.get("type", "default")) != "default":
            raise ValueError("config.json: modernbert with scaled rotary positions cannot be shown yet")
    own = replace(settings, values={name: table.get("rope_theta", settings.values.get(name))})
    return own.positive(name, default, LEAST_BASE)
