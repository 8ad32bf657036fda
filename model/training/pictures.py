"""Pictures to classify: scikit-learn's handwritten digits, a fifth of them held out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.units import Sample
from chumoku.model.pictures.examples import Example, write_examples
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.training.data import spread
from chumoku.model.training.presets import DataSource, HeldOut, Preset
from chumoku.model.training.task import Batch, Unseen
from chumoku.model.transformer import EncoderOnly, Transformer

SPLIT_SEED = 0
"""Seed of the random fifth: the same for every run."""
WHICH: dict[HeldOut, str] = {
    "random": f"a random fifth, by seed {SPLIT_SEED}",
    "last": "the last fifth in their own order, where those of one writer follow each other",
}
Pixels = NDArray[np.int64]


def digits() -> tuple[Pixels, Pixels]:
    """Pictures [picture row column] from 0 to 16, and their classes [picture]."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    found = load_digits()
    return found.images.astype(np.int64), found.target.astype(np.int64)


def split(n: int, source: DataSource) -> tuple[Pixels, Pixels]:
    """The indices to train on and those held out, each in order."""
    n_held_out = -int(-n * source.held_out // 1)  # rounded up
    order = np.random.default_rng(SPLIT_SEED).permutation(n) if source.which == "random" else np.arange(n)[::-1]
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


class Pictures:
    """The task of a model that reads pictures (`Task`)."""

    metric: ClassVar[str] = "accuracy"
    learned_from: ClassVar[str] = "the training pictures"

    def __init__(self, preset: Preset, data: Path, tokenizer: Tokenizer) -> None:
        assert preset.config.picture is not None
        self.preset, self.tokenizer, self.picture = preset, tokenizer, preset.config.picture
        self.pixels, self.labels = digits()
        self.train, self.held_out = split(len(self.labels), preset.sources[0])

    @staticmethod
    def texts(preset: Preset, data: Path) -> Iterator[str]:
        """No tokens are learned."""
        return iter(())

    @staticmethod
    def unseen(preset: Preset, data: Path, tokenizer: Tokenizer, most: int) -> Unseen:
        assert preset.config.picture is not None
        pixels, labels = digits()
        _, held_out = split(len(labels), preset.sources[0])
        chosen = spread(held_out.tolist(), most)
        samples: list[Sample] = [(preset.config.picture.ids(pixels[i].tolist()), None) for i in chosen]
        return Unseen(samples, f"{len(chosen)} of the {len(held_out)} pictures held out")

    def batch(self, rng: np.random.Generator) -> Batch:
        """Token ids [batch position], [CLS] first, and which patches are hidden [batch position]; classes [batch]."""
        chosen = rng.choice(self.train, self.preset.batch_size)
        moved = np.stack([move(self.pixels[i], *rng.integers(-1, 2, 2)) for i in chosen])
        ids = self.ids(moved)
        hidden = torch.from_numpy(rng.random(ids.shape) < self.preset.token_dropout * rng.random((len(ids), 1)) * 2)
        hidden[:, 0] = False  # [CLS] stays
        return Batch((ids, hidden), torch.from_numpy(self.labels[chosen]))

    def ids(self, pixels: Pixels) -> Tensor:
        """[picture row column] → [picture position], [CLS] first."""
        return torch.tensor([[self.tokenizer.first_id, *self.picture.ids(picture.tolist())] for picture in pixels])

    def forward(self, model: Transformer, batch: Batch) -> Tensor:
        ids, hidden = batch.inputs
        return model(ids, masks.encoder_mask(hidden))

    def validate(self, model: Transformer) -> float:
        return float((self.logits(model).argmax(-1) == self.truth).double().mean())

    @property
    def truth(self) -> Tensor:
        return torch.from_numpy(self.labels[self.held_out])

    @torch.inference_mode()
    def logits(self, model: Transformer) -> Tensor:
        """The logits of the held-out pictures [picture class], on the CPU."""
        assert isinstance(model, EncoderOnly)
        ids = self.ids(self.pixels[self.held_out]).to(next(model.parameters()).device)
        return model(ids, masks.encoder_mask(torch.zeros_like(ids, dtype=torch.bool))).float().cpu()

    def evaluation(self, loaded: Checkpoint) -> dict[str, Any]:
        guessed = self.logits(loaded.model).argmax(-1)
        n = len(loaded.config.classes)
        table = torch.zeros(n, n, dtype=torch.long).index_put((self.truth, guessed), torch.tensor(1), accumulate=True)
        return {
            "on": f"{len(self.held_out)} pictures: {WHICH[self.preset.sources[0].which]}",
            "accuracy": round(self.validate(loaded.model), 4),
            "confusion": {"rows": "true class", "columns": "predicted", "table": table.tolist()},
        }

    def samples(self, loaded: Checkpoint) -> list[dict[str, Any]]:
        """The held-out pictures, by their index in the data, whose true class the model finds least likely."""
        right = self.logits(loaded.model).softmax(-1).gather(1, self.truth[:, None])[:, 0]
        names = loaded.config.classes
        return [
            {"index": int(self.held_out[i]), "is": names[self.truth[i]], "probability_of_it": round(float(right[i]), 4)}
            for i in right.argsort()[:12].tolist()
        ]

    def ship(self, folder: Path) -> None:
        """Write the held-out pictures into the model's folder."""
        found = [Example(self.pixels[i].tolist(), int(self.labels[i]), int(i)) for i in self.held_out]
        write_examples(folder, found, f"{self.preset.sources[0].what}; {self.preset.sources[0].licence}")


def move(pixels: Pixels, down: int, right: int) -> Pixels:
    """A picture [row column] moved by up to a pixel in each direction, filled up with 0."""
    size = len(pixels)
    wide = np.pad(pixels, 1)
    return wide[1 - down : 1 - down + size, 1 - right : 1 - right + size]
