"""RoBERTa (Liu et al. 2019) and variants in other languages: BERT whose positions begin after the row of its PAD."""

from __future__ import annotations

from dataclasses import replace

from chumoku.model.describe.variants import with_embedding_norm
from chumoku.model.traceable.huggingface.families import bert
from chumoku.model.traceable.huggingface.layout import Adapter
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

CLASSIFIES, FILL_MASK = "ForSequenceClassification", "ForMaskedLM"
ARCHITECTURES = tuple(
    kind + ending for kind in ("Roberta", "XLMRoberta", "Camembert") for ending in (CLASSIFIES, FILL_MASK)
)
MAIN = replace(
    bert.MAIN,
    embedding="roberta.embeddings.word_embeddings",
    positions="roberta.embeddings.position_embeddings",
    block="roberta.encoder.layer.{n}",
    embedding_norm="roberta.embeddings.LayerNorm",
    segments="roberta.embeddings.token_type_embeddings",
)


def adapt(settings: TransformersConfig) -> Adapter:
    settings.refuse("is_decoder", "add_cross_attention")
    first = (settings.token("pad_token_id") or 0) + 1
    n_positions = settings.whole("max_position_embeddings") - first
    values = dict(settings.values) | {"max_position_embeddings": n_positions}
    fitted = replace(settings, values=values)
    config = bert.encoder_config(fitted, classifies=settings.architecture.endswith(CLASSIFIES), norm_order="post")
    description = with_embedding_norm(bert.encoder(config, fitted), config.layer_norm_eps)
    return Adapter(description, {"main": MAIN}, None, n_positions, unused=("position_ids",), first_row=first)
