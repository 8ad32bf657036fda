"""The loss over lengths beyond any in training, on texts that a model never saw, as stored on its card."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import torch

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.evaluate_lengths import LENGTHS, SCORED, ends, losses_by_length
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.training.data import SHARED_RUN, is_held_out, read_documents, spread, unseen_documents
from chumoku.model.training.presets import Preset

OF_ONE = 8
"""At most this many passages of one document, spread evenly over it: a book must not outweigh all others."""


def corpus_lengths(loaded: Checkpoint, preset: Preset, data: Path) -> dict[str, Any] | None:
    """Where the numbers are from, and as columns: length, loss, its distance from that at the longest length of the
    training, and the standard error of that. None without two held-out documents of that length, and of a model that
    does not go on from what it reads or whose window is below the shortest length."""
    config = loaded.config
    if config.family != "decoder-only" or not config.is_causal or config.max_seq_len < min(LENGTHS):
        return None
    documents, passages = held_out_passages(preset, data, loaded.tokenizer)
    n_documents = len(set(documents))
    if n_documents < 2:
        return None
    model = loaded.decoder_only
    device = next(model.parameters()).device
    found = losses_by_length(model, torch.tensor(passages, device=device), torch.tensor(documents, device=device))
    return {
        "on": f"the same {SCORED} tokens at the end of each of {len(passages)} passages of {n_documents} documents "
        f"that it never saw (chosen by hash; none shares {SHARED_RUN} words in a row with a text that it saw)",
        "n_passages": len(passages),
        "n_documents": n_documents,
        "n_scored": SCORED,
        "ends": ends(config),
        "length": [one.length for one in found],
        "loss": [round(one.loss, 4) for one in found],
        "apart": [round(one.apart, 4) for one in found],
        "error": [round(one.error, 4) for one in found],
    }


def held_out_passages(preset: Preset, data: Path, tokenizer: Tokenizer) -> tuple[list[int], list[list[int]]]:
    """Of the documents, of all files, that are long enough: passages of as many tokens as the longest length, and one;
    before them, the number of each one's document."""
    size = max(LENGTHS) + 1
    every = {source: read_documents(data / source.file) for source in preset.sources}
    trained = (d for source, ds in every.items() for d in ds if not is_held_out(d, source.held_out))
    held_out = [d for source, ds in every.items() for d in ds if is_held_out(d, source.held_out) and len(d) >= size]
    read = [tokenizer.encode(document) for document in unseen_documents(held_out, trained)]
    cut = [[ids[at : at + size] for at in range(0, len(ids) - size + 1, size)] for ids in read]
    chosen = [spread(passages, OF_ONE) for passages in cut if passages]
    documents = [number for number, passages in enumerate(chosen) for _ in passages]
    return documents, list(chain.from_iterable(chosen))
