"""The quality of a language model on text: bits per byte, which does not depend on the tokenizer."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import functional as F

from model import masks
from model.tokenizer import Tokenizer
from model.transformer import DecoderOnly


@torch.inference_mode()
def bits_per_byte(model: DecoderOnly, tokenizer: Tokenizer, documents: Iterable[str]) -> float:
    """−log2 p(document) / bytes(document), over all documents together.

    Each document is read from its start, after an END. A document longer than the model's window is read in windows
    that overlap by half, so that every token after the first window has at least half a window of context. Every
    token, and so every byte, is counted once. Raises `ValueError` if there is no text.
    """
    nats, n_bytes = 0.0, 0
    for document in documents:
        n_bytes += len(document.encode())
        ids = torch.tensor([tokenizer.end_id, *tokenizer.encode(document)], device=next(model.parameters()).device)
        nats += sum(float(loss) for loss in window_losses(model, ids))
    if n_bytes == 0:
        raise ValueError("there is no text to evaluate on")
    return nats / math.log(2) / n_bytes


def window_losses(model: DecoderOnly, ids: Tensor) -> Iterable[Tensor]:
    """Σ −ln p(token) over the tokens that each window is the first to score; ids [position]."""
    window = model.config.max_seq_len
    scored = 0
    for start in range(0, max(1, len(ids) - 1), max(1, window // 2)):
        inputs, targets = ids[start : start + window], ids[start + 1 : start + window + 1]
        if start + len(targets) <= scored:
            break
        inputs = inputs[: len(targets)]
        mask = masks.causal(len(inputs), len(inputs), ids.device)[None, None]
        logits = model(inputs[None], mask)[0]  # position vocab
        fresh = scored - start if scored else 0
        yield F.cross_entropy(logits[fresh:].float(), targets[fresh:], reduction="sum")
        scored = start + len(targets)
