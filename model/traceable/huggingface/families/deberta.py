"""DeBERTa-v2 and v3 (He et al. 2021): BERT whose scores also have what the distance of two tokens says.

content → position: the query times a vector of the distance; position → content: the key times another one. With both,
scores are divided by √(3 d_head). Positions are nowhere else, unless `position_biased_input` adds learned ones.
"""

from __future__ import annotations

import math
from dataclasses import replace

from chumoku.model.describe import Description
from chumoku.model.describe import variants as v
from chumoku.model.describe.attention_variants import with_heads, with_score_bias
from chumoku.model.traceable.huggingface.families.bert import PARTS as BERT_PARTS
from chumoku.model.traceable.huggingface.families.bert import encoder, encoder_config
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

CLASSIFIER, FILL_MASK = "DebertaV2ForSequenceClassification", "DebertaV2ForMaskedLM"
ARCHITECTURES = (CLASSIFIER, FILL_MASK)
PARTS = BERT_PARTS | {
    "self q": Part("attention.self.query_proj"),
    "self k": Part("attention.self.key_proj"),
    "self v": Part("attention.self.value_proj"),
}
TERMS = {"c2p": "content_to_position", "p2c": "position_to_content"}
"""Names in `pos_att_type`, and our roles, in the order in which they are added."""
SUM = "position_scores"


def adapt(settings: TransformersConfig) -> Adapter:
    """Raises `ValueError` for a convolution beside the first layer (v2's xlarge)."""
    settings.refuse("conv_kernel_size", "attention_head_size")
    adds = settings.flag("position_biased_input", True)
    named = replace(
        settings, values=dict(settings.values) | {"layer_norm_eps": settings.number("layer_norm_eps", 1e-7)}
    )
    config = encoder_config(named, classifies=settings.architecture == CLASSIFIER, norm_order="post")
    found = with_terms(encoder(replace(config, position="learned" if adds else "none"), named), settings)
    if is_narrow := settings.whole("embedding_size", config.d_model) != config.d_model:
        found = v.with_projected_embedding(found)
    elif not adds:
        found = v.without_positions(found)
    described, stacks = v.with_embedding_norm(found, config.layer_norm_eps), {"main": layout(settings, adds, is_narrow)}
    return Adapter(described, stacks, None, settings.whole("max_position_embeddings", 512), unused=("position_ids",))


def with_terms(found: Description, settings: TransformersConfig) -> Description:
    """The description with the parts of its scores, and what these are divided by."""
    given = settings.values.get("pos_att_type") or []
    names = [name.strip() for name in given.lower().split("|")] if isinstance(given, str) else list(given)
    terms = tuple(role for name, role in TERMS.items() if name in names)
    (attention,) = found.attentions
    n_head, d_head = attention.n_head, attention.d_head
    scaled = with_heads(found, n_head, n_head, d_head, scale=1 / math.sqrt(d_head * (1 + len(terms))))
    if not terms or not settings.flag("relative_attention", False):
        return scaled
    return with_score_bias(scaled, SUM, terms) if len(terms) > 1 else with_score_bias(scaled, terms[0])


def layout(settings: TransformersConfig, adds: bool, is_narrow: bool) -> StackLayout:
    start = "deberta.embeddings"
    positions = f"{start}.position_embeddings" if adds and not is_narrow else None
    has_types = not is_narrow and settings.values.get("type_vocab_size")
    return StackLayout(
        f"{start}.embed_proj" if is_narrow else f"{start}.word_embeddings", positions, "deberta.encoder.layer.{n}",
        {"self": "attention.self"}, PARTS, embedding_norm=f"{start}.LayerNorm",
        segments=f"{start}.token_type_embeddings" if has_types else None,
    )  # fmt: skip
