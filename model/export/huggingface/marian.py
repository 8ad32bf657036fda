"""An encoder-decoder as Marian (Junczys-Dowmunt et al. 2018): the architecture of "Attention Is All You Need".

Marian's table of positions has all sines first; ours alternates sine and cosine (Vaswani et al. 2017, section 3.5). So
wherever a matrix reads or writes the stream, its dimensions are put in Marian's order. The sums stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.describe.parameters import parts_of
from chumoku.model.positions import sinusoid
from chumoku.model.special_tokens import Special
from chumoku.model.transformer import Transformer

OPENED_BY = "AutoModelForSeq2SeqLM"


def suits(config: ModelConfig) -> bool:
    """Whether it is a Marian: post-norm, sinusoidal positions, one embedding for everything."""
    kind = (config.family, config.mechanism, config.position, config.norm_order)
    shared = config.tie_embeddings and config.scale_embeddings
    return (
        kind == ("encoder-decoder", "softmax", "sinusoidal", "post")
        and shared
        and config.is_causal
        and config.layer_norm_eps == 1e-5  # Marian's is fixed
        and config.d_model % 2 == 0
    )


def build(model: Transformer, special: Special) -> MarianMTModel:
    config = model.config
    theirs = MarianMTModel(
        MarianConfig(
            encoder_layers=config.n_layer, encoder_attention_heads=config.n_head, encoder_ffn_dim=config.d_ff,
            decoder_layers=config.n_layer, decoder_attention_heads=config.n_head, decoder_ffn_dim=config.d_ff,
            vocab_size=config.vocab_size, decoder_vocab_size=config.vocab_size, d_model=config.d_model,
            max_position_embeddings=config.max_seq_len, activation_function="relu", dropout=config.dropout,
            attention_dropout=0.0, activation_dropout=0.0, scale_embedding=True, share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True, pad_token_id=special.pad, eos_token_id=special.end, bos_token_id=None,
            decoder_start_token_id=special.first or 0, forced_eos_token_id=None,
        )
    )  # fmt: skip
    theirs.load_state_dict(dict(renamed(model.state_dict(), config)))
    return theirs


def sines_first(d_model: int) -> Tensor:
    """For each of Marian's dimensions, ours: 0, 2, 4, …, 1, 3, 5, …"""
    return torch.cat((torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)))


def renamed(ours: dict[str, Tensor], config: ModelConfig) -> Iterator[tuple[str, Tensor]]:
    """Marian's names; matrices that read or write the stream have its dimensions in Marian's order."""
    order, description = sines_first(config.d_model), describe(config)
    embedding = ours[str(description.logits.parameters["unembedding"])][:, order]
    yield from ((name, embedding) for name in ("model.shared.weight", "lm_head.weight"))
    yield "final_logits_bias", torch.zeros(1, config.vocab_size)
    for stack in description.stacks:
        yield f"model.{stack.id}.embed_tokens.weight", embedding
        yield f"model.{stack.id}.embed_positions.weight", sinusoid(config.max_seq_len, config.d_model)[:, order]
        for n in range(config.n_layer):
            parts = parts_of(description, stack, n)
            for name, part in (ENCODER if stack.id == "encoder" else ENCODER | CROSS).items():
                weight, bias = (ours[parameter] for parameter in parts[part])
                if part in READS:
                    weight = weight[:, order]
                else:  # it writes to the stream
                    weight, bias = weight[order], bias[order]
                yield from (
                    (f"{HOMES[stack.id]}.{n}.{name}.{kind}", x) for kind, x in (("weight", weight), ("bias", bias))
                )


HOMES = {"encoder": "model.encoder.layers", "decoder": "model.decoder.layers"}
READS = {"self q", "self k", "self v", "cross q", "cross k", "cross v", "ffn 1"}
ENCODER = {f"self_attn.{x}_proj": f"self {x}" for x in "qkv"} | {
    "self_attn.out_proj": "self o",
    "self_attn_layer_norm": "self norm",
    "fc1": "ffn 1",
    "fc2": "ffn 2",
    "final_layer_norm": "ffn norm",
}
CROSS = {f"encoder_attn.{x}_proj": f"cross {x}" for x in "qkv"} | {
    "encoder_attn.out_proj": "cross o",
    "encoder_attn_layer_norm": "cross norm",
}
