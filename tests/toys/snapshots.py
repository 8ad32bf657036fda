"""A model that was watched: random weights stand for each step, so that no two are alike."""

import json
from dataclasses import replace
from pathlib import Path

from safetensors.torch import save_file

from chumoku.model import checkpoint
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.training.snapshots import stored
from tests.app.families import save
from tests.model.helpers import tiny_checkpoint

STEPS = (0, 40, 90)
GRADIENTS = {"main": [[3.0, 4.0], [0.6, 0.8]]}


def at(step: int) -> Checkpoint:
    """The random model that stands for a step; its seed is the step."""
    return replace(tiny_checkpoint("decoder-only", max_seq_len=64, seed=step), name="watched")


def figures(step: int) -> dict[str, object]:
    measured = {"loss": 5.5 - step / 90, "gradient_norm": 1.5, "held_out": {"bits_per_byte": 3.2 - step / 90}}
    return {"step": step, "tokens": 8 * step, **measured, "gradients": GRADIENTS}


def write_watched(folder: Path) -> Path:
    """`watched`, with snapshots at `STEPS`; the final weights are not among them."""
    written = save(folder, at(1))
    (written / "snapshots").mkdir()
    for step in STEPS:
        save_file(stored(at(step).model), checkpoint.weights_file(written, step))
    log = {"step": [1, 40, 90], "loss": [5.5, 5.1, 4.5], "rate": [0.0, 0.1, 0.0]}
    recipe = {"schedule": {"peak_rate": 0.1, "warm_up": 0.5}, "label_smoothing": 0.1, "last_checkpoints": [2, 50]}
    alone = [{"bits_per_byte": 1.5}, {"bits_per_byte": 1.25}]
    averaging = {"average": {"bits_per_byte": 1.0}, "last_step": alone[-1], "checkpoints": alone}
    before, own = (
        {"model": "watched", "tokens": n, "held_out": {"bits_per_byte": b}} for n, b in ((320, 2.5), (720, 1.0))
    )
    mean = {
        "model": "watched",
        "what": {"en": "the mean of two", "ja": "2 つの平均"},
        "held_out": {"bits_per_byte": 2.25},
    }
    card = {"languages": ["en"], "evaluation": {"bits_per_byte": 1.0}, "steps": 90, "recipe": recipe, "log": log}
    card["averaging"] = averaging
    card["tried"] = [
        {
            "what": {"en": "twice the rate", "ja": "2 倍の学習率"},
            "tokens": 640,
            "held_out": {"bits_per_byte": 3.5, "chrf_back": 43.52},
        }
    ]
    (written / "card.json").write_text(
        json.dumps({**card, "stages": [before, mean, own], "snapshots": [figures(step) for step in STEPS]})
    )
    return written
