"""Model folders around the mechanisms of `tests.toys.mechanism`: random weights, and a tokenizer of bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from model.config import Family
from tests.app.families import save
from tests.model.helpers import tiny_checkpoint
from tests.toys.mechanism import TOYS


def write_toy(folder: Path, name: str, mechanism: str, family: Family = "decoder-only", **changes: Any) -> Path:
    """A model folder as `chumoku train` writes it. The mechanism must be registered."""
    made = replace(tiny_checkpoint(family, mechanism=mechanism, **{"max_seq_len": 64} | changes), name=name)
    path = save(folder, made)
    (path / "card.json").write_text(json.dumps({"languages": ["en"]}))
    return path


def write_toys(folder: Path) -> Path:
    """One model of each mechanism, named `toy-…`, and a translator; the folder is for `Settings.models_dir`."""
    for mechanism in TOYS:
        write_toy(folder, f"toy-{mechanism}", mechanism)
    write_toy(folder, "toy-translator", "gated-mean", "encoder-decoder")
    return folder
