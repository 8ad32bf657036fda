"""Tiny random models of transformers, saved as `save_pretrained` does, each with a tokenizer of its family's kind."""

from __future__ import annotations

import importlib
import io
import json
import string
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

PAD, END = "<pad>", "</s>"
SIZE = 300


def byte_level() -> PreTrainedTokenizerFast:
    """GPT-2's kind: the 256 bytes, and no merges."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END)


def word_piece() -> PreTrainedTokenizerFast:
    """BERT's kind: [CLS] before and [SEP] after a text, lower-cased."""
    names = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    pieces = [*names, *string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase), "cat", "##s"]
    tokenizer = Tokenizer(
        models.WordPiece({piece: i for i, piece in enumerate(dict.fromkeys(pieces))}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    roles = dict(zip(("pad_token", "cls_token", "sep_token", "unk_token", "mask_token"), names, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **roles)


def sentence_piece(around: str = "<s> $A") -> PreTrainedTokenizerFast:
    """Llama's kind: <s> before a text, bytes for what is in no piece."""
    names = ["<unk>", "<s>", END, PAD]
    pieces = [*names, *(f"<0x{byte:02X}>" for byte in range(256)), "\u2581", *string.ascii_lowercase]
    tokenizer = Tokenizer(
        models.BPE({piece: i for i, piece in enumerate(pieces)}, [], unk_token="<unk>", byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    steps = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    tokenizer.post_processor = processors.TemplateProcessing(around, special_tokens=[("<s>", 1), (END, 2)])
    roles = dict(zip(("unk_token", "bos_token", "eos_token", "pad_token"), names, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **roles)


def chatting(template: str) -> PreTrainedTokenizerFast:
    """Llama's kind, with a chat template and two tokens for it."""
    tokenizer = sentence_piece()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|start|>", "<|end|>"]})
    tokenizer.chat_template = template
    return tokenizer


SENTENCES = {
    "source": ["the cat sat on the mat", "a dog runs in the park", "a full café", "she sells sea shells"],
    "target": ["die Katze saß auf der Matte", "ein Hund läuft im Park", "ein volles Café", "sie verkauft Muscheln"],
}


def slow_marian(folder: Path) -> Path:
    """The files of transformers' Marian tokenizer, which has no fast form: two SentencePiece models, and their ids."""
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    folder.mkdir(exist_ok=True)
    pieces = [END, "<unk>", ">>deu<<"]
    for side, sentences in SENTENCES.items():
        written = io.BytesIO()
        SentencePieceTrainer.train(
            sentence_iterator=iter(sentences * 40), model_writer=written, vocab_size=60, hard_vocab_limit=False,
            character_coverage=1.0, minloglevel=2,
        )  # fmt: skip
        (folder / f"{side}.spm").write_bytes(written.getvalue())
        spm = SentencePieceProcessor.from_proto(written.getvalue())
        pieces += [piece for i in range(3, spm.get_piece_size()) if (piece := spm.id_to_piece(i)) not in pieces]
    vocabulary = {piece: i for i, piece in enumerate(pieces)} | {PAD: SIZE - 1}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "tokenizer_config.json").write_text(json.dumps({"source_lang": "en", "target_lang": "de"}))
    return folder


def save(folder: Path, model: PreTrainedModel, tokenizer: Any) -> Path:
    """`tokenizer`: or a model's image processor."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def random_numbers(model: PreTrainedModel) -> PreTrainedModel:
    """The same numbers each time, in gains and biases too, so that none can be forgotten; large enough that no pattern
    is flat."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(1)
        for parameter, drawn in zip(model.parameters(), type(model)(model.config).parameters(), strict=True):
            parameter.copy_(drawn + 0.3 * torch.randn(drawn.shape))
    return model.eval()


def gpt2(**more: Any) -> PreTrainedModel:
    sizes = {"vocab_size": SIZE, "n_positions": 24, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_inner": 20}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes | more))


BERT_SIZES = {"vocab_size": SIZE, "hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3,
              "intermediate_size": 20, "max_position_embeddings": 24, "pad_token_id": 0}  # fmt: skip


def bert(kind: str = "BertForSequenceClassification", **more: Any) -> PreTrainedModel:
    """A BERT, Megatron BERT or RoBERTa, a classifier with three classes."""
    config = getattr(transformers, f"{kind.partition('For')[0].removesuffix('Model')}Config")
    labels = {
        "num_labels": 3,
        "id2label": {0: "bad", 1: "so-so", 2: "good"},
        "label2id": {"bad": 0, "so-so": 1, "good": 2},
    }
    model: PreTrainedModel = getattr(transformers, kind)(config(**BERT_SIZES | labels | more))
    return model


def albert(kind: str = "AlbertForSequenceClassification", **more: Any) -> PreTrainedModel:
    """Four layers with the same weights, and embeddings of 8 numbers for a stream of 15."""
    ids = {"bos_token_id": 1, "eos_token_id": 2}
    return bert(kind, **{"num_hidden_layers": 4, "embedding_size": 8} | ids | more)


LLAMA_SIZES = {"vocab_size": SIZE, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6,
               "num_key_value_heads": 2, "intermediate_size": 20, "max_position_embeddings": 24, "pad_token_id": 3,
               "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip


LLAMA_3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 64}  # fmt: skip
"""Of the three pairs of a head of 6, one stays, one is slowed in part, one by the whole factor."""


def llama(name: str = "Llama", **more: Any) -> PreTrainedModel:
    """A Llama, Mistral or Qwen2: three query heads to a key head."""
    config = getattr(transformers, f"{name}Config")(**LLAMA_SIZES | more)
    model: PreTrainedModel = getattr(transformers, f"{name}ForCausalLM")(config)
    return model


def gpt_neox(**more: Any) -> PreTrainedModel:
    """3 heads of 8 dimensions, of which the first 4 are turned."""
    sizes = {"vocab_size": SIZE, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
             "intermediate_size": 20, "max_position_embeddings": 24}  # fmt: skip
    rope = {"rope_type": "default", "rope_theta": 5000.0, "partial_rotary_factor": 0.5}
    config = transformers.GPTNeoXConfig(**sizes | {"rope_parameters": rope} | more)
    return transformers.GPTNeoXForCausalLM(config)


def phi(**more: Any) -> PreTrainedModel:
    """A family without a file of ours: a parallel residual with one norm, a part of each head turned, biases."""
    sizes = {"vocab_size": SIZE, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
             "intermediate_size": 20, "max_position_embeddings": 24, "pad_token_id": 3}  # fmt: skip
    return transformers.PhiForCausalLM(transformers.PhiConfig(**sizes | more))


def gemma2(**more: Any) -> PreTrainedModel:
    """Its scores go through a tanh, unless `attn_logit_softcapping` is None."""
    config = transformers.Gemma2Config(**LLAMA_SIZES | {"head_dim": 4, "query_pre_attn_scalar": 9} | more)
    return transformers.Gemma2ForCausalLM(config)


def gemma() -> PreTrainedModel:
    return transformers.GemmaForCausalLM(transformers.GemmaConfig(**LLAMA_SIZES | {"head_dim": 4}))


def opt(**more: Any) -> PreTrainedModel:
    """q is scaled before the product."""
    sizes = {"vocab_size": SIZE, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "ffn_dim": 20,
             "max_position_embeddings": 24, "word_embed_proj_dim": 12, "pad_token_id": 1}  # fmt: skip
    return transformers.OPTForCausalLM(transformers.OPTConfig(**sizes | more))


def gpt_neo(window: int = 4, **more: Any) -> PreTrainedModel:
    """A layer that sees all, and one that sees a window."""
    sizes = {"vocab_size": SIZE, "hidden_size": 12, "num_layers": 2, "num_heads": 3, "intermediate_size": 20,
             "max_position_embeddings": 24, "attention_types": [[["global", "local"], 1]]}  # fmt: skip
    return transformers.GPTNeoForCausalLM(transformers.GPTNeoConfig(**sizes | {"window_size": window} | more))


def gpt_oss() -> PreTrainedModel:
    """A learned number takes part in each softmax."""
    rope = {"rope_type": "default", "rope_theta": 10_000.0}
    config = transformers.GptOssConfig(
        **LLAMA_SIZES | {"head_dim": 4, "num_local_experts": 2, "num_experts_per_tok": 1, "rope_parameters": rope}
    )
    return transformers.GptOssForCausalLM(config)


def gptj() -> PreTrainedModel:
    ids = {"bos_token_id": 1, "eos_token_id": 2}
    return transformers.GPTJForCausalLM(
        transformers.GPTJConfig(vocab_size=SIZE, n_positions=24, n_embd=12, n_layer=1, n_head=3, rotary_dim=4, **ids)
    )


def marian(kind: str = "Marian", **more: Any) -> PreTrainedModel:
    both = {"layers": 2, "attention_heads": 3, "ffn_dim": 20}
    sizes = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in both.items()}
    ids = {"pad_token_id": 257, "eos_token_id": 256, "decoder_start_token_id": 257, "forced_eos_token_id": None}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=SIZE, d_model=12, max_position_embeddings=24,
        scale_embedding=True, activation_function="swish", **sizes | ids | more,
    )  # fmt: skip
    name = "MarianMTModel" if kind == "Marian" else f"{kind}ForConditionalGeneration"
    model: PreTrainedModel = getattr(transformers, name)(config)
    return model


def bart(kind: str = "Bart", **more: Any) -> PreTrainedModel:
    """A BART, mBART or M2M-100. A source is between <s> and </s>, a target begins with </s>. Three layers read, two
    write."""
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3, "decoder_start_token_id": 2}
    return marian(kind, encoder_layers=3, **ids | more)


def t5(kind: str = "T5", **more: Any) -> PreTrainedModel:
    """5 heads of 4 dimensions beside a stream of 12; distances from 3 on share buckets."""
    config = getattr(transformers, f"{kind}Config")(
        **{"vocab_size": SIZE, "d_model": 12, "d_kv": 4, "d_ff": 20, "num_layers": 2, "num_decoder_layers": 3,
           "num_heads": 5, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 9, "n_positions": 24,
           "pad_token_id": 3, "eos_token_id": 2, "decoder_start_token_id": 3} | more
    )  # fmt: skip
    model: PreTrainedModel = getattr(transformers, f"{kind}ForConditionalGeneration")(config)
    return model


def bloom(**more: Any) -> PreTrainedModel:
    sizes = {"vocab_size": SIZE, "hidden_size": 12, "n_layer": 2, "n_head": 3, "seq_length": 24}
    return transformers.BloomForCausalLM(transformers.BloomConfig(**sizes | more))


def deberta(kind: str = "DebertaV2ForMaskedLM", **more: Any) -> PreTrainedModel:
    """As v3: positions only as distances, which share the projections of q and k; those from 2 on share buckets."""
    relative = {"relative_attention": True, "position_buckets": 4, "pos_att_type": ["p2c", "c2p"],
                "share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False}  # fmt: skip
    config = transformers.DebertaV2Config(**BERT_SIZES | {"num_labels": 3} | relative | more)
    model: PreTrainedModel = getattr(transformers, kind)(config)
    return model


def falcon(**more: Any) -> PreTrainedModel:
    """One key for all heads, unless `more` says otherwise; attention and FFN share a norm."""
    sizes = {"vocab_size": SIZE, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6,
             "ffn_hidden_size": 20, "max_position_embeddings": 24, "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip
    return transformers.FalconForCausalLM(transformers.FalconConfig(**sizes | more))


def modernbert(kind: str = "ModernBertForMaskedLM", window: int = 6, **more: Any) -> PreTrainedModel:
    """The first and the last of four layers see everything, the others `window` / 2 tokens on either side."""
    sizes = BERT_SIZES | {"hidden_size": 24, "num_hidden_layers": 4, "local_attention": window}
    ids = {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
    model: PreTrainedModel = getattr(transformers, kind)(transformers.ModernBertConfig(**sizes | ids | more))
    return model


def rwkv(**more: Any) -> PreTrainedModel:
    """Two groups of 39 features. After its second layer of three, the stream is halved."""
    sizes = {"vocab_size": SIZE, "hidden_size": 78, "num_hidden_layers": 3, "intermediate_size": 20}
    config = transformers.RwkvConfig(**sizes | {"context_length": 24, "rescale_every": 2} | more)
    return transformers.RwkvForCausalLM(config)


def distilbert() -> PreTrainedModel:
    config = transformers.DistilBertConfig(
        vocab_size=SIZE, dim=15, n_layers=2, n_heads=3, hidden_dim=20, max_position_embeddings=24, num_labels=2
    )
    return transformers.DistilBertForSequenceClassification(config)


def pictures(size: int = 12, **more: Any) -> ViTImageProcessorPil:
    """ViT's image processor."""
    return ViTImageProcessorPil(size={"height": size, "width": size}, **more)


VIT_SIZES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20,
             "image_size": 12, "patch_size": 4, "num_labels": 3}  # fmt: skip


def vit(**more: Any) -> PreTrainedModel:
    """Pictures of 12 × 12 pixels in three colours, 9 patches."""
    labels = {"id2label": {0: "cat", 1: "dog", 2: "bird"}, "label2id": {"cat": 0, "dog": 1, "bird": 2}}
    return transformers.ViTForImageClassification(transformers.ViTConfig(**VIT_SIZES | labels | more))


def deit(kind: str = "DeiTForImageClassification", **more: Any) -> PreTrainedModel:
    """A ViT with a distillation token."""
    model: PreTrainedModel = getattr(transformers, kind)(transformers.DeiTConfig(**VIT_SIZES | more))
    return model


def dino(kind: str = "Dinov2ForImageClassification", **more: Any) -> PreTrainedModel:
    """Its sublayers' outputs are scaled; with registers, two of them."""
    sizes = {name: size for name, size in VIT_SIZES.items() if name != "intermediate_size"} | {"mlp_ratio": 2}
    if "Registers" in kind:
        sizes |= {"num_register_tokens": 2}
    config = getattr(transformers, f"{kind.partition('For')[0].removesuffix('Model')}Config")
    model: PreTrainedModel = getattr(transformers, kind)(config(**sizes | more))
    return model


def cropped(kind: str = "Bit", size: int = 12) -> Any:
    """The image processor of DINOv2 (or, by another name, of DeiT): the middle of a larger picture."""
    module = importlib.import_module(f"transformers.models.{kind.lower()}.image_processing_pil_{kind.lower()}")
    square = {"height": size, "width": size}
    given = {"size": {"shortest_edge": size + 2}, "crop_size": square, "do_rescale": True, "do_normalize": True}
    return getattr(module, f"{kind}ImageProcessorPil")(**given)
