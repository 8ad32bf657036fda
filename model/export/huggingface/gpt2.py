"""A decoder as GPT-2 (Radford et al. 2019), with our FFN's ReLU instead of its GELU."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.describe.parameters import around, parts_of
from chumoku.model.special_tokens import Special
from chumoku.model.transformer import Transformer

OPENED_BY = "AutoModelForCausalLM"


def suits(config: ModelConfig) -> bool:
    """Whether it is a GPT-2: pre-norm, learned positions, softmax attention under the causal mask."""
    kind = (config.family, config.mechanism, config.position, config.norm_order)
    return kind == ("decoder-only", "softmax", "learned", "pre") and config.is_causal and not config.scale_embeddings


def build(model: Transformer, special: Special) -> GPT2LMHeadModel:
    config = model.config
    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocab_size, n_positions=config.max_seq_len, n_embd=config.d_model,
            n_layer=config.n_layer, n_head=config.n_head, n_inner=config.d_ff, activation_function="relu",
            layer_norm_epsilon=config.layer_norm_eps, tie_word_embeddings=config.tie_embeddings,
            resid_pdrop=config.dropout, embd_pdrop=config.dropout, attn_pdrop=config.dropout,
            bos_token_id=special.end, eos_token_id=special.end, pad_token_id=special.pad,
        )
    )  # fmt: skip
    theirs.load_state_dict(dict(renamed(model.state_dict(), config)))
    return theirs


def renamed(ours: dict[str, Tensor], config: ModelConfig) -> Iterator[tuple[str, Tensor]]:
    """GPT-2's names, and its Conv1D layers' matrices [in out], with Q, K and V side by side."""
    description = describe(config)
    stack, embedding, positions, (gain, bias) = around(description)
    yield "transformer.wte.weight", ours[embedding]
    yield "transformer.wpe.weight", ours[positions]
    yield "lm_head.weight", ours[str(description.logits.parameters["unembedding"])]
    yield "transformer.ln_f.weight", ours[gain]
    yield "transformer.ln_f.bias", ours[bias]
    for n in range(config.n_layer):
        parts = parts_of(description, stack, n)
        for i, kind in enumerate(KINDS):
            q_k_v = torch.cat([ours[parts[f"self {x}"][i]] for x in "qkv"])
            yield f"{HOME}.{n}.attn.c_attn.{kind}", in_out(q_k_v)
            for name, part in LINEAR.items():
                yield f"{HOME}.{n}.{name}.{kind}", in_out(ours[parts[part][i]])
            for name, part in NORMS.items():
                yield f"{HOME}.{n}.{name}.{kind}", ours[parts[part][i]]


def in_out(x: Tensor) -> Tensor:
    """A matrix [out in] as [in out]; a bias stays."""
    return x.T if x.dim() == 2 else x


HOME, KINDS = "transformer.h", ("weight", "bias")
LINEAR = {"attn.c_proj": "self o", "mlp.c_fc": "ffn 1", "mlp.c_proj": "ffn 2"}
NORMS = {"ln_1": "self norm", "ln_2": "ffn norm"}
