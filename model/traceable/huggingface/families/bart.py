"""BART (Lewis et al. 2019): Marian with a LayerNorm of the embeddings, and learned positions after two unused rows."""

from __future__ import annotations

from dataclasses import replace

from chumoku.model.describe.variants import with_embedding_norm
from chumoku.model.traceable.huggingface.families import marian
from chumoku.model.traceable.huggingface.layout import Adapter
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

ARCHITECTURES = ("BartForConditionalGeneration",)
FIRST_ROW = 2
STACKS = {
    side: replace(stack, embedding_norm=f"model.{side}.layernorm_embedding", is_scaled=True)
    for side, stack in marian.STACKS.items()
}


def adapt(settings: TransformersConfig) -> Adapter:
    settings.refuse("normalize_before", "add_final_layer_norm", "static_position_embeddings")
    settings.need("tie_word_embeddings", True)
    config = marian.translator_config(settings)
    description = with_embedding_norm(marian.translator(config, settings), config.layer_norm_eps)
    return Adapter(description, STACKS, None, settings.whole("max_position_embeddings"), tied=True,
                   first_row=FIRST_ROW)  # fmt: skip
