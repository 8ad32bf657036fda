"""A decoder of another family that looks up its attention function. It keeps computing with its own function.

Its attention is shown; the rest of its blocks is not.
"""

from __future__ import annotations

import math

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.describe.attention_variants import with_heads, with_softcap
from chumoku.model.describe.variants import attention_only
from chumoku.model.traceable.huggingface.layout import Adapter
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

ENDING = "ForCausalLM"
NAMES = {
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads", "attention_heads"),
    "hidden_size": ("n_embd", "d_model", "n_embed"),
    "max_position_embeddings": ("n_positions", "seq_length", "max_seq_len"),
}
"""Other names of the same setting."""
CHANGING = ("dynamic", "longrope")
"""Types of rotary positions whose angles depend on the length of the text, so a cached step would have other ones."""


SOFTCAP = "attn_logit_softcapping"
"""The bound of the scores in Gemma 2."""
SCALES_QUERIES = ("opt",)
"""Families that scale q before the product (Zhang et al. 2022), so that the captured q · k is the score."""


def is_decoder(architecture: str) -> bool:
    return architecture.endswith(ENDING)


def adapt(settings: TransformersConfig) -> Adapter:
    """The adapter of such a decoder. Raises `ValueError` for a config that lacks a number that a description needs."""
    found = settings.renamed({ours: found_name(settings, ours, others) for ours, others in NAMES.items()})
    check_angles(found)
    n_head, d_model = found.whole("num_attention_heads"), found.whole("hidden_size")
    n_positions = found.whole("max_position_embeddings", 2048)
    config = ModelConfig(
        vocab_size=found.whole("vocab_size"), n_layer=found.whole("num_hidden_layers"), n_head=1, d_model=d_model,
        d_ff=d_model, max_seq_len=found.window("max_position_embeddings", 2048), position="none",
    )  # fmt: skip
    d_head = found.whole("head_dim", d_model // n_head)
    described = with_heads(describe(config), n_head, found.whole("num_key_value_heads", n_head), d_head,
                           scale=scale_of(found, d_head))  # fmt: skip
    shown, cap = attention_only(described), found.number(SOFTCAP, 0.0)
    if cap:
        shown = with_softcap(shown, found.positive(SOFTCAP, cap))
    return Adapter(shown, {}, None, n_positions, is_known=False)


def found_name(settings: TransformersConfig, ours: str, others: tuple[str, ...]) -> str:
    return next((name for name in (ours, *others) if settings.values.get(name) is not None), ours)


def scale_of(settings: TransformersConfig, d_head: int) -> float:
    """The scale of the scores. The configs of Granite and Gemma name it. It is checked when the model is loaded."""
    if settings.model_type in SCALES_QUERIES:
        return 1.0
    if settings.values.get("query_pre_attn_scalar") is not None:
        return 1 / math.sqrt(settings.number("query_pre_attn_scalar", d_head))
    return settings.number("attention_multiplier", d_head**-0.5)


def check_angles(settings: TransformersConfig) -> None:
    given = settings.table("rope_parameters") or settings.table("rope_scaling")
    for table in (given, *(x for x in given.values() if isinstance(x, dict))):
        kind = table.get("rope_type", table.get("type"))
        if kind in CHANGING:
            raise ValueError(
                f"config.json: {settings.model_type} with rotary positions of type {kind} cannot be shown: "
                "its angles depend on the length of the text"
            )
