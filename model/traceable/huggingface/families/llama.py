"""Llama (Touvron et al. 2023) and relatives: RMSNorm before each sublayer, rotary positions, grouped keys, a gated FFN.

Mistral (Jiang et al. 2023) has a sliding window, Qwen2 (Yang et al. 2024) biases on Q, K and V, Qwen3 (Yang et al.
2025) an RMSNorm of each head's q and k.
"""

from __future__ import annotations

from dataclasses import replace

from chumoku.model.config import ModelConfig
from chumoku.model.describe import Description, describe
from chumoku.model.describe import variants as v
from chumoku.model.describe.attention_variants import (
    seen_early,
    with_frequencies,
    with_heads,
    with_normed_heads,
    without_biases,
)
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import (
    TransformersConfig,
    activation_of,
    base_of,
    frequencies_of,
    whole_head,
)

ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")
PARTS = {
    **{f"self {x}": Part(f"self_attn.{x}_proj") for x in "qkvo"},
    "self norm": Part("input_layernorm"),
    "ffn 1": Part("mlp.gate_proj"),
    "ffn up": Part("mlp.up_proj"),
    "ffn 2": Part("mlp.down_proj"),
    "ffn norm": Part("post_attention_layernorm"),
}
MAIN = StackLayout("model.embed_tokens", None, "model.layers.{n}", {"self": "self_attn"}, PARTS, "model.norm")
DIMS = {
    "w_q": "d_q d_model", "w_k": "d_kv d_model", "w_v": "d_kv d_model", "w_o": "d_model d_q",
    "b_q": "d_q", "b_k": "d_kv", "b_v": "d_kv", "b_o": "d_model", "gain_q": "d_head", "gain_k": "d_head",
}  # fmt: skip


def adapt_llama(settings: TransformersConfig) -> Adapter:
    settings.refuse("mlp_bias")
    return adapt(settings, without="" if settings.flag("attention_bias", False) else "qkvo")


def adapt_mistral(settings: TransformersConfig) -> Adapter:
    return adapt(settings, without="qkvo")


def adapt_qwen2(settings: TransformersConfig) -> Adapter:
    return adapt(settings, without="o")


def adapt_qwen3(settings: TransformersConfig) -> Adapter:
    found = adapt(settings, without="" if settings.flag("attention_bias", False) else "qkvo")
    normed = with_normed_heads(found.description, settings.number("rms_norm_eps", 1e-6))
    norms = {f"self {x} norm": Part(f"self_attn.{x}_norm") for x in "qk"}
    return replace(found, description=normed, stacks={"main": replace(MAIN, parts=PARTS | norms)})


def adapt(settings: TransformersConfig, without: str) -> Adapter:
    """The adapter of Llama and its relatives; `without` names those of Q, K, V and O that have no bias."""
    config = rotary(settings)
    n_head, d_model = config.n_head, config.d_model
    d_head = settings.whole("head_dim", d_model // n_head)
    n_kv_head, base = settings.whole("num_key_value_heads", n_head), base_of(settings)
    found = with_heads(describe(config), n_head, n_kv_head, d_head, base)
    found = with_frequencies(found, frequencies_of(settings, whole_head(settings, d_head), base))
    found = v.without_positions(without_biases(seen_early(found, "k"), without))
    found = gated(found, settings)
    return Adapter(v.without_our_modules(found), {"main": MAIN}, "lm_head", settings.whole("max_position_embeddings"),
                   config.tie_embeddings, DIMS, unused=("rotary_emb.inv_freq",))  # fmt: skip


def rotary(settings: TransformersConfig) -> ModelConfig:
    """The config of a decoder with rotary positions."""
    return ModelConfig(
        vocab_size=settings.whole("vocab_size"), n_layer=settings.whole("num_hidden_layers"),
        n_head=settings.whole("num_attention_heads"), d_model=settings.whole("hidden_size"),
        d_ff=settings.whole("intermediate_size"), max_seq_len=settings.window("max_position_embeddings"),
        mechanism="rotary", position="none", tie_embeddings=settings.flag("tie_word_embeddings", False),
    )  # fmt: skip


def gated(description: Description, settings: TransformersConfig) -> Description:
    found = v.with_rms_norms(description, settings.number("rms_norm_eps", 1e-6))
    return v.with_activation(v.with_gate(found), activation_of(settings.text("hidden_act", "silu")))
