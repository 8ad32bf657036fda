"""A decoder with rotary positions as GPT-NeoX (Black et al. 2022), with our FFN's ReLU instead of its GELU.

All dimensions of a head are rotated, and the FFN reads the stream after attention (no parallel residual).
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.describe.parameters import names_of_norm, parts_of
from chumoku.model.mechanisms.rotary import BASE
from chumoku.model.special_tokens import Special
from chumoku.model.transformer import Transformer

OPENED_BY = "AutoModelForCausalLM"
HOME = "gpt_neox.layers"
PARTS = {
    "attention.dense": "self o",
    "mlp.dense_h_to_4h": "ffn 1",
    "mlp.dense_4h_to_h": "ffn 2",
    "input_layernorm": "self norm",
    "post_attention_layernorm": "ffn norm",
}


def suits(config: ModelConfig) -> bool:
    """Whether it is a GPT-NeoX: pre-norm, rotary positions, the causal mask."""
    kind = (config.family, config.mechanism, config.position, config.norm_order)
    return kind == ("decoder-only", "rotary", "none", "pre") and config.is_causal and not config.scale_embeddings


def build(model: Transformer, special: Special) -> GPTNeoXForCausalLM:
    config = model.config
    theirs = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=config.vocab_size, hidden_size=config.d_model, num_hidden_layers=config.n_layer,
            num_attention_heads=config.n_head, intermediate_size=config.d_ff, hidden_act="relu",
            max_position_embeddings=config.max_seq_len, layer_norm_eps=config.layer_norm_eps,
            use_parallel_residual=False, attention_bias=True, tie_word_embeddings=config.tie_embeddings,
            rope_parameters={"rope_type": "default", "rope_theta": BASE, "partial_rotary_factor": 1.0},
            attention_dropout=config.dropout, hidden_dropout=config.dropout,
            bos_token_id=special.end, eos_token_id=special.end, pad_token_id=special.pad,
        )
    )  # fmt: skip
    theirs.load_state_dict(dict(renamed(model.state_dict(), config)))
    return theirs


def renamed(ours: dict[str, Tensor], config: ModelConfig) -> Iterator[tuple[str, Tensor]]:
    """GPT-NeoX's names, with each head's Q, K and V stacked."""
    description = describe(config)
    (stack,) = description.stacks
    assert stack.final_norm is not None
    gain, bias = names_of_norm(stack.final_norm)
    yield "gpt_neox.embed_in.weight", ours[str(stack.embedding.parameters["embedding"])]
    yield "lm_head.weight", ours[str(description.logits.parameters["unembedding"])]
    yield "gpt_neox.final_layer_norm.weight", ours[gain]
    yield "gpt_neox.final_layer_norm.bias", ours[bias]
    for n in range(config.n_layer):
        parts = parts_of(description, stack, n)
        for i, kind in enumerate(("weight", "bias")):
            q_k_v = torch.stack([ours[parts[f"self {x}"][i]].unflatten(0, (config.n_head, -1)) for x in "qkv"], 1)
            yield f"{HOME}.{n}.attention.query_key_value.{kind}", q_k_v.flatten(0, 2)
            for name, part in PARTS.items():
                yield f"{HOME}.{n}.{name}.{kind}", ours[parts[part][i]]
