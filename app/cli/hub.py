"""Models of the Hugging Face hub by id. Only the command line downloads them, never a request."""

from __future__ import annotations

import os
import re
from pathlib import Path

ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
"""An owner and a name."""
FILES = [
    "model*.safetensors", "model.safetensors.index.json", "config.json", "preprocessor_config.json",
    "tokenizer.json", "tokenizer_config.json", "source.spm", "target.spm", "vocab.json",
]  # fmt: skip
"""Files to download: no pickle, no code."""


def folder_of(model: str) -> Path:
    """The path itself if it exists; otherwise the folder of the downloaded id. Raises `ValueError` if the download
    fails."""
    path = Path(model)
    if path.exists() or not ID.fullmatch(model):
        return path
    try:
        from huggingface_hub import snapshot_download
    except ModuleNotFoundError:
        raise ValueError(
            f"there is no folder {model}; to download a model, pip install -c constraints.txt -e '.[hf]'"
        ) from None
    try:
        return Path(snapshot_download(model, local_dir=downloads() / model, allow_patterns=FILES))
    except Exception as error:  # a network has many ways to fail
        raise ValueError(f"there is no folder {model}, and no download: {' '.join(str(error).split())}") from None


def named(model: str | None) -> str | None:
    """A model's name or folder, unchanged; a hub id is replaced by the folder of its download."""
    return model if model is None else str(folder_of(model))


def downloads() -> Path:
    """The download folder of a model, below XDG_CACHE_HOME or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chumoku" / "models"
