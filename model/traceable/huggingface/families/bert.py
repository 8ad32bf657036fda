"""BERT (Devlin et al. 2018): post-norm, learned positions, a LayerNorm on their sum with the embeddings.

A classifier reads [CLS] through a pooler, a masked language model every state through one more layer: the logits are
not one matrix times the last state. Row 0 of the table of segments, which is added to every token, is shown as part of
the positions.
"""

from __future__ import annotations

from chumoku.model.config import ModelConfig
from chumoku.model.describe import Description, describe
from chumoku.model.describe.variants import (
    with_activation,
    with_embedding_norm,
    without_our_modules,
    without_unembedding,
)
from chumoku.model.traceable.huggingface.activations import activation_of
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

CLASSIFIER, FILL_MASK = "BertForSequenceClassification", "BertForMaskedLM"
ARCHITECTURES = (CLASSIFIER, FILL_MASK)
PARTS = {
    "self q": Part("attention.self.query"),
    "self k": Part("attention.self.key"),
    "self v": Part("attention.self.value"),
    "self o": Part("attention.output.dense"),
    "self norm": Part("attention.output.LayerNorm"),
    "ffn 1": Part("intermediate.dense"),
    "ffn 2": Part("output.dense"),
    "ffn norm": Part("output.LayerNorm"),
}
MAIN = StackLayout(
    "bert.embeddings.word_embeddings", "bert.embeddings.position_embeddings", "bert.encoder.layer.{n}",
    {"self": "attention.self"}, PARTS, embedding_norm="bert.embeddings.LayerNorm",
    segments="bert.embeddings.token_type_embeddings",
)  # fmt: skip


def adapt(settings: TransformersConfig) -> Adapter:
    settings.refuse("is_decoder", "add_cross_attention")
    config = encoder_config(settings, classifies=settings.architecture == CLASSIFIER, norm_order="post")
    description = with_embedding_norm(encoder(config, settings), config.layer_norm_eps)
    return Adapter(description, {"main": MAIN}, None, settings.whole("max_position_embeddings"),
                   unused=("position_ids",))  # fmt: skip


def encoder_config(settings: TransformersConfig, *, classifies: bool, norm_order: str) -> ModelConfig:
    """The numbers of BERT and its variants. Of several labels at once each would have a separate probability."""
    settings.need("position_embedding_type", "absolute")
    if classifies:
        settings.need("problem_type", "single_label_classification")
    return ModelConfig(
        vocab_size=settings.whole("vocab_size"), n_layer=settings.whole("num_hidden_layers"),
        n_head=settings.whole("num_attention_heads"), d_model=settings.whole("hidden_size"),
        d_ff=settings.whole("intermediate_size"), max_seq_len=settings.window("max_position_embeddings"),
        family="encoder-only", norm_order=norm_order,  # type: ignore[arg-type]
        layer_norm_eps=settings.number("layer_norm_eps", 1e-12),
        classes=settings.labels() if classifies else (), mask_token=not classifies,
    )  # fmt: skip


def encoder(config: ModelConfig, settings: TransformersConfig) -> Description:
    found = with_activation(describe(config), activation_of(settings.text("hidden_act", "gelu")))
    return without_unembedding(without_our_modules(found))
