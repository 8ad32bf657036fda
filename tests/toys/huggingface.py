"""Tiny random models of transformers, saved as `save_pretrained` does, each with a tokenizer of its family's kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

PAD, END = "<pad>", "</s>"
SIZE = 300


def byte_level() -> PreTrainedTokenizerFast:
    """GPT-2's kind: the 256 bytes, and no merges."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=PAD, eos_token=END)


def save(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def random_numbers(model: PreTrainedModel) -> PreTrainedModel:
    """In gains and biases too, so that none can be forgotten; large enough that no pattern is flat."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


def gpt2(**more: Any) -> PreTrainedModel:
    sizes = {"vocab_size": SIZE, "n_positions": 24, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_inner": 20}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes | more))
