"""The families whose insides we know: one file each, one line here, by `model_type`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chumoku.model.traceable.huggingface.families import (
    bart,
    bert,
    bloom,
    distilbert,
    gpt2,
    gpt_neox,
    llama,
    marian,
    megatron_bert,
    roberta,
    rwkv,
    t5,
    vit,
)
from chumoku.model.traceable.huggingface.layout import Adapter
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

Family = tuple[tuple[str, ...], Callable[[TransformersConfig], Adapter]]
"""The names of its classes that can be opened, and what makes an adapter of its config."""
FAMILIES: Mapping[str, Family] = {
    "bert": (bert.ARCHITECTURES, bert.adapt),
    "distilbert": (distilbert.ARCHITECTURES, distilbert.adapt),
    **dict.fromkeys(("roberta", "xlm-roberta", "camembert"), (roberta.ARCHITECTURES, roberta.adapt)),
    "gpt2": (gpt2.ARCHITECTURES, gpt2.adapt),
    "llama": (llama.ARCHITECTURES, llama.adapt_llama),
    "mistral": (llama.ARCHITECTURES, llama.adapt_mistral),
    "qwen2": (llama.ARCHITECTURES, llama.adapt_qwen2),
    "qwen3": (llama.ARCHITECTURES, llama.adapt_qwen3),
    "gpt_neox": (gpt_neox.ARCHITECTURES, gpt_neox.adapt),
    "marian": (marian.ARCHITECTURES, marian.adapt),
    "bart": (bart.ARCHITECTURES, bart.adapt),
    "t5": (t5.ARCHITECTURES, t5.adapt),
    "bloom": (bloom.ARCHITECTURES, bloom.adapt),
    "rwkv": (rwkv.ARCHITECTURES, rwkv.adapt),
    "megatron-bert": (megatron_bert.ARCHITECTURES, megatron_bert.adapt),
    "vit": (vit.ARCHITECTURES, vit.adapt),
}
