"""Model folders with random weights and a tokenizer of bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from chumoku.model.config import Family
from tests.app.families import save
from tests.model.helpers import tiny_checkpoint, tiny_fill_mask
from tests.toys.mechanism import TOYS
from tests.toys.snapshots import write_watched

BIGRAMS = "abcabcabd"
"""What the model of another kind has read (`tests.toys.traceable`)."""


def write_toy(folder: Path, name: str, mechanism: str, family: Family = "decoder-only", **changes: Any) -> Path:
    """A model folder as `chumoku train` writes it. The mechanism must be registered."""
    made = replace(tiny_checkpoint(family, mechanism=mechanism, **{"max_seq_len": 64} | changes), name=name)
    path = save(folder, made)
    (path / "card.json").write_text(json.dumps({"languages": ["en", "ja"] if family == "encoder-decoder" else ["en"]}))
    return path


def write_toys(folder: Path) -> Path:
    """One model of each mechanism, named `toy-…`, and a translator; the folder is for `Settings.models_dir`."""
    for mechanism in TOYS:
        write_toy(folder, f"toy-{mechanism}", mechanism)
    write_toy(folder, "toy-translator", "gated-mean", "encoder-decoder")
    return folder


def write_toys_of_pages(folder: Path) -> Path:
    """All that the page's tests open: those of `write_toys`, `toy-tall`, mechanisms without a plain QKᵀ, `filler` (a
    masked language model), `watched` (which has snapshots), and `toy`, which is not a transformer."""
    write_toys(folder)
    write_toy(folder, "toy-tall", "softmax", n_layer=12, n_head=12, d_model=48, max_seq_len=256)
    for mechanism in ("aft-conv", "aft-full", "relative", "rotary", "wkv"):
        write_toy(folder, f"toy-{mechanism}", mechanism, n_head=2, d_model=16, reach=4, rank=2)
    save(folder, replace(tiny_fill_mask(max_seq_len=48), name="filler"))
    write_watched(folder)
    (folder / "toy").mkdir()
    (folder / "toy" / "bigram.txt").write_text(BIGRAMS)
    return folder
