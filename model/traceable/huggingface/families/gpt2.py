"""GPT-2 (Radford et al. 2019): pre-norm, learned positions, softmax attention under the causal mask."""

from __future__ import annotations

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.describe.variants import with_activation, without_our_modules
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout, Third, in_out
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig, activation_of

ARCHITECTURES = ("GPT2LMHeadModel",)
PARTS = {
    **{f"self {x}": Part("attn.c_attn", Third(i)) for i, x in enumerate("qkv")},
    "self o": Part("attn.c_proj", in_out),
    "self norm": Part("ln_1"),
    "ffn 1": Part("mlp.c_fc", in_out),
    "ffn 2": Part("mlp.c_proj", in_out),
    "ffn norm": Part("ln_2"),
}
MAIN = StackLayout(
    "transformer.wte", "transformer.wpe", "transformer.h.{n}", {"self": "attn"}, PARTS, "transformer.ln_f"
)


def adapt(settings: TransformersConfig) -> Adapter:
    """Raises `ValueError` for a setting that gives other numbers than the formulas we show."""
    settings.refuse("add_cross_attention", "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx")
    settings.need("scale_attn_weights", True)
    d_model = settings.whole("n_embd")
    config = ModelConfig(
        vocab_size=settings.whole("vocab_size"), n_layer=settings.whole("n_layer"), n_head=settings.whole("n_head"),
        d_model=d_model, d_ff=settings.whole("n_inner", 4 * d_model), max_seq_len=settings.window("n_positions"),
        tie_embeddings=settings.flag("tie_word_embeddings", True),
        layer_norm_eps=settings.number("layer_norm_epsilon", 1e-5),
    )  # fmt: skip
    description = with_activation(describe(config), activation_of(settings.text("activation_function", "gelu_new")))
    return Adapter(without_our_modules(description), {"main": MAIN}, "lm_head", settings.whole("n_positions"),
                   tied=config.tie_embeddings, unused=(".attn.bias", ".attn.masked_bias"))  # fmt: skip
