"""T5 (Raffel et al. 2020): RMSNorm before each sublayer, a score bias by distance instead of positions, no scaling.

mT5 (Xue et al. 2021) never scales its last state.

The first layer of a stack has the table of biases, and all its layers use it. The bias of cross-attention is 0.
"""

from __future__ import annotations

from chumoku.model.config import ModelConfig
from chumoku.model.describe import Description, describe
from chumoku.model.describe import variants as v
from chumoku.model.describe.attention_variants import with_heads, with_score_bias, without_biases
from chumoku.model.traceable.huggingface.families.llama import DIMS
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig, activation_of

ARCHITECTURES, MT5_ARCHITECTURES = ("T5ForConditionalGeneration",), ("MT5ForConditionalGeneration",)
BIAS = "relative_bias"
N_POSITIONS = 512
"""The default window, in tokens: T5 was trained on it."""


def adapt(settings: TransformersConfig) -> Adapter:
    kind, _, activation = settings.text("feed_forward_proj", "relu").rpartition("-")
    layers = {"encoder": settings.whole("num_layers")}
    layers["decoder"] = settings.whole("num_decoder_layers", layers["encoder"])
    is_scaled = settings.model_type == "t5" and settings.flag(
        "scale_decoder_outputs", settings.flag("tie_word_embeddings", True)
    )
    config = ModelConfig(
        vocab_size=settings.whole("vocab_size"), n_layer=max(layers.values()), n_head=1,
        d_model=settings.whole("d_model"), d_ff=settings.whole("d_ff"),
        max_seq_len=settings.window("n_positions", N_POSITIONS), family="encoder-decoder", position="none",
        tie_embeddings=is_scaled,
    )  # fmt: skip
    n_head = settings.whole("num_heads")
    found = with_heads(describe(config), n_head, n_head, settings.whole("d_kv"), scale=1.0)
    found = v.without_positions(with_score_bias(without_biases(found, "qkvo"), BIAS))
    found = v.with_rms_norms(found, settings.number("layer_norm_epsilon", 1e-6))
    found = with_ffn(found, kind == "gated", "gelu_new" if kind and activation == "gelu" else activation)
    for side, n in layers.items():
        found = v.with_layers(found, side, n)
    if is_scaled:  # the last state is also multiplied by 1/√d_model, so the logits take more than a matrix
        found = v.without_unembedding(found)
    stacks = {side: layout(side, kind == "gated") for side in layers}
    return Adapter(v.counting_pads(v.without_our_modules(found)), stacks, None if is_scaled else "lm_head",
                   settings.whole("n_positions", N_POSITIONS), is_scaled, DIMS)  # fmt: skip


def with_ffn(description: Description, is_gated: bool, activation: str) -> Description:
    found = v.with_gate(description) if is_gated else v.without_ffn_biases(description)
    return v.with_activation(found, activation_of(activation))


def layout(side: str, is_gated: bool) -> StackLayout:
    writes = side == "decoder"
    ffn = "layer.2" if writes else "layer.1"
    parts = {f"self {x}": Part(f"layer.0.SelfAttention.{x}") for x in "qkvo"} | {
        "self norm": Part("layer.0.layer_norm")
    }
    attentions = {side: "layer.0.SelfAttention"}
    if writes:
        parts |= {f"cross {x}": Part(f"layer.1.EncDecAttention.{x}") for x in "qkvo"}
        parts["cross norm"] = Part("layer.1.layer_norm")
        attentions["cross"] = "layer.1.EncDecAttention"
    names = {"ffn 1": "wi_0", "ffn up": "wi_1", "ffn 2": "wo"} if is_gated else {"ffn 1": "wi", "ffn 2": "wo"}
    parts |= {word: Part(f"{ffn}.DenseReluDense.{name}") for word, name in names.items()}
    parts["ffn norm"] = Part(f"{ffn}.layer_norm")
    return StackLayout(f"{side}.embed_tokens", None, side + ".block.{n}", attentions, parts, f"{side}.final_layer_norm")
