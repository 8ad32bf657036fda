"""FFN unit counts over texts that a model never saw, as stored on its card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.unit_counts import count_units, summary
from chumoku.model.training.prepare import task_of
from chumoku.model.training.presets import Preset

N_TEXTS = 200
"""The largest number of texts, spread evenly over those held out."""


def corpus_units(loaded: Checkpoint, preset: Preset, data: Path) -> dict[str, Any]:
    """The texts that were counted, and for each FFN the units that never fire on them and those that always do."""
    unseen = task_of(preset.config).unseen(preset, data, loaded.tokenizer, N_TEXTS)
    return {"on": unseen.on, "n_texts": len(unseen.samples), **summary(count_units(loaded, unseen.samples))}
