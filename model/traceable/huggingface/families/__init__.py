"""The families whose blocks we know, by `model_type`: an adapter in a file, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chumoku.model.traceable.huggingface.families import (
    albert,
    bert,
    bloom,
    deberta,
    falcon,
    gpt2,
    gpt_neo,
    gpt_neox,
    llama,
    marian,
    modernbert,
    rwkv,
    t5,
    vision,
    vit,
)
from chumoku.model.traceable.huggingface.layout import Adapter
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

KnownFamily = tuple[tuple[str, ...], Callable[[TransformersConfig], Adapter]]
"""The classes that can be opened, and the function that makes an adapter from a config."""
FAMILIES: Mapping[str, KnownFamily] = {
    "bert": (bert.ARCHITECTURES, bert.adapt),
    "distilbert": (bert.DISTIL_ARCHITECTURES, bert.adapt_distilbert),
    **dict.fromkeys(("roberta", "xlm-roberta", "camembert"), (bert.ROBERTA_ARCHITECTURES, bert.adapt_roberta)),
    "electra": (bert.ELECTRA_ARCHITECTURES, bert.adapt_electra),
    "albert": (albert.ARCHITECTURES, albert.adapt),
    "mpnet": (bert.MPNET_ARCHITECTURES, bert.adapt_mpnet),
    "gpt2": (gpt2.ARCHITECTURES, gpt2.adapt),
    "llama": (llama.ARCHITECTURES, llama.adapt_llama),
    "mistral": (llama.ARCHITECTURES, llama.adapt_mistral),
    "qwen2": (llama.ARCHITECTURES, llama.adapt_qwen2),
    "qwen3": (llama.ARCHITECTURES, llama.adapt_qwen3),
    "gpt_neo": (gpt_neo.ARCHITECTURES, gpt_neo.adapt),
    "gpt_neox": (gpt_neox.ARCHITECTURES, gpt_neox.adapt),
    "marian": (marian.ARCHITECTURES, marian.adapt),
    "bart": (marian.BART_ARCHITECTURES, marian.adapt_bart),
    "mbart": (marian.MBART_ARCHITECTURES, marian.adapt_mbart),
    "m2m_100": (marian.M2M_ARCHITECTURES, marian.adapt_m2m),
    "t5": (t5.ARCHITECTURES, t5.adapt),
    "mt5": (t5.MT5_ARCHITECTURES, t5.adapt),
    "deberta-v2": (deberta.ARCHITECTURES, deberta.adapt),
    "falcon": (falcon.ARCHITECTURES, falcon.adapt),
    "modernbert": (modernbert.ARCHITECTURES, modernbert.adapt),
    "bloom": (bloom.ARCHITECTURES, bloom.adapt),
    "rwkv": (rwkv.ARCHITECTURES, rwkv.adapt),
    "megatron-bert": (bert.MEGATRON_ARCHITECTURES, bert.adapt_megatron),
    "deit": (vision.DEIT_ARCHITECTURES, vision.adapt_deit),
    "dinov2": (vision.DINO_ARCHITECTURES, vision.adapt_dino),
    "dinov2_with_registers": (vision.REGISTER_ARCHITECTURES, vision.adapt_dino),
    "vit": (vit.ARCHITECTURES, vit.adapt),
}
