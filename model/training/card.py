"""`card.json`: what a model was trained on, how, and how good it is, measured on the weights that ship."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from model import checkpoint
from model.checkpoint import Checkpoint
from model.evaluate import bits_per_byte
from model.generate import generate
from model.sampling import Settings
from model.training.curve import read_metrics
from model.training.presets import Preset
from model.training.run_state import Progress

PROMPTS = ("Once upon a time", "Tom had a red ball.", "The little bird was sad because")


def make_card(
    preset: Preset, folder: Path, run_folder: Path, progress: Progress, held_out: list[str], how: dict[str, Any]
) -> dict[str, Any]:
    """Reload the float16 weights in `folder`, measure them, and say everything the run knows of itself."""
    loaded = checkpoint.load(folder)
    return {
        "name": preset.name,
        "data": [
            {"file": s.file, "what": s.what, "licence": s.licence, "share_of_rows": s.weight} for s in preset.sources
        ],
        "tokenizer": "a byte-level BPE learned on a sample of all documents, the held-out ones included",
        "command": how["command"],
        "seed": how["seed"],
        "hardware": hardware(how["device"]),
        "minutes": round(progress.seconds / 60, 1),
        "steps": progress.step,
        "tokens_seen": progress.tokens,
        "recipe": {k: v for k, v in asdict(preset).items() if k not in ("name", "config", "sources")},
        "n_parameters": sum(p.numel() for p in loaded.model.parameters()),
        "evaluation": {
            "on": f"{len(held_out)} documents of {preset.validate_on} that it never saw (chosen by hash)",
            "bytes": sum(len(d.encode()) for d in held_out),
            "bits_per_byte": round(bits_per_byte(loaded.model, loaded.tokenizer, held_out), 4),
            "weights": "float16 as shipped, reloaded into float32",
        },
        "curve": [
            {
                "tokens": m["tokens"],
                "minutes": round(m["seconds"] / 60, 1),
                "bits_per_byte": round(m["bits_per_byte"], 4),
            }
            for m in read_metrics(run_folder)
            if "bits_per_byte" in m
        ],
        "samples": [sample(loaded, prompt) for prompt in PROMPTS],
    }


def sample(loaded: Checkpoint, prompt: str, settings: Settings = Settings(0.8, 40, 0.95, 7)) -> dict[str, Any]:  # noqa: B008
    """One text as it came out, with what reproduces it."""
    *_, last = generate(loaded, loaded.tokenizer.encode(prompt), settings, max_new_tokens=180)
    return {"prompt": prompt, "settings": asdict(settings), "text": loaded.tokenizer.decode(last.ids)}


def hardware(device: torch.device) -> str:
    """The machine in a line, e.g. `AMD EPYC, 2 cores, torch 2.13.0, bfloat16 matrix products`."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        cpuinfo = Path("/proc/cpuinfo")
        lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        name = f"{models[0] if models else platform.processor() or platform.machine()}, {os.cpu_count()} cores"
    return f"{name}, torch {torch.__version__.partition('+')[0]}, bfloat16 matrix products"
