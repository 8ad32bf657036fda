"""GPT-Neo (Black et al. 2021; TinyStories): GPT-2 with layers that see only a window, and scores that are not scaled.

Which layers are local is in `attention_layers`; the mask says it. Its attention does not look up a function, so its
`forward` is replaced.
"""

from __future__ import annotations

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.describe.attention_variants import with_heads, without_biases
from chumoku.model.describe.variants import with_activation, without_our_modules
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig, activation_of

ARCHITECTURES = ("GPTNeoForCausalLM",)
PARTS = {
    **{f"self {x}": Part(f"attn.attention.{x}_proj") for x in "qkv"},
    "self o": Part("attn.attention.out_proj"),
    "self norm": Part("ln_1"),
    "ffn 1": Part("mlp.c_fc"),
    "ffn 2": Part("mlp.c_proj"),
    "ffn norm": Part("ln_2"),
}
MAIN = StackLayout(
    "transformer.wte", "transformer.wpe", "transformer.h.{n}", {"self": "attn.attention"}, PARTS, "transformer.ln_f"
)


def adapt(settings: TransformersConfig) -> Adapter:
    d_model, n_head = settings.whole("hidden_size"), settings.whole("num_heads")
    config = ModelConfig(
        vocab_size=settings.whole("vocab_size"), n_layer=settings.whole("num_layers"), n_head=n_head, d_model=d_model,
        d_ff=settings.whole("intermediate_size", 4 * d_model), max_seq_len=settings.window("max_position_embeddings"),
        tie_embeddings=settings.flag("tie_word_embeddings", True),
        layer_norm_eps=settings.number("layer_norm_epsilon", 1e-5),
    )  # fmt: skip
    found = without_biases(with_heads(describe(config), n_head, n_head, d_model // n_head, scale=1.0), "qkv")
    found = with_activation(found, activation_of(settings.text("activation_function", "gelu_new")))
    return Adapter(without_our_modules(found), {"main": MAIN}, "lm_head", settings.whole("max_position_embeddings"),
                   tied=config.tie_embeddings, unused=(".attention.bias", ".attention.masked_bias"),
                   builds_eager=True)  # fmt: skip
