"""BERT (Devlin et al. 2018) and its variants: DistilBERT, RoBERTa, ELECTRA, and Megatron's BERT, which is pre-norm.

The others are post-norm. Positions are learned, and a LayerNorm normalises their sum with the embeddings.

A classifier reads [CLS] through a pooler; a masked language model reads every state through one more layer. So the
logits are more than a matrix times the last state. Rows of the table of token types are added to every embedding.
"""

from __future__ import annotations

from dataclasses import replace

from chumoku.model.config import ModelConfig
from chumoku.model.describe import Description, describe
from chumoku.model.describe.attention_variants import with_score_bias
from chumoku.model.describe.variants import (
    with_activation,
    with_embedding_norm,
    with_projected_embedding,
    without_our_modules,
    without_unembedding,
)
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig, activation_of

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
    """The config of BERT and its variants. Raises `ValueError` for several labels at once, which have no softmax."""
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


DISTIL_CLASSIFIER, DISTIL_FILL_MASK = "DistilBertForSequenceClassification", "DistilBertForMaskedLM"
DISTIL_ARCHITECTURES = (DISTIL_CLASSIFIER, DISTIL_FILL_MASK)
DISTIL_PARTS = {
    **{f"self {x}": Part(f"attention.{x}_lin") for x in "qkv"},
    "self o": Part("attention.out_lin"),
    "self norm": Part("sa_layer_norm"),
    "ffn 1": Part("ffn.lin1"),
    "ffn 2": Part("ffn.lin2"),
    "ffn norm": Part("output_layer_norm"),
}
DISTIL_MAIN = StackLayout(
    "distilbert.embeddings.word_embeddings", "distilbert.embeddings.position_embeddings",
    "distilbert.transformer.layer.{n}", {"self": "attention"}, DISTIL_PARTS,
    embedding_norm="distilbert.embeddings.LayerNorm",
)  # fmt: skip
DISTIL_NAMES = {
    "hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
    "intermediate_size": "hidden_dim", "hidden_act": "activation",
}  # fmt: skip


def adapt_distilbert(settings: TransformersConfig) -> Adapter:
    named = settings.renamed(DISTIL_NAMES)
    config = encoder_config(named, classifies=settings.architecture == DISTIL_CLASSIFIER, norm_order="post")
    description = with_embedding_norm(encoder(config, named), config.layer_norm_eps)
    return Adapter(description, {"main": DISTIL_MAIN}, None, settings.whole("max_position_embeddings"))


ROBERTA_CLASSIFIES, ROBERTA_FILL_MASK = "ForSequenceClassification", "ForMaskedLM"
ROBERTA_ARCHITECTURES = tuple(
    kind + ending
    for kind in ("Roberta", "XLMRoberta", "Camembert")
    for ending in (ROBERTA_CLASSIFIES, ROBERTA_FILL_MASK)
)
ROBERTA_MAIN = replace(
    MAIN,
    embedding="roberta.embeddings.word_embeddings",
    positions="roberta.embeddings.position_embeddings",
    block="roberta.encoder.layer.{n}",
    embedding_norm="roberta.embeddings.LayerNorm",
    segments="roberta.embeddings.token_type_embeddings",
)


def adapt_roberta(settings: TransformersConfig) -> Adapter:
    settings.refuse("is_decoder", "add_cross_attention")
    first = (settings.token("pad_token_id") or 0) + 1
    n_positions = settings.whole("max_position_embeddings") - first
    values = dict(settings.values) | {"max_position_embeddings": n_positions}
    fitted = replace(settings, values=values)
    config = encoder_config(fitted, classifies=settings.architecture.endswith(ROBERTA_CLASSIFIES), norm_order="post")
    description = with_embedding_norm(encoder(config, fitted), config.layer_norm_eps)
    return Adapter(description, {"main": ROBERTA_MAIN}, None, n_positions, unused=("position_ids",), first_row=first)


ELECTRA_CLASSIFIER, ELECTRA_FILL_MASK = "ElectraForSequenceClassification", "ElectraForMaskedLM"
ELECTRA_ARCHITECTURES = (ELECTRA_CLASSIFIER, ELECTRA_FILL_MASK)
ELECTRA_MAIN = replace(
    MAIN,
    embedding="electra.embeddings.word_embeddings",
    positions="electra.embeddings.position_embeddings",
    block="electra.encoder.layer.{n}",
    embedding_norm="electra.embeddings.LayerNorm",
    segments="electra.embeddings.token_type_embeddings",
)


def adapt_electra(settings: TransformersConfig) -> Adapter:
    """In small models, embeddings narrower than the stream are projected after their norm."""
    settings.refuse("is_decoder", "add_cross_attention")
    config = encoder_config(settings, classifies=settings.architecture == ELECTRA_CLASSIFIER, norm_order="post")
    found, layout = encoder(config, settings), ELECTRA_MAIN
    if settings.whole("embedding_size", 128) == config.d_model:
        found = with_embedding_norm(found, config.layer_norm_eps)
    else:
        found = with_projected_embedding(found)
        layout = replace(layout, embedding="electra.embeddings_project", positions=None, segments=None)
    return Adapter(found, {"main": layout}, None, settings.whole("max_position_embeddings"), unused=("position_ids",))


MPNET_CLASSIFIER, MPNET_FILL_MASK = "MPNetForSequenceClassification", "MPNetForMaskedLM"
MPNET_ARCHITECTURES = (MPNET_CLASSIFIER, MPNET_FILL_MASK)
MPNET_PARTS = {
    **{f"self {x}": Part(f"attention.attn.{x}") for x in "qkvo"},
    "self norm": Part("attention.LayerNorm"),
    "ffn 1": Part("intermediate.dense"),
    "ffn 2": Part("output.dense"),
    "ffn norm": Part("output.LayerNorm"),
}
MPNET_MAIN = StackLayout(
    "mpnet.embeddings.word_embeddings", "mpnet.embeddings.position_embeddings", "mpnet.encoder.layer.{n}",
    {"self": "attention.attn"}, MPNET_PARTS, embedding_norm="mpnet.embeddings.LayerNorm",
)  # fmt: skip
MPNET_FIRST_ROW = 2


def adapt_mpnet(settings: TransformersConfig) -> Adapter:
    """MPNet (Song et al. 2020): a score bias by distance beside learned positions. All layers use the same biases."""
    n_positions = settings.whole("max_position_embeddings") - MPNET_FIRST_ROW
    fitted = replace(settings, values=dict(settings.values) | {"max_position_embeddings": n_positions})
    config = encoder_config(fitted, classifies=settings.architecture == MPNET_CLASSIFIER, norm_order="post")
    found = with_score_bias(with_embedding_norm(encoder(config, fitted), config.layer_norm_eps), "relative_bias")
    return Adapter(found, {"main": MPNET_MAIN}, None, n_positions, unused=("position_ids",), first_row=MPNET_FIRST_ROW)


MEGATRON_CLASSIFIER, MEGATRON_FILL_MASK = "MegatronBertForSequenceClassification", "MegatronBertForMaskedLM"
MEGATRON_ARCHITECTURES = (MEGATRON_CLASSIFIER, MEGATRON_FILL_MASK)
MEGATRON_PARTS = PARTS | {"self norm": Part("attention.ln"), "ffn norm": Part("ln")}
MEGATRON_MAIN = StackLayout(
    "bert.embeddings.word_embeddings", "bert.embeddings.position_embeddings", "bert.encoder.layer.{n}",
    {"self": "attention.self"}, MEGATRON_PARTS, "bert.encoder.ln", segments="bert.embeddings.token_type_embeddings",
)  # fmt: skip


def adapt_megatron(settings: TransformersConfig) -> Adapter:
    settings.refuse("is_decoder", "add_cross_attention")
    config = encoder_config(settings, classifies=settings.architecture == MEGATRON_CLASSIFIER, norm_order="pre")
    return Adapter(encoder(config, settings), {"main": MEGATRON_MAIN}, None, settings.whole("max_position_embeddings"),
                   unused=("position_ids",))  # fmt: skip
