"""Falcon (Almazrouei et al. 2023): rotary positions, heads that share a key, an FFN that reads what attention reads.

Three kinds: one key for all heads (7B), groups of heads with a key each (40B, 180B, 11B), or a key for each head. Where
attention and FFN have one norm together, its tensors are those of both. The first models have ALiBi instead of rotary
positions; transformers' eager attention adds it twice, and its fused attention once, so they are refused.
"""

from __future__ import annotations

from dataclasses import replace

from chumoku.model.describe import Description, describe
from chumoku.model.describe import variants as v
from chumoku.model.describe.attention_variants import seen_early, with_frequencies, with_heads, without_biases
from chumoku.model.traceable.huggingface.families.llama import DIMS, rotary
from chumoku.model.traceable.huggingface.layout import Adapter, OfGroups, OfHeads, Part, StackLayout, Take
from chumoku.model.traceable.huggingface.transformers_config import (
    TransformersConfig,
    activation_of,
    base_of,
    frequencies_of,
    whole_head,
)

ARCHITECTURES = ("FalconForCausalLM",)


def adapt(settings: TransformersConfig) -> Adapter:
    if settings.flag("alibi", False):
        raise ValueError(
            "config.json: falcon with alibi=True cannot be shown: transformers' eager attention adds ALiBi twice, so "
            "its weights are not the model's; open a Falcon with rotary positions, or a BLOOM"
        )
    d_model, is_new = settings.whole("hidden_size"), settings.flag("new_decoder_architecture", False)
    d_ff = settings.whole("ffn_hidden_size", 4 * d_model)
    values = dict(settings.values) | {"intermediate_size": d_ff}
    values["tie_word_embeddings"] = settings.flag("tie_word_embeddings", True)
    values["max_position_embeddings"] = n_positions = settings.whole("max_position_embeddings", 2048)
    config = rotary(replace(settings, values=values))
    config = replace(config, layer_norm_eps=settings.number("layer_norm_epsilon", 1e-5))
    base, d_head = base_of(settings), whole_head(settings, config.d_head)
    found = with_heads(describe(config), config.n_head, n_keys(settings, config.n_head), d_head, base)
    found = with_frequencies(found, frequencies_of(settings, d_head, base))
    found = v.without_positions(seen_early(found, "k"))
    if not settings.flag("bias", False):
        found = v.without_ffn_biases(without_biases(found, "qkvo"))
    found, norms = arranged(v.with_activation(found, activation_of(settings.text("activation", "gelu"))), settings)
    takes = takes_of(config.n_head, n_keys(settings, config.n_head), is_new or settings.flag("multi_query", True))
    return Adapter(v.without_our_modules(found), {"main": layout(takes, norms)}, "lm_head", n_positions,
                   config.tie_embeddings, DIMS, unused=("rotary_emb.inv_freq",), builds_eager=True)  # fmt: skip


def n_keys(settings: TransformersConfig, n_head: int) -> int:
    """How many heads of keys there are."""
    if settings.flag("new_decoder_architecture", False):
        return settings.whole("num_kv_heads", n_head)
    return 1 if settings.flag("multi_query", True) else n_head


def arranged(found: Description, settings: TransformersConfig) -> tuple[Description, dict[str, Part]]:
    """The description with its sublayers in sequence or in parallel, and where their norms are."""
    is_new, parallel = settings.flag("new_decoder_architecture", False), settings.flag("parallel_attn", True)
    if is_new:
        settings.need("parallel_attn", True)
    if not parallel:
        return found, norms_at("input_layernorm", "post_attention_layernorm")
    if is_new and settings.whole("num_ln_in_parallel_attn", 2) == 2:
        return v.with_parallel_residual(found), norms_at("ln_attn", "ln_mlp")
    settings.need("num_ln_in_parallel_attn", 1)
    return v.with_one_norm(v.with_parallel_residual(found)), norms_at("input_layernorm", "input_layernorm")


def norms_at(attention: str, ffn: str) -> dict[str, Part]:
    return {"self norm": Part(attention), "ffn norm": Part(ffn)}


def takes_of(n_head: int, n_kv_head: int, is_grouped: bool) -> dict[str, Take]:
    if is_grouped:
        return {x: OfGroups(x, n_kv_head, n_head // n_kv_head) for x in "qkv"}
    return {x: OfHeads(i, n_head) for i, x in enumerate("qkv")}


def layout(takes: dict[str, Take], norms: dict[str, Part]) -> StackLayout:
    parts = norms | {
        **{f"self {x}": Part("self_attention.query_key_value", take) for x, take in takes.items()},
        "self o": Part("self_attention.dense"),
        "ffn 1": Part("mlp.dense_h_to_4h"),
        "ffn 2": Part("mlp.dense_4h_to_h"),
    }
    return StackLayout(
        "transformer.word_embeddings", None, "transformer.h.{n}", {"self": "self_attention"}, parts, "transformer.ln_f",
        visits_heads=True,
    )  # fmt: skip
