"""The quality of a language model on text: bits per byte, which does not depend on the tokenizer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from model import masks
from model.config import ModelConfig
from model.tokenizer import Tokenizer
from model.transformer import DecoderOnly

PREFIXES = 32
"""How many prefixes of a text are read at once."""


def text_figures(
    model: DecoderOnly,
    tokenizer: Tokenizer,
    documents: Sequence[str],
    follow: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> dict[str, float]:
    """Bits per byte; for a model trained without the causal mask also with the whole window visible, as in training.
    `follow` shows how far the first has come."""
    figures = {"bits_per_byte": bits_per_byte(model, tokenizer, follow(documents))}
    if not model.config.is_causal:
        figures["bits_per_byte_whole_window"] = bits_per_byte(model, tokenizer, documents, whole_window=True)
    return figures


@torch.inference_mode()
def bits_per_byte(
    model: DecoderOnly, tokenizer: Tokenizer, documents: Iterable[str], *, whole_window: bool = False
) -> float:
    """−log2 p(document) / bytes(document), over all documents together.

    Each document is read from its start, after an END. A document longer than the model's window is read in windows
    that overlap by half, so that every token after the first window has at least half a window of context. Every
    token, and so every byte, is counted once, and is predicted from the tokens before it. Without a causal mask in
    training that takes a pass for each token; with `whole_window` such a model sees the token that it is to predict,
    as in training. Raises `ValueError` if there is no text.
    """
    one_pass = whole_window or model.config.is_causal
    nats, n_bytes = 0.0, 0
    for document in documents:
        n_bytes += len(document.encode())
        ids = torch.tensor([tokenizer.end_id, *tokenizer.encode(document)], device=next(model.parameters()).device)
        for inputs, targets, fresh in windows(ids, model.config.max_seq_len):
            logits = rows_of_one_pass(model, inputs) if one_pass else last_rows(model, inputs)  # position vocab
            nats += float(F.cross_entropy(logits[fresh:].float(), targets[fresh:], reduction="sum"))
    if n_bytes == 0:
        raise ValueError("there is no text to evaluate on")
    return nats / math.log(2) / n_bytes


def windows(ids: Tensor, window: int) -> Iterator[tuple[Tensor, Tensor, int]]:
    """Inputs, targets [position], and the first position that no window before has scored; ids [position]."""
    scored = 0
    for start in range(0, max(1, len(ids) - 1), max(1, window // 2)):
        inputs, targets = ids[start : start + window], ids[start + 1 : start + window + 1]
        if start + len(targets) <= scored:
            break
        yield inputs[: len(targets)], targets, scored - start if scored else 0
        scored = start + len(targets)


def trained_mask(config: ModelConfig, seq_len: int, device: torch.device) -> Tensor:
    """The mask that a decoder was trained under: reasons [1 1 query key]."""
    kind = masks.causal if config.is_causal else masks.nothing
    return kind(seq_len, seq_len, device)[None, None]


def rows_of_one_pass(model: DecoderOnly, inputs: Tensor) -> Tensor:
    """Every row of one pass under the mask of training: inputs [position] → logits [position vocab]."""
    return model(inputs[None], trained_mask(model.config, len(inputs), inputs.device))[0]  # type: ignore[no-any-return]


def last_rows(model: DecoderOnly, inputs: Tensor) -> Tensor:
    """The last row of a pass over each prefix: inputs [position] → logits [position vocab]. What follows a prefix is
    masked like PADs on its right."""
    rows = []
    for lengths in torch.arange(1, len(inputs) + 1, device=inputs.device).split(PREFIXES):
        after = masks.pads_right(lengths.tolist()).to(inputs.device)  # prefix position
        prefixes = inputs[None, : after.shape[1]].expand(len(lengths), -1)
        logits = model(prefixes, masks.decoder_mask(after, use_causal=False))  # prefix position vocab
        rows.append(logits[torch.arange(len(lengths)), lengths - 1])
    return torch.cat(rows)
