"""BLOOM (Scao et al. 2022): ALiBi instead of positions, and a LayerNorm of the embeddings.

ALiBi (Press et al. 2022) adds a number to each score that grows with the key's position, with a different slope in each
head. BLOOM's attention does not look up a function, so its `forward` is replaced.
"""

from __future__ import annotations

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.describe import variants as v
from chumoku.model.describe.attention_variants import with_score_bias
from chumoku.model.traceable.huggingface.layout import Adapter, OfHeads, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

ARCHITECTURES = ("BloomForCausalLM",)
BIAS = "alibi"
N_POSITIONS = 2048
"""The default window, in tokens: BLOOM was trained on it."""


def adapt(settings: TransformersConfig) -> Adapter:
    settings.refuse("apply_residual_connection_post_layernorm", "slow_but_exact")
    n_head = settings.whole("n_head", settings.values.get("num_attention_heads"))
    d_model = settings.whole("hidden_size", settings.values.get("n_embed"))
    config = ModelConfig(
        vocab_size=settings.whole("vocab_size"), n_layer=settings.whole("n_layer"), n_head=n_head, d_model=d_model,
        d_ff=4 * d_model, max_seq_len=settings.window("seq_length", N_POSITIONS), position="none",
        tie_embeddings=settings.flag("tie_word_embeddings", True),
        layer_norm_eps=settings.number("layer_norm_epsilon", 1e-5),
    )  # fmt: skip
    found = v.without_positions(with_score_bias(describe(config), BIAS))
    found = v.with_activation(v.with_embedding_norm(found, config.layer_norm_eps), "gelu_tanh")
    return Adapter(v.without_our_modules(found), {"main": layout(n_head)}, "lm_head",
                   settings.whole("seq_length", N_POSITIONS), config.tie_embeddings)  # fmt: skip


def layout(n_head: int) -> StackLayout:
    parts = {
        **{f"self {x}": Part("self_attention.query_key_value", OfHeads(i, n_head)) for i, x in enumerate("qkv")},
        "self o": Part("self_attention.dense"),
        "self norm": Part("input_layernorm"),
        "ffn 1": Part("mlp.dense_h_to_4h"),
        "ffn 2": Part("mlp.dense_4h_to_h"),
        "ffn norm": Part("post_attention_layernorm"),
    }
    return StackLayout(
        "transformer.word_embeddings", None, "transformer.h.{n}", {"self": "self_attention"}, parts,
        "transformer.ln_f", embedding_norm="transformer.word_embeddings_layernorm",
    )  # fmt: skip
