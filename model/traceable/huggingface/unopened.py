"""What people have that is no model to open, recognised by its files: each with what it is and what to do."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from chumoku.model.files import read_small

CONFIG, ADAPTER, SENTENCES, PIPELINE = "config.json", "adapter_config.json", "modules.json", "model_index.json"
GGUF = ".gguf"
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack")
OURS = "weights.safetensors"
TYPICAL = ("architectures", "transformers_version", "hidden_size", "n_embd", "d_model")
"""Settings of which a config of transformers has one. Ours has `d_model`, and a `family`."""
WITHOUT_ATTENTION = ("mamba", "mamba2", "falcon_mamba", "xlstm")
CONVERT = (
    "which can run code when it is opened: convert it where you trust it (from_pretrained, then save_pretrained, which "
    "writes safetensors)"
)


def reason(path: Path) -> str | None:
    """Why a folder, or a file, is no model to open, in one or two sentences; None if it may be one, or is nothing."""
    if path.suffix == GGUF and path.is_file():
        return f"{path}: {OF_GGUF}"
    try:
        names = {entry.name for entry in os.scandir(path)}
    except OSError:
        return None
    config = settings(path / CONFIG) if CONFIG in names else {}
    opened = "model_type" in config or "family" in config or OURS in names
    return None if opened else next(reasons(path, names, config), None)


def reasons(path: Path, names: Collection[str], config: Mapping[str, Any]) -> Iterator[str]:
    """What may be said of a folder with these files, the most certain first."""
    if ADAPTER in names:
        base = str(settings(path / ADAPTER).get("base_model_name_or_path") or "its base model")[:80]
        yield (
            f"{path} is an adapter of {base} (LoRA or another of peft's), not a whole model: merge the two (peft's "
            "merge_and_unload, then save_pretrained) and open the merged folder"
        )
    if any(name.endswith(GGUF) for name in names):
        yield f"{path}: {OF_GGUF}"
    if PIPELINE in names:
        yield f"{path} is a pipeline of diffusers, which makes pictures: open a model of text, or a ViT"
    if SENTENCES in names and CONFIG not in names and (inside := next(path.glob("*/config.json"), None)):
        yield (
            f"{path} is a folder of sentence-transformers, whose model is in a folder of its own: open {inside.parent}"
        )
    if any(name in config for name in TYPICAL):
        yield (
            f"{path / CONFIG} names no model_type, so it is not known whose settings these are: add it (such as "
            '"model_type": "bert"), or save the model again with save_pretrained'
        )
    if CONFIG not in names and (pickle := next((name for name in PICKLES if name in names), None)):
        yield f"{path} has no {CONFIG}, and its weights are in {pickle}, {CONVERT}"


OF_GGUF = (
    "the weights are in GGUF, the format of llama.cpp, whose numbers are rounded: open the model that they were "
    "converted from, which has config.json and safetensors"
)


def settings(file: Path) -> Mapping[str, Any]:
    """A JSON object; empty if it cannot be read."""
    try:
        return read_small(file)
    except (OSError, ValueError):
        return {}
