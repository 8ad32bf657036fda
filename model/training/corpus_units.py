"""FFN units over texts that a model never saw: what a card keeps of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from model.checkpoint import Checkpoint
from model.explain.unit_counts import count_units, summary
from model.training.prepare import TASKS
from model.training.presets import Preset

N_TEXTS = 200
"""At most so many texts, spread evenly over those held out."""


def corpus_units(loaded: Checkpoint, preset: Preset, data: Path) -> dict[str, Any]:
    """On how many texts of what, and for each FFN which units never fire there and which always do."""
    unseen = TASKS[preset.config.family].unseen(preset, data, loaded.tokenizer, N_TEXTS)
    return {"on": unseen.on, "n_texts": len(unseen.samples), **summary(count_units(loaded, unseen.samples))}
