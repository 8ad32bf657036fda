"""GPT-NeoX (Black et al. 2022), also Pythia: attention and FFN read the same stream, and part of each head is
rotated."""

from __future__ import annotations

from dataclasses import replace

from chumoku.model.describe import describe
from chumoku.model.describe import variants as v
from chumoku.model.describe.attention_variants import (
    seen_early,
    with_frequencies,
    with_heads,
    with_rotary_dims,
    without_biases,
)
from chumoku.model.traceable.huggingface.families.llama import DIMS, rotary
from chumoku.model.traceable.huggingface.layout import Adapter, OfHeads, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import (
    TransformersConfig,
    activation_of,
    base_of,
    frequencies_of,
    in_pairs,
    rope_of,
)

ARCHITECTURES = ("GPTNeoXForCausalLM",)


def adapt(settings: TransformersConfig) -> Adapter:
    config = replace(rotary(settings), layer_norm_eps=settings.number("layer_norm_eps", 1e-5))
    n_head = config.n_head
    rope = rope_of(settings)
    share = rope.number("partial_rotary_factor", settings.number("rotary_pct", 0.25))
    turned = in_pairs(settings, int(config.d_head * share), config.d_head)
    base = base_of(settings, settings.number("rotary_emb_base", 10_000.0))
    found = with_heads(describe(config), n_head, n_head, config.d_head, base)
    found = with_frequencies(with_rotary_dims(found, turned), frequencies_of(settings, turned, base))
    found = v.without_positions(seen_early(found, "k"))
    found = without_biases(found, "" if settings.flag("attention_bias", True) else "qkvo")
    found = v.with_activation(found, activation_of(settings.text("hidden_act", "gelu")))
    if settings.flag("use_parallel_residual", True):
        found = v.with_parallel_residual(found)
    return Adapter(v.without_our_modules(found), {"main": layout(n_head)}, "lm_head",
                   settings.whole("max_position_embeddings"), config.tie_embeddings, DIMS,
                   unused=("rotary_emb.inv_freq", ".attention.bias", ".attention.masked_bias"))  # fmt: skip


def layout(n_head: int) -> StackLayout:
    parts = {
        **{f"self {x}": Part("attention.query_key_value", OfHeads(i, n_head)) for i, x in enumerate("qkv")},
        "self o": Part("attention.dense"),
        "self norm": Part("input_layernorm"),
        "ffn 1": Part("mlp.dense_h_to_4h"),
        "ffn 2": Part("mlp.dense_4h_to_h"),
        "ffn norm": Part("post_attention_layernorm"),
    }
    return StackLayout(
        "gpt_neox.embed_in", None, "gpt_neox.layers.{n}", {"self": "attention"}, parts, "gpt_neox.final_layer_norm"
    )
