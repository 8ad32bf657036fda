"""Marian (Junczys-Dowmunt et al. 2018) and BART (Lewis et al. 2019): the architecture of "Attention Is All You Need".

Both are post-norm. Marian has sines and cosines, and adds a bias to the logits, so they take more than a matrix. BART
normalises its embeddings, and has learned positions after two unused rows. Position ids count PADs, so PADs on the left
shift a sentence. mBART (Liu et al. 2020) and M2M-100 (Fan et al. 2021; NLLB) are pre-norm: mBART is BART otherwise;
M2M-100 has sines and cosines that skip PADs, and no bias of the logits.
"""

from __future__ import annotations

from dataclasses import replace

from chumoku.model.config import ModelConfig
from chumoku.model.describe import Description, describe
from chumoku.model.describe.variants import (
    counting_pads,
    with_activation,
    with_embedding_norm,
    with_layers,
    without_our_modules,
    without_unembedding,
)
from chumoku.model.traceable.huggingface.layout import Adapter, Part, StackLayout
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig, activation_of

ARCHITECTURES = ("MarianMTModel",)
ENCODER = {
    **{f"self {x}": Part(f"self_attn.{x}_proj") for x in "qkv"},
    "self o": Part("self_attn.out_proj"),
    "self norm": Part("self_attn_layer_norm"),
    "ffn 1": Part("fc1"),
    "ffn 2": Part("fc2"),
    "ffn norm": Part("final_layer_norm"),
}
CROSS = {
    **{f"cross {x}": Part(f"encoder_attn.{x}_proj") for x in "qkv"},
    "cross o": Part("encoder_attn.out_proj"),
    "cross norm": Part("encoder_attn_layer_norm"),
}
STACKS = {
    "encoder": StackLayout(
        "model.encoder.embed_tokens", "model.encoder.embed_positions", "model.encoder.layers.{n}",
        {"encoder": "self_attn"}, ENCODER,
    ),
    "decoder": StackLayout(
        "model.decoder.embed_tokens", "model.decoder.embed_positions", "model.decoder.layers.{n}",
        {"decoder": "self_attn", "cross": "encoder_attn"}, ENCODER | CROSS,
    ),
}  # fmt: skip


def adapt(settings: TransformersConfig) -> Adapter:
    config = translator_config(settings)
    settings.need("share_encoder_decoder_embeddings", True)
    settings.need("decoder_vocab_size", settings.whole("vocab_size"))
    description = translator(replace(config, position="sinusoidal"), settings)
    return Adapter(description, STACKS, None, settings.whole("max_position_embeddings"), tied=True)


def translator_config(settings: TransformersConfig) -> ModelConfig:
    """The config of Marian and its variants. Raises `ValueError` for stacks that differ in more than their depth."""
    for name in ("attention_heads", "ffn_dim"):
        settings.need(f"decoder_{name}", settings.whole(f"encoder_{name}"))
    return ModelConfig(
        vocab_size=settings.whole("vocab_size"),
        n_layer=max(settings.whole("encoder_layers"), settings.whole("decoder_layers")),
        n_head=settings.whole("encoder_attention_heads"), d_model=settings.whole("d_model"),
        d_ff=settings.whole("encoder_ffn_dim"), max_seq_len=settings.window("max_position_embeddings"),
        family="encoder-decoder", norm_order="post", scale_embeddings=settings.flag("scale_embedding", False),
    )  # fmt: skip


def translator(config: ModelConfig, settings: TransformersConfig) -> Description:
    return counting_pads(without_unembedding(stacks_of(config, settings)))


def stacks_of(config: ModelConfig, settings: TransformersConfig) -> Description:
    found = with_activation(describe(config), activation_of(settings.text("activation_function", "gelu")))
    for side in ("encoder", "decoder"):
        found = with_layers(found, side, settings.whole(f"{side}_layers"))
    return without_our_modules(found)


BART_ARCHITECTURES = ("BartForConditionalGeneration",)
BART_FIRST_ROW = 2
BART_STACKS = {
    side: replace(stack, embedding_norm=f"model.{side}.layernorm_embedding", is_scaled=True)
    for side, stack in STACKS.items()
}


def adapt_bart(settings: TransformersConfig) -> Adapter:
    settings.refuse("normalize_before", "add_final_layer_norm", "static_position_embeddings")
    settings.need("tie_word_embeddings", True)
    config = translator_config(settings)
    description = with_embedding_norm(translator(config, settings), config.layer_norm_eps)
    return Adapter(description, BART_STACKS, None, settings.whole("max_position_embeddings"), tied=True,
                   first_row=BART_FIRST_ROW)  # fmt: skip


MBART_ARCHITECTURES = ("MBartForConditionalGeneration",)
MBART_STACKS = {
    side: replace(stack, final_norm=f"model.{side}.layer_norm") for side, stack in BART_STACKS.items()
}  # fmt: skip


def adapt_mbart(settings: TransformersConfig) -> Adapter:
    settings.need("tie_word_embeddings", True)
    config = replace(translator_config(settings), norm_order="pre")
    description = with_embedding_norm(translator(config, settings), config.layer_norm_eps)
    return Adapter(description, MBART_STACKS, None, settings.whole("max_position_embeddings"), tied=True,
                   first_row=BART_FIRST_ROW)  # fmt: skip


M2M_ARCHITECTURES = ("M2M100ForConditionalGeneration",)
M2M_STACKS = {
    side: replace(stack, is_scaled=True, final_norm=f"model.{side}.layer_norm") for side, stack in STACKS.items()
}


def adapt_m2m(settings: TransformersConfig) -> Adapter:
    values = dict(settings.values)
    values |= {"scale_embedding": settings.flag("scale_embedding", True)}
    values |= {"activation_function": settings.text("activation_function", "relu")}
    named = replace(settings, values=values)
    config = replace(translator_config(named), norm_order="pre", position="sinusoidal")
    return Adapter(stacks_of(config, named), M2M_STACKS, "lm_head", settings.whole("max_position_embeddings"),
                   settings.flag("tie_word_embeddings", True), skips_pads=True)  # fmt: skip
