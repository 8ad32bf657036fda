"""Presets that train in a second, their data, and a training process that a test can kill."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from chumoku.model.config import ModelConfig
from chumoku.model.special_tokens import END
from chumoku.model.training.prepare import prepare
from chumoku.model.training.presets import DataSource, Preset
from chumoku.model.training.recipe import WarmUpThenLinear
from chumoku.model.training.train import Report, Trainer, TrainingRun, seed_everything
from chumoku.model.training.warm_start import keep_vocabulary
from chumoku.model.transformer import Transformer

CONFIG = {"vocab_size": 300, "n_layer": 2, "n_head": 2, "d_model": 16, "d_ff": 24, "max_seq_len": 32}
HELD_OUT = 0.1


def tiny_preset(dropout: float = 0.0, **changes: Any) -> Preset:
    sources = (
        DataSource("animals.txt", 0.75, "sentences on animals", "CC0", HELD_OUT),
        DataSource("weather.txt", 0.25, "sentences on the weather", "CC0", HELD_OUT),
    )
    how = {"batch_size": 4, "schedule": WarmUpThenLinear(1e-2, 0.1), "ema_decay": 0.9} | changes
    return Preset("tiny", ModelConfig(**CONFIG, dropout=dropout), sources, "animals.txt", **how)


SMALL = {"n_layer": 1, "n_head": 2, "d_model": 32, "d_ff": 48, "max_seq_len": 64, "norm_order": "post"}


def translation_preset(dropout: float = 0.0, **changes: Any) -> Preset:
    """Learns to copy a sentence, with every part of "Attention Is All You Need"."""
    config = ModelConfig(
        vocab_size=270, **SMALL, dropout=dropout, family="encoder-decoder", position="sinusoidal", scale_embeddings=True
    )
    source = DataSource("pairs.tsv", 1.0, "sentences that say the same", "CC0", 0.2)
    how = {
        "batch_size": 300, "schedule": WarmUpThenLinear(1e-2, 0.2), "label_smoothing": 0.1, "last_checkpoints": (2, 5),
    } | changes  # fmt: skip
    return Preset("tiny-translator", config, (source,), source.file, languages=("en", "ja"), **how)


def classification_preset(**changes: Any) -> Preset:
    """Learns whether a sentence contains `good` or `bad`."""
    config = ModelConfig(
        vocab_size=270, **SMALL, family="encoder-only", classes=("negative", "positive"), text_form="treebank"
    )
    source = DataSource("sentences.tsv", 1.0, "sentences", "CC0", 0.3)
    how = {"batch_size": 300, "schedule": WarmUpThenLinear(1e-2, 0.2), "ema_decay": 0.8} | changes
    return replace(Preset("tiny-classifier", config, (source,), source.file), **how)


def fill_mask_preset(dropout: float = 0.0, **changes: Any) -> Preset:
    """To fill gaps in files of every form; the shape is the classifier's."""
    config = ModelConfig(
        vocab_size=271, **SMALL, dropout=dropout, family="encoder-only", text_form="treebank", mask_token=True
    )
    sources = (
        DataSource("sentences.tsv", 0.5, "sentences", "CC0", 0.3, "labelled"),
        DataSource("pairs.tsv", 0.2, "sentences that say the same", "CC0", 0.2, "pairs"),
        DataSource("animals.txt", 0.3, "sentences on animals", "CC0", HELD_OUT),
    )
    how = {"batch_size": 300, "schedule": WarmUpThenLinear(1e-2, 0.2), "ema_decay": 0.8} | changes
    return Preset("tiny-gaps", config, sources, "sentences.tsv", **how)


def some_words(rng: random.Random, n: int) -> list[str]:
    return [rng.choice(["cat", "dog", "bird", "sees", "the", "a", "and", "old"]) for _ in range(n)]


PAIRS = [(" ".join(words), " ".join(words)) for rng in [random.Random(0)]
         for words in (some_words(rng, rng.randint(4, 6)) for _ in range(250))]  # fmt: skip


def write_pairs(folder: Path, pairs: list[tuple[str, str]] = PAIRS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\tCC0\n" for source, target in pairs))
    return folder


def write_sentences(folder: Path) -> Path:
    """Half of them are whole sentences of 12 words or more."""
    folder.mkdir(parents=True, exist_ok=True)
    rng, lines = random.Random(0), ["sentence\tlabel"]
    for i in range(300):
        words, label = some_words(rng, rng.randint(2, 5) + 9 * (i % 2)), rng.randint(0, 1)
        words[rng.randrange(len(words))] = ("Bad", "Good")[label]
        lines.append(f"{' '.join(words)}\t{label}")
    (folder / "sentences.tsv").write_text("\n".join(lines) + "\n")
    return folder


def documents(kind: str, n: int = 200) -> list[str]:
    """Distinct sentences from a few words, the same in every process."""
    rng, words = random.Random(kind), ["cat", "dog", "bird"] if kind == "animals" else ["rain", "snow", "wind"]
    verbs = ["sees", "likes", "follows"]
    sentences = [f"The {rng.choice(words)} {rng.choice(verbs)} the {rng.choice(words)}." for _ in range(3 * n)]
    return [f"{kind} {i}: {' '.join(sentences[3 * i : 3 * i + 3])}" for i in range(n)]


def write_data(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("animals", "weather"):
        (folder / f"{kind}.txt").write_text(f"\n{END}\n".join(documents(kind)) + "\n")
    return folder


def write_all(folder: Path) -> Path:
    """The files of every task in one folder."""
    return write_pairs(write_sentences(write_data(folder)))


def tiny_run(folder: Path, data: Path, steps: int = 30, **changes: Any) -> TrainingRun:
    how = {"seed": 5, "validate_every": 1e9, "precision": "float32"} | changes
    return TrainingRun(folder, data, torch.device("cpu"), minutes=0.0, steps=steps, **how)


def weights_of(model: Transformer) -> dict[str, torch.Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def assert_same_weights(a: Transformer, b: Transformer) -> None:
    theirs = weights_of(b)
    differ = [name for name, x in weights_of(a).items() if not torch.equal(x, theirs[name])]
    assert differ == []


def train(preset: Preset, run: TrainingRun, report: Report = lambda metrics: None) -> Transformer:
    """Train `preset`, or resume the run in `run.folder`. Returns the averaged model."""
    seed_everything(run)
    preset = keep_vocabulary(preset, run.warm_start)
    trainer = Trainer(preset, run, prepare(preset, run.folder, run.data, run.warm_start))
    trainer.fit(report)
    return trainer.averaged_model()


if __name__ == "__main__":  # test_train.py starts this process and kills it; it saves after every step
    torch.set_num_threads(1)
    run_folder, data_folder = map(Path, sys.argv[1:])
    train(tiny_preset(), tiny_run(run_folder, data_folder, steps=400, save_every=0.0))
