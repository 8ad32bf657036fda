"""`card.json`: what a model was trained on, how, and how good it is, measured on the weights that ship.

Unit counts and losses by length are measured on texts that the model never saw.
"""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from chumoku.model import checkpoint
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.evaluate import LENGTHS, SCORED, ends, losses_by_length
from chumoku.model.explain.units import count_units, summary
from chumoku.model.files import write_whole
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.training.curve import read_metrics
from chumoku.model.training.data import SHARED_RUN, is_held_out, read_documents, spread, unseen_documents
from chumoku.model.training.prepare import task_of
from chumoku.model.training.presets import Preset, difference
from chumoku.model.training.run_state import Progress
from chumoku.model.training.task import Task

N_TEXTS = 200
"""The most held-out texts that units are counted on, evenly spaced."""


def corpus_units(loaded: Checkpoint, preset: Preset, data: Path) -> dict[str, Any]:
    """The counted texts, and for each FFN the units that never fire on them and those that always fire."""
    unseen = task_of(preset.config).unseen(preset, data, loaded.tokenizer, N_TEXTS)
    return {"on": unseen.on, "n_texts": len(unseen.samples), **summary(count_units(loaded, unseen.samples))}


OF_ONE = 8
"""The most passages of one document that count, evenly spaced: a book must not outweigh all others."""


def corpus_lengths(loaded: Checkpoint, preset: Preset, data: Path) -> dict[str, Any] | None:
    """What was measured, and as columns: `length`, `loss` in nats, `apart` (the loss minus that at the longest length
    within the window) and its standard error, `error`. None if fewer than two held-out documents are long enough, if
    the model does not continue texts, or if its window is below the shortest length."""
    config = loaded.config
    if config.family != "decoder-only" or not config.is_causal or config.max_seq_len < min(LENGTHS):
        return None
    documents, passages = held_out_passages(preset, data, loaded.tokenizer)
    n_documents = len(set(documents))
    if n_documents < 2:
        return None
    model = loaded.decoder_only
    device = next(model.parameters()).device
    found = losses_by_length(model, torch.tensor(passages, device=device), torch.tensor(documents, device=device))
    return {
        "on": f"the same {SCORED} tokens at the end of each of {len(passages)} passages of {n_documents} documents "
        f"that it never saw (chosen by hash; none shares {SHARED_RUN} words in a row with a text that it saw)",
        "n_passages": len(passages),
        "n_documents": n_documents,
        "n_scored": SCORED,
        "ends": ends(config),
        "length": [at_length.length for at_length in found],
        "loss": [round(at_length.loss, 4) for at_length in found],
        "apart": [round(at_length.apart, 4) for at_length in found],
        "error": [round(at_length.error, 4) for at_length in found],
    }


def held_out_passages(preset: Preset, data: Path, tokenizer: Tokenizer) -> tuple[list[int], list[list[int]]]:
    """The document number of each passage, and the passages: of every held-out document that is long enough, each one
    token longer than the longest length."""
    size = max(LENGTHS) + 1
    every = {source: read_documents(data / source.file) for source in preset.sources}
    trained = (d for source, ds in every.items() for d in ds if not is_held_out(d, source.held_out))
    held_out = [d for source, ds in every.items() for d in ds if is_held_out(d, source.held_out) and len(d) >= size]
    read = [tokenizer.encode(document) for document in unseen_documents(held_out, trained)]
    cut = [[ids[at : at + size] for at in range(0, len(ids) - size + 1, size)] for ids in read]
    chosen = [spread(passages, OF_ONE) for passages in cut if passages]
    documents = [number for number, passages in enumerate(chosen) for _ in passages]
    return documents, list(chain.from_iterable(chosen))


EARLY, LOGGED = 50, 100
"""The card has each of the first `EARLY` steps, and at most `LOGGED` of the later ones."""
ELSEWHERE = ("name", "config", "sources", "baseline")
"""Fields of a preset that are not in the card's recipe, because the card or the config has them elsewhere."""
LATER = ("bpe_dropout", "both_directions")
"""Settings that a card has only if they are used, so that other recipes equal those of cards older than the
settings."""


def make_card(
    preset: Preset, folder: Path, run_folder: Path, progress: Progress, task: Task, how: dict[str, Any]
) -> dict[str, Any]:
    """Reload the float16 weights in `folder`, evaluate them, and return the card, with everything known about the
    run."""
    loaded = checkpoint.load(folder)
    return {
        "name": preset.name,
        "data": [
            {"file": s.file, "what": s.what, "licence": s.licence, "share_of_rows": s.weight} for s in preset.sources
        ],
        "family": preset.config.family,
        **compared(preset),
        "languages": list(preset.languages),
        **({"both_directions": True} if preset.both_directions else {}),
        "tokenizer": tokens_of(preset, task),
        "command": how["command"],
        "seed": how["seed"],
        "hardware": f"{hardware(how['device'])}, {progress.precision} matrix products",
        "minutes": round(progress.seconds / 60, 1),
        "steps": progress.step,
        "tokens_seen": progress.tokens,
        "recipe": recipe_of(preset),
        "n_parameters": sum(p.numel() for p in loaded.model.parameters()),
        "evaluation": {**task.evaluation(loaded), "weights": "float16 as shipped, reloaded into float32"},
        "curve": [
            {"tokens": m["tokens"], "minutes": round(m["seconds"] / 60, 1), task.metric: round(m[task.metric], 4)}
            for m in read_metrics(run_folder)
            if task.metric in m
        ],
        "log": log_of(read_metrics(run_folder)),
        "samples": task.samples(loaded),
        "units": corpus_units(loaded, preset, how["data"]),
        **over_lengths(loaded, preset, how["data"]),
    }


def recipe_of(preset: Preset) -> dict[str, Any]:
    return used({name: value for name, value in asdict(preset).items() if name not in ELSEWHERE})


def used(recipe: dict[str, Any]) -> dict[str, Any]:
    """A recipe without the `LATER` settings that it does not use."""
    return {name: value for name, value in recipe.items() if value or name not in LATER}


def over_lengths(loaded: checkpoint.Checkpoint, preset: Preset, data: Path) -> dict[str, Any]:
    """The card's `lengths`, or {} where `corpus_lengths` measures nothing."""
    lengths = corpus_lengths(loaded, preset, data)
    return {} if lengths is None else {"lengths": lengths}


def tokens_of(preset: Preset, task: Task) -> str:
    picture = preset.config.picture
    if picture is None:
        return f"a byte-level BPE of {preset.config.vocab_size:,} ids learned on {task.learned_from}"
    across = f"{picture.patch} × {picture.patch}"
    return f"none is learned: a token is a patch of {across} pixels, of which there are {picture.n_ids:,}"


def log_of(metrics: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Loss and learning rate by step, as columns: all early steps, and at most `LOGGED` later ones."""
    early = [m for m in metrics if m["step"] < EARLY]
    late = metrics[len(early) :]
    every = -(-len(late) // LOGGED) or 1
    chosen = early + late[::-every][::-1]  # keeps the last step
    return {
        "step": [m["step"] for m in chosen],
        "loss": [round(m["loss"], 3) for m in chosen],
        "rate": [float(f"{m['rate']:.4g}") for m in chosen],
    }


def compared(preset: Preset) -> dict[str, Any]:
    """The baseline model and the settings that differ from it; empty without a baseline."""
    differs = difference(preset)
    return {} if differs is None else {"trained_like": {"model": preset.baseline, "differs": differs}}


def write_card(file: Path, card: dict[str, Any]) -> None:
    """Write JSON that people can read: a list of numbers stays on one line, however long."""
    text = json.dumps(card, indent=2, ensure_ascii=False)
    # JSON escapes line ends in strings, so a match here is always a list.
    joined = re.sub(r"\[\n\s*(-?\d[^\[\]{}\"]*?)\s*\]", lambda found: f"[{' '.join(found[1].split())}]", text)
    write_whole(file, f"{joined}\n".encode())


def hardware(device: torch.device) -> str:
    """The machine in one line, e.g. `AMD EPYC, 2 cores, torch 2.13.0`."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        cpuinfo = Path("/proc/cpuinfo")
        lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = f"{models[0] if models else platform.processor() or platform.machine()}, {os.cpu_count()} cores"
    return f"{name}, torch {torch.__version__.partition('+')[0]}"
