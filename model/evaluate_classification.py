"""The quality of a classifier on labelled sentences: accuracy and the confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.transformer import EncoderOnly

BATCH = 64


def read_labelled(path: Path) -> list[tuple[str, int]]:
    """`sentence<TAB>label` lines after a header line, blank ones skipped. Raises `ValueError` naming the first invalid
    line."""
    rows = []
    for n, line in enumerate(path.read_text(encoding="utf-8").split("\n")[1:], start=2):
        if not line.strip():
            continue
        text, _, label = line.rpartition("\t")
        if not text.strip() or not label.strip().isdecimal():
            raise ValueError(f"{path}, line {n}: not `sentence<TAB>label`")
        rows.append((text.strip(), int(label)))
    return rows


@torch.inference_mode()
def classify_all(model: EncoderOnly, tokenizer: Tokenizer, texts: Sequence[str]) -> Tensor:
    """Logits [text class] on the CPU. A text longer than the model's window is truncated at its end."""
    device, limit = next(model.parameters()).device, model.config.max_seq_len
    rows = [[tokenizer.first_id, *tokenizer.encode(text)][:limit] for text in texts]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    logits = torch.empty(len(rows), len(model.config.classes))
    for first in range(0, len(rows), BATCH):
        chosen = order[first : first + BATCH]
        longest = max(len(rows[i]) for i in chosen)
        padded = [rows[i] + [tokenizer.pad_id] * (longest - len(rows[i])) for i in chosen]
        ids = torch.tensor(padded, device=device)  # batch position
        is_pad = masks.pads_right([len(rows[i]) for i in chosen]).to(device)
        logits[chosen] = model(ids, masks.encoder_mask(is_pad)).float().cpu()
    return logits


def confusion(logits: Tensor, labelled: Sequence[tuple[str, int]]) -> list[list[int]]:
    """Counts: table[true][predicted]. Raises `ValueError` for a label that is not a class."""
    n = logits.shape[-1]
    table = [[0] * n for _ in range(n)]
    for predicted, (text, label) in zip(logits.argmax(-1).tolist(), labelled, strict=True):
        if not 0 <= label < n:
            raise ValueError(f"label {label} of {text!r} is not one of the model's classes 0 to {n - 1}")
        table[label][predicted] += 1
    return table


def accuracy(checkpoint: Checkpoint, labelled: Sequence[tuple[str, int]]) -> float:
    """The fraction of `labelled` that the model gets right. Raises `ValueError` if there is nothing to evaluate on."""
    if not labelled:
        raise ValueError("there is no sentence to evaluate on")
    logits = classify_all(checkpoint.encoder_only, checkpoint.tokenizer, [text for text, _ in labelled])
    table = confusion(logits, labelled)
    return sum(table[i][i] for i in range(len(table))) / len(labelled)
