"""A decoder as GPT-2 (Radford et al. 2019), with our FFN's ReLU in the place of its GELU."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel

from model.config import ModelConfig
from model.special_tokens import Special
from model.transformer import Transformer

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
    theirs.load_state_dict(dict(renamed(model.state_dict(), config.n_layer)))
    return theirs


def renamed(ours: dict[str, Tensor], n_layer: int) -> Iterator[tuple[str, Tensor]]:
    """Its names, and its Conv1D layers' matrices [in out], with Q, K and V side by side."""
    yield "transformer.wte.weight", ours["token_embedding.weight"]
    yield "transformer.wpe.weight", ours["positions.table.weight"]
    yield "lm_head.weight", ours["unembedding.weight"]
    for kind in ("weight", "bias"):
        yield f"transformer.ln_f.{kind}", ours[f"final_norm.{kind}"]
        for n in range(n_layer):
            layer, block = f"transformer.h.{n}", f"layers.{n}"
            q_k_v = torch.cat([ours[f"{block}.attn.w_{x}.{kind}"] for x in "qkv"])
            yield f"{layer}.attn.c_attn.{kind}", in_out(q_k_v)
            for name, part in LINEAR.items():
                yield f"{layer}.{name}.{kind}", in_out(ours[f"{block}.{part}.{kind}"])
            for name, part in NORMS.items():
                yield f"{layer}.{name}.{kind}", ours[f"{block}.{part}.{kind}"]


def in_out(x: Tensor) -> Tensor:
    """A matrix [out in] as [in out]; a bias stays."""
    return x.T if x.dim() == 2 else x


LINEAR = {"attn.c_proj": "attn.w_o", "mlp.c_fc": "ffn.w_1", "mlp.c_proj": "ffn.w_2"}
NORMS = {"ln_1": "attn_residual.norm", "ln_2": "ffn_residual.norm"}
