"""`chumoku evaluate`: the quality of a model on the user's data, with the figure of its family."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from chumoku.app.cli.commands import BEAMS, open_model
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Description
from chumoku.model.evaluate import WHOLE_WINDOW, text_figures
from chumoku.model.evaluate_classification import accuracy, read_labelled
from chumoku.model.training.data import read_documents
from chumoku.model.training.translation import read_pairs

NAMES = {
    "bits_per_byte": "bits per byte",
    "loss": "nats a token",
    "loss_on_repeated_tokens": "nats a token that occurred before",
    "accuracy": "accuracy",
    "chrf": "chrF",
    "bleu": "BLEU by character",
}


def said(name: str) -> str:
    """A figure's name in words; of a model trained without the causal mask some are with the whole window visible."""
    return NAMES[name.removesuffix(WHOLE_WINDOW)] + (
        " with the whole window visible" if name.endswith(WHOLE_WINDOW) else ""
    )


@dataclass(frozen=True)
class Score:
    """`figures` by name, and the data they were measured on."""

    figures: dict[str, float]
    on: str

    @property
    def json(self) -> str:
        return json.dumps(self.figures)

    @property
    def line(self) -> str:
        figures = ", ".join(f"{value:.4g} {said(name)}" for name, value in self.figures.items())
        return f"{figures}; {self.on}"


def evaluate(model: str, data: Path, settings: Settings, beams: int | None = None) -> Score:
    """The model's figures on `data`; progress on a terminal. Raises `ValueError` for unsuitable data, and for
    beams with a model that has none."""
    loaded = open_model(model, settings)
    if beams is not None and not loaded.description.can["beams"]:
        raise ValueError(f"--beam is for a translator; {loaded.name} is {loaded.description.family}")
    return score_of(loaded.description)(loaded, data, beams or BEAMS)


def language_model(loaded: Checkpoint, data: Path, _: int) -> Score:
    documents, console = read_documents(data), Console(stderr=True)

    def follow(texts: Sequence[str]) -> Iterable[str]:
        return track(texts, "evaluating", console=console, transient=True, disable=not console.is_terminal)

    figures = text_figures(loaded.decoder_only, loaded.tokenizer, documents, follow)
    return Score(figures, f"{len(documents)} documents")


def translator(loaded: Checkpoint, data: Path, beams: int) -> Score:
    pairs = read_pairs(data)
    with waiting(f"translating {len(pairs)} sentences"):
        figures = scored(loaded, pairs, beams)
    return Score(figures, f"{len(pairs)} pairs, {beams} beam{'s' if beams > 1 else ''}")


def scored(loaded: Checkpoint, pairs: list[tuple[str, str]], beams: int) -> dict[str, float]:
    """chrF and BLEU. Raises `ValueError` if sacrebleu is not installed."""
    from chumoku.model.evaluate_translation import chrf_and_bleu

    try:
        return chrf_and_bleu(loaded, pairs, beams=beams)
    except ModuleNotFoundError as error:
        raise ValueError(f"scoring needs {error.name}: pip install -c constraints.txt -e '.[train]'") from None


def classifier(loaded: Checkpoint, data: Path, _: int) -> Score:
    labelled = read_labelled(data)
    with waiting(f"classifying {len(labelled)} sentences"):
        return Score({"accuracy": accuracy(loaded, labelled)}, f"{len(labelled)} sentences")


def waiting(what: str) -> Any:
    """A progress line for slow work, only on a terminal."""
    return Console(stderr=True).status(what)


def score_of(description: Description) -> Callable[[Checkpoint, Path, int], Score]:
    """The figure for what a model does."""
    if description.predicts == "classes":
        return classifier
    return translator if description.can["beams"] else language_model
