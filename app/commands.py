"""What the commands do that look into a model or use it. Imported late: torch takes seconds."""

from __future__ import annotations

import codecs
import json
import sys
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.schemas import TraceRequest
from app.services import library, tokens, tracing
from app.settings import Settings
from model import checkpoint
from model.checkpoint import Checkpoint
from model.evaluate import bits_per_byte
from model.generate import generate
from model.sampling import Settings as SamplingSettings
from model.taps import tap_dims
from model.training.data import read_documents


def open_model(name: str | None, settings: Settings) -> Checkpoint:
    """Load one model, by name or folder, on the device that is set."""
    return checkpoint.load(library.locate(name, settings), checkpoint.pick_device(settings.device))


N_CANDIDATES = 20
"""How many next tokens a trace's file lists for each position."""


def write_trace(
    text: str, model: str | None, out: Path, settings: Settings, *, masks: dict[str, bool], pad: dict[str, Any]
) -> str:
    """Write every tensor of a sentence, and every position's prediction, to `out`; returns a line about it.

    The file is an .npz if its name says so, else safetensors.
    """
    loaded = open_model(model, settings)
    count = len(tokens.resolve(loaded, text, None, settings.max_text_chars, pad["count"])) + pad["count"]
    asked = {
        "text": text,
        "want": ["*"],
        "masks": masks,
        "pad": pad,
        "format": "npz" if out.suffix == ".npz" else "safetensors",
        "predict": {"positions": list(range(count)), "n": N_CANDIDATES},
    }
    body = tracing.answer(loaded, TraceRequest.model_validate(asked), settings.max_text_chars).body
    out.write_bytes(body)
    return f"{out}: {len(tap_dims(loaded.model))} tensors of {count} tokens, {len(body) / 1e6:.1f} MB"


def padding(left: int, right: int, *, follow: bool) -> dict[str, Any]:
    """A trace's `pad`. Raises `ValueError` for PADs on both sides, which a request cannot have."""
    if left and right:
        raise ValueError("PADs go on one side: take --pad-left or --pad-right")
    return {"count": left or right, "side": "right" if right else "left", "follow": follow}


def print_generated(text: str, model: str | None, settings: Settings, sampling: SamplingSettings, n: int) -> None:
    """Print `text` and what the model writes after it, as it comes. A character appears when its last byte has come."""
    if n < 1:
        raise ValueError(f"-n must be at least 1, got {n}")
    loaded = open_model(model, settings)
    ids = tokens.resolve(loaded, text, None, settings.max_text_chars)
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    sys.stdout.write(text)
    for step in generate(loaded, ids, sampling, n):
        newest = step.ids[-1]
        if step.drawn is not None and newest != loaded.tokenizer.end_id:
            sys.stdout.write(decoder.decode(loaded.tokenizer.token_bytes(newest)))
        sys.stdout.flush()
    sys.stdout.write(decoder.decode(b"", final=True) + "\n")


def evaluate(model: str, data: Path, settings: Settings) -> tuple[float, int]:
    """Bits per byte over the documents in `data`, and how many those are; progress on a terminal."""
    loaded = open_model(model, settings)
    documents = read_documents(data)
    console = Console(stderr=True)
    shown = track(documents, "evaluating", console=console, transient=True, disable=not console.is_terminal)
    return bits_per_byte(loaded.model, loaded.tokenizer, shown), len(documents)


def list_models(settings: Settings, *, as_json: bool) -> None:
    """Print the models there are: as a table, or as the JSON of `/api/models`."""
    loaded = library.load(settings)
    described = [library.describe(found) for found in loaded.checkpoints.values()]
    if as_json:
        print(json.dumps({"default": loaded.default, "models": described}, ensure_ascii=False, indent=2))
        return
    Console().print(models_table(described, loaded.default))


def models_table(described: list[dict[str, Any]], default: str) -> Table:
    """One line a model; the default's name is bold."""
    table = Table(box=box.SIMPLE)
    for title in ("model", "layers × heads × d_model", "vocabulary", "tokens", "parameters", "bits/byte"):
        table.add_column(title, no_wrap=True, justify="left" if title == "model" else "right")
    for about in described:
        score = about["card"].get("evaluation", {}).get("bits_per_byte", "")
        table.add_row(
            f"[bold]{about['name']}[/] (default)" if about["name"] == default else about["name"],
            f"{about['n_layer']} × {about['n_head']} × {about['d_model']}",
            f"{about['vocab_size']:,}",
            f"{about['max_seq_len']:,}",
            f"{about['n_parameters']:,}",
            str(score),
        )
    return table
