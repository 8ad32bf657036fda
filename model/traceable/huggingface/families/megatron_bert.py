"""Megatron's BERT (Shoeybi et al. 2019), the pre-norm one. Its attention does not ask for a function: its `forward` is
replaced."""

from __future__ import annotations

from torch import nn

from chumoku.model.traceable.huggingface.families import bert
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

CLASSIFIER, FILL_MASK = "MegatronBertForSequenceClassification", "MegatronBertForMaskedLM"
ARCHITECTURES = (CLASSIFIER, FILL_MASK)
PARTS = bert.PARTS | {"self norm": Part("attention.ln"), "ffn norm": Part("ln")}
MAIN = StackLayout(
    "bert.embeddings.word_embeddings", "bert.embeddings.position_embeddings", "bert.encoder.layer.{n}",
    {"self": "attention.self"}, PARTS, "bert.encoder.ln", segments="bert.embeddings.token_type_embeddings",
)  # fmt: skip


def adapt(settings: TransformersConfig) -> Adapter:
    settings.refuse("is_decoder", "add_cross_attention")
    config = bert.encoder_config(settings, classifies=settings.architecture == CLASSIFIER, norm_order="pre")
    return Adapter(bert.encoder(config, settings), {"main": MAIN}, None, settings.whole("max_position_embeddings"),
                   unused=("position_ids",), prepare=prepare)  # fmt: skip


def prepare(model: nn.Module) -> None:
    from chumoku.model.traceable.huggingface.without_interface import replace_attention

    for module in model.modules():
        if type(module).__name__ == "MegatronBertSelfAttention":
            replace_attention(module)
