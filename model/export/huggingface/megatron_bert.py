"""A classifier as Megatron's BERT (Shoeybi et al. 2019), which is pre-norm.

Its pooler applies tanh to [CLS]; our model has no pooler. Scaled by 2⁻¹⁷, the states lie where tanh(x) = x, and the
classifier multiplies them by 2¹⁷ again. Powers of two change no digit. tanh(x) = x − x³/3 + …, so logits in float64 are
off by about 8e-11 (by 3e-10 with 2⁻¹⁶; random weights: 6e-10 and 2e-9); in float32 and bfloat16 they are exact. float16
has too few exponents: there, sentiment-encoder's logits of 20 short reviews are off by up to 0.2 % (0.1 % with 2⁻¹⁶,
0.3 % with 2⁻¹⁸), and a classifier with a weight of 0.5 or more overflows.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from transformers import MegatronBertConfig, MegatronBertForSequenceClassification

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.describe.parameters import around, parts_of
from chumoku.model.special_tokens import Special
from chumoku.model.transformer import Transformer

OPENED_BY = "AutoModelForSequenceClassification"
SMALL = 2.0**-17


def suits(config: ModelConfig) -> bool:
    """Whether it is a Megatron BERT: pre-norm, learned positions, classes."""
    kind = (config.family, config.mechanism, config.position, config.norm_order)
    reads_text = config.picture is None and not config.scale_embeddings
    return kind == ("encoder-only", "softmax", "learned", "pre") and bool(config.classes) and reads_text


def build(model: Transformer, special: Special) -> MegatronBertForSequenceClassification:
    config = model.config
    theirs = MegatronBertForSequenceClassification(
        MegatronBertConfig(
            vocab_size=config.vocab_size, hidden_size=config.d_model, num_hidden_layers=config.n_layer,
            num_attention_heads=config.n_head, intermediate_size=config.d_ff, hidden_act="relu",
            max_position_embeddings=config.max_seq_len, type_vocab_size=1, layer_norm_eps=config.layer_norm_eps,
            hidden_dropout_prob=config.dropout, attention_probs_dropout_prob=0.0, pad_token_id=special.pad,
            bos_token_id=None, eos_token_id=special.end,
            id2label=dict(enumerate(config.classes)), label2id={name: n for n, name in enumerate(config.classes)},
        )
    )  # fmt: skip
    theirs.load_state_dict(dict(renamed(model.state_dict(), config)))
    return theirs


def renamed(ours: dict[str, Tensor], config: ModelConfig) -> Iterator[tuple[str, Tensor]]:
    description = describe(config)
    stack, embedding, positions, (gain, bias) = around(description)
    answer = description.logits.parameters
    yield "bert.embeddings.word_embeddings.weight", ours[embedding]
    yield "bert.embeddings.position_embeddings.weight", ours[positions]
    yield "bert.embeddings.token_type_embeddings.weight", torch.zeros(1, config.d_model)
    for n in range(config.n_layer):
        parts = parts_of(description, stack, n)
        for name, part in PARTS.items():
            for kind, parameter in zip(("weight", "bias"), parts[part], strict=True):
                yield f"{HOME}.{n}.{name}.{kind}", ours[parameter]
    yield "bert.encoder.ln.weight", ours[gain]
    yield "bert.encoder.ln.bias", ours[bias]
    yield "bert.pooler.dense.weight", SMALL * torch.eye(config.d_model)
    yield "bert.pooler.dense.bias", torch.zeros(config.d_model)
    yield "classifier.weight", ours[str(answer["unembedding"])] / SMALL
    yield "classifier.bias", ours[str(answer["b_unembedding"])]


HOME = "bert.encoder.layer"
PARTS = {
    "attention.ln": "self norm",
    "attention.self.query": "self q",
    "attention.self.key": "self k",
    "attention.self.value": "self v",
    "attention.output.dense": "self o",
    "ln": "ffn norm",
    "intermediate.dense": "ffn 1",
    "output.dense": "ffn 2",
}
