"""DistilBERT (Sanh et al. 2019): BERT with half the layers and without segments."""

from __future__ import annotations

from chumoku.model.describe.variants import with_embedding_norm
from chumoku.model.traceable.huggingface.families import bert
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

CLASSIFIER, FILL_MASK = "DistilBertForSequenceClassification", "DistilBertForMaskedLM"
ARCHITECTURES = (CLASSIFIER, FILL_MASK)
PARTS = {
    **{f"self {x}": Part(f"attention.{x}_lin") for x in "qkv"},
    "self o": Part("attention.out_lin"),
    "self norm": Part("sa_layer_norm"),
    "ffn 1": Part("ffn.lin1"),
    "ffn 2": Part("ffn.lin2"),
    "ffn norm": Part("output_layer_norm"),
}
MAIN = StackLayout(
    "distilbert.embeddings.word_embeddings", "distilbert.embeddings.position_embeddings",
    "distilbert.transformer.layer.{n}", {"self": "attention"}, PARTS, embedding_norm="distilbert.embeddings.LayerNorm",
)  # fmt: skip
NAMES = {
    "hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
    "intermediate_size": "hidden_dim", "hidden_act": "activation",
}  # fmt: skip


def adapt(settings: TransformersConfig) -> Adapter:
    named = settings.renamed(NAMES)
    config = bert.encoder_config(named, classifies=settings.architecture == CLASSIFIER, norm_order="post")
    description = with_embedding_norm(bert.encoder(config, named), config.layer_norm_eps)
    return Adapter(description, {"main": MAIN}, None, settings.whole("max_position_embeddings"))
