"""Language modelling: windows of documents, from several files by weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.evaluate import bits_per_byte, text_figures, trained_mask
from chumoku.model.generate import generate
from chumoku.model.sampling import SamplingSettings
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.training.data import (
    SHARED_RUN,
    Mixture,
    TokenStream,
    is_held_out,
    read_documents,
    sample_texts,
    spread,
    unseen_documents,
)
from chumoku.model.training.presets import Preset
from chumoku.model.training.task import Batch, Unseen
from chumoku.model.transformer import DecoderOnly, Transformer

BPE_BYTES = 24_000_000
PROMPTS = (
    "Once upon a time", "Tom had a red ball.", "The little bird was sad because", "Lily and Ben went to the park.",
    "One day, a fox found a",
)  # fmt: skip
CHOSEN = f"chosen by hash; none shares {SHARED_RUN} words in a row with a text that it saw"
HOW_TO_SAMPLE = SamplingSettings(temperature=0.8, top_k=40, top_p=0.95, seed=7)


class LanguageModelling:
    """The task of a decoder-only model (`Task`)."""

    metric: ClassVar[str] = "bits_per_byte"
    learned_from: ClassVar[str] = "a sample of all documents, the held-out ones included"

    def __init__(self, preset: Preset, data: Path, tokenizer: Tokenizer) -> None:
        self.preset, self.tokenizer = preset, tokenizer
        train, self.held_out = split_documents(preset, data)
        streams = []
        for file, documents in train.items():
            stream = TokenStream.of(documents, tokenizer)
            if len(stream.tokens) <= preset.config.max_seq_len:
                raise ValueError(f"{file} has {len(stream.tokens)} tokens to train on, less than one row of them")
            streams.append(stream)
        weights = np.array([source.weight for source in preset.sources])
        self.mixture = Mixture(streams, weights / weights.sum())

    @staticmethod
    def texts(preset: Preset, data: Path) -> Iterator[str]:
        return sample_texts({data / s.file: s.weight for s in preset.sources}, BPE_BYTES)

    @staticmethod
    def unseen(preset: Preset, data: Path, tokenizer: Tokenizer, most: int) -> Unseen:
        """The beginnings of held-out documents, without the END before them, like a text that a user types."""
        _, held_out = split_documents(preset, data)
        limit, chosen = preset.config.max_seq_len, spread(held_out, most)
        return Unseen(
            [(tokenizer.encode(document)[:limit], None) for document in chosen],
            f"{len(chosen)} of the {len(held_out)} documents of {preset.validate_on} that it never saw "
            f"({CHOSEN}), at most the first {limit} tokens of each",
        )

    def batch(self, rng: np.random.Generator) -> Batch:
        inputs, targets = self.mixture.batch(rng, self.preset.batch_size, self.preset.config.max_seq_len)
        return Batch((inputs,), targets)

    def forward(self, model: Transformer, batch: Batch) -> Tensor:
        (inputs,) = batch.inputs  # batch position
        return model(inputs, trained_mask(self.preset.config, inputs.shape[1], inputs.device))

    def validate(self, model: Transformer) -> float:
        assert isinstance(model, DecoderOnly)
        return bits_per_byte(model, self.tokenizer, self.held_out, whole_window=True)

    def evaluation(self, loaded: Checkpoint) -> dict[str, Any]:
        figures = text_figures(loaded.decoder_only, self.tokenizer, self.held_out)
        return {
            "on": f"{len(self.held_out)} documents of {self.preset.validate_on} that it never saw ({CHOSEN})",
            "bytes": sum(len(d.encode()) for d in self.held_out),
            **{name: round(figure, 4) for name, figure in figures.items()},
        }

    def samples(self, loaded: Checkpoint) -> list[dict[str, Any]]:
        return [sample(loaded, prompt, HOW_TO_SAMPLE) for prompt in PROMPTS]


def split_documents(preset: Preset, data: Path) -> tuple[dict[str, list[str]], list[str]]:
    """The training documents by file, and the documents to validate on, which share no `SHARED_RUN` words with them."""
    documents = {source.file: read_documents(data / source.file) for source in preset.sources}
    fractions = {source.file: source.held_out for source in preset.sources}
    train = {file: [d for d in ds if not is_held_out(d, fractions[file])] for file, ds in documents.items()}
    fraction = fractions[preset.validate_on]
    held_out = [d for d in documents[preset.validate_on] if is_held_out(d, fraction)]
    return train, unseen_documents(held_out, chain.from_iterable(train.values()))


def sample(loaded: Checkpoint, prompt: str, settings: SamplingSettings) -> dict[str, Any]:
    """One unedited continuation of `prompt`, with the settings that reproduce it."""
    *_, last = generate(loaded, loaded.tokenizer.encode(prompt), settings, max_new_tokens=180)
    return {"prompt": prompt, "settings": asdict(settings), "text": loaded.tokenizer.decode(last.ids)}
