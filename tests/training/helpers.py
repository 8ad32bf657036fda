"""A preset that trains in a second, its data, and a process that can be killed in the middle of it."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import torch

from model.config import ModelConfig
from model.tokenizer import END
from model.training.presets import Preset, Source
from model.training.train import Run, train
from model.transformer import DecoderOnly

CONFIG = {"vocab_size": 300, "n_layer": 2, "n_head": 2, "d_model": 16, "d_ff": 24, "max_seq_len": 32}
HELD_OUT = 0.1


def tiny_preset(dropout: float = 0.0, **changes: Any) -> Preset:
    sources = (
        Source("animals.txt", 0.75, "sentences on animals", "CC0", HELD_OUT),
        Source("weather.txt", 0.25, "sentences on the weather", "CC0", HELD_OUT),
    )
    how = {"batch_size": 4, "peak_rate": 1e-2, "warm_up": 0.1, "ema_decay": 0.9} | changes
    return Preset("tiny", ModelConfig(**CONFIG, dropout=dropout), sources, "animals.txt", **how)


def documents(kind: str, n: int = 200) -> list[str]:
    """Sentences out of few words, different ones, the same in every process."""
    rng, words = random.Random(kind), ["cat", "dog", "bird"] if kind == "animals" else ["rain", "snow", "wind"]
    verbs = ["sees", "likes", "follows"]
    sentences = [f"The {rng.choice(words)} {rng.choice(verbs)} the {rng.choice(words)}." for _ in range(3 * n)]
    return [f"{kind} {i}: {' '.join(sentences[3 * i : 3 * i + 3])}" for i in range(n)]


def write_data(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("animals", "weather"):
        (folder / f"{kind}.txt").write_text(f"\n{END}\n".join(documents(kind)) + "\n")
    return folder


def tiny_run(folder: Path, data: Path, steps: int = 30, **changes: Any) -> Run:
    how = {"seed": 5, "validate_every": 1e9} | changes
    return Run(folder, data, torch.device("cpu"), minutes=0.0, steps=steps, **how)


def weights_of(model: DecoderOnly) -> dict[str, torch.Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def assert_same_weights(a: DecoderOnly, b: DecoderOnly) -> None:
    theirs = weights_of(b)
    differ = [name for name, x in weights_of(a).items() if not torch.equal(x, theirs[name])]
    assert differ == []


if __name__ == "__main__":  # what test_train.py starts in order to kill it; it saves after every step
    torch.set_num_threads(1)
    run_folder, data_folder = map(Path, sys.argv[1:])
    train(tiny_preset(), tiny_run(run_folder, data_folder, steps=400, save_every=0.0))
