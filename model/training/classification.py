"""Classification: labelled phrases to train on, whole sentences held out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.evaluate_classification import classify_all, confusion, read_labelled
from chumoku.model.tokenizer import TEXT_FORMS, Tokenizer
from chumoku.model.training.data import is_held_out, spread
from chumoku.model.training.length_buckets import LengthBuckets, pad_rows
from chumoku.model.training.presets import Preset
from chumoku.model.training.task import Batch, Unseen
from chumoku.model.transformer import EncoderOnly, Transformer

LabelledText = tuple[str, int]
SENTENCE_WORDS = 12
"""A row of at least this many words that is not part of another row is a whole sentence."""


def split_sentences(rows: Sequence[LabelledText], fraction: float) -> tuple[list[LabelledText], list[LabelledText]]:
    """Training phrases, and held-out whole sentences chosen by hash; no phrase is part of a held-out sentence.

    White space becomes single spaces, so sentences that differ only in spacing are equal."""
    rows = [(" ".join(text.split()), label) for text, label in rows]
    long = {text for text, _ in rows if len(text.split()) >= SENTENCE_WORDS and is_held_out(text, fraction)}
    fragments = {part for text, _ in rows for part in phrases(text) if part != text and part in long}
    held_out = {text: label for text, label in rows if text in long - fragments}
    parts = {part for text in held_out for part in phrases(text)}
    return [(text, label) for text, label in rows if text not in parts], list(held_out.items())


def phrases(text: str) -> Iterator[str]:
    """All sequences of two or more words in `text`, including `text` itself. Single words occur in many sentences."""
    words = text.split()
    for first in range(len(words)):
        for last in range(first + 2, len(words) + 1):
            yield " ".join(words[first:last])


class Classification:
    """The task of an encoder-only model (`Task`)."""

    metric: ClassVar[str] = "accuracy"
    learned_from: ClassVar[str] = "the training phrases"

    def __init__(self, preset: Preset, data: Path, tokenizer: Tokenizer) -> None:
        self.preset, self.tokenizer = preset, tokenizer
        train, self.held_out = split_sentences(read_rows(preset, data), preset.sources[0].held_out)
        if not train or not self.held_out:
            raise ValueError(f"{data} has {len(train)} phrases to train on and {len(self.held_out)} to hold out")
        limit = preset.config.max_seq_len
        self.train = [([tokenizer.first_id, *tokenizer.encode(text)][:limit], label) for text, label in train]
        self.buckets = LengthBuckets([len(ids) for ids, _ in self.train], preset.batch_size)

    @staticmethod
    def texts(preset: Preset, data: Path) -> Iterator[str]:
        """The training phrases, in the text form that the model reads."""
        form = TEXT_FORMS[preset.config.text_form]
        for text, _ in split_sentences(read_rows(preset, data), preset.sources[0].held_out)[0]:
            yield form(text)

    @staticmethod
    def unseen(preset: Preset, data: Path, tokenizer: Tokenizer, most: int) -> Unseen:
        held_out = split_sentences(read_rows(preset, data), preset.sources[0].held_out)[1]
        limit, chosen = preset.config.max_seq_len - 1, spread(held_out, most)  # [CLS] comes first
        return Unseen(
            [(tokenizer.encode(text)[:limit], None) for text, _ in chosen],
            f"{len(chosen)} of the {len(held_out)} whole sentences held out (chosen by hash)",
        )

    def batch(self, rng: np.random.Generator) -> Batch:
        """Token ids [batch position], [CLS] first; classes [batch]."""
        examples = [self.train[i] for i in self.buckets.draw(rng)]
        ids = pad_rows([ids for ids, _ in examples], self.tokenizer.pad_id)
        hidden = torch.from_numpy(rng.random(ids.shape) < self.preset.token_dropout)
        hidden[:, 0] = False  # [CLS] stays
        ids = ids.masked_fill(hidden, self.tokenizer.pad_id)
        return Batch((ids,), torch.tensor([label for _, label in examples]))

    def forward(self, model: Transformer, batch: Batch) -> Tensor:
        (ids,) = batch.inputs
        return model(ids, masks.encoder_mask(ids == self.tokenizer.pad_id))

    def validate(self, model: Transformer) -> float:
        table = self.confusion(model)
        return sum(table[i][i] for i in range(len(table))) / len(self.held_out)

    def confusion(self, model: Transformer) -> list[list[int]]:
        assert isinstance(model, EncoderOnly)
        return confusion(classify_all(model, self.tokenizer, [t for t, _ in self.held_out]), self.held_out)

    def evaluation(self, loaded: Checkpoint) -> dict[str, Any]:
        return {
            "on": f"{len(self.held_out)} whole sentences of {SENTENCE_WORDS} words or more, "
            "longer and harder than the rest (chosen by hash); no phrase of several words that it saw is part of one",
            "accuracy": round(self.validate(loaded.model), 4),
            "confusion": {"rows": "true class", "columns": "predicted", "table": self.confusion(loaded.model)},
        }

    def samples(self, loaded: Checkpoint) -> list[dict[str, Any]]:
        """The held-out sentences whose true class the model finds least likely."""
        probabilities = classify_all(loaded.encoder_only, self.tokenizer, [t for t, _ in self.held_out]).softmax(-1)
        truth = torch.tensor([label for _, label in self.held_out])
        worst = probabilities.gather(1, truth[:, None])[:, 0].argsort()[:12].tolist()
        names = loaded.config.classes
        return [
            {"text": self.held_out[i][0], "is": names[truth[i]], "probability_of_it": round(float(p), 4)}
            for i in worst
            for p in [probabilities[i, truth[i]]]
        ]


def read_rows(preset: Preset, data: Path) -> list[LabelledText]:
    """The rows of all files of the preset, texts stripped, without duplicates."""
    rows = [row for source in preset.sources for row in read_labelled(data / source.file)]
    return list(dict(rows).items())
