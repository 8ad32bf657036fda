"""RWKV-4 (Peng et al. 2023): weights that fall with distance instead of attention (`mechanisms/wkv.py`), channel mixing
instead of an FFN, a LayerNorm of the embeddings, no positions.

So that float16 does not overflow, transformers halves the stream after every `rescale_every` layers, and divides the
matrices that write to it by the same factors before the first pass. The scaled numbers are shown, as computed.
"""

from __future__ import annotations

import math

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.describe import variants as v
from chumoku.model.describe.attention_variants import seen_early
from chumoku.model.traceable.huggingface.layout import STEP, Adapter, Part, StackLayout, flat
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

ARCHITECTURES = ("RwkvForCausalLM",)
GROUP = 64
"""RWKV has no heads. Its features are shown in groups of at most this size."""
LAST_EPS = 1e-5
"""ε of the final LayerNorm, whatever the config says."""
WEIGHTS = 160_000_000
"""Bytes of a layer's weights, one for each query, key and feature, in float32."""
ROUTES = 10**12
"""How many products the river of a whole window may take. docs/huggingface.md has the times."""
EVERY = 6
"""The default number of layers after which the stream is halved."""
TIME = {"r": "receptance", "k": "key", "v": "value"}
PARTS = {
    **{f"self {x}": Part(f"attention.{name}") for x, name in TIME.items()},
    **{f"self mix_{x}": Part("attention", flat, f"time_mix_{name}") for x, name in TIME.items()},
    "self decay": Part("attention", flat, "time_decay"),
    "self bonus": Part("attention", flat, "time_first"),
    "self o": Part("attention.output"),
    "self norm": Part("ln1"),
    "ffn 1": Part("feed_forward.key"),
    "ffn 2": Part("feed_forward.value"),
    "ffn r": Part("feed_forward.receptance"),
    **{f"ffn mix_{x}": Part("feed_forward", flat, f"time_mix_{TIME[x]}") for x in "kr"},
    "ffn norm": Part("ln2"),
}
MAIN = StackLayout(
    "rwkv.embeddings", None, "rwkv.blocks.{n}", {"self": "attention"}, PARTS, "rwkv.ln_out",
    embedding_norm="rwkv.blocks.0.pre_ln",
)  # fmt: skip
VECTORS = ("decay", "bonus", *(f"mix_{x}" for x in TIME))
DIMS = {f"w_{x}": "d_model d_model" for x in "rkvo"} | dict.fromkeys(VECTORS, "d_model")


def adapt(settings: TransformersConfig) -> Adapter:
    d_model = settings.whole("hidden_size")
    settings.need("attention_hidden_size", d_model)  # transformers keeps no state of another size
    window = max(STEP, math.isqrt(WEIGHTS // (4 * d_model)) // STEP * STEP)
    config = ModelConfig(
        vocab_size=settings.whole("vocab_size"), n_layer=settings.whole("num_hidden_layers"), n_head=groups(d_model),
        d_model=d_model, d_ff=settings.whole("intermediate_size", 4 * d_model),
        max_seq_len=min(settings.window("context_length"), window), mechanism="wkv", position="none",
        tie_embeddings=settings.flag("tie_word_embeddings", False),
        layer_norm_eps=settings.number("layer_norm_epsilon", 1e-5),
    )  # fmt: skip
    found = v.without_positions(seen_early(describe(config), "k", "v"))
    found = v.with_embedding_norm(found, config.layer_norm_eps)
    found = v.with_final_eps(v.with_channel_mixing(found), LAST_EPS)
    found = v.with_scaled_layers(found, 0.5, int(settings.number("rescale_every", EVERY)))
    found = v.unable(v.without_our_modules(found), "pads")
    return Adapter(found if can_route(config) else v.unable(found, "route", "effects"), {"main": MAIN}, "head",
                   settings.whole("context_length"), config.tie_embeddings, DIMS, is_recurrent=True)  # fmt: skip


def groups(d_model: int) -> int:
    """The fewest groups of at most `GROUP` features, all of one size."""
    return next(n for n in range(-(-d_model // GROUP), d_model + 1) if d_model % n == 0)


def can_route(config: ModelConfig) -> bool:
    """Whether per-key contributions can be computed in reasonable time."""
    return config.n_layer * config.max_seq_len**2 * config.d_model**2 <= ROUTES
