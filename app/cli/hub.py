"""Models of Hugging Face's hub by id. They are downloaded here, where a person named them, and by no request."""

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
"""What is opened: no pickle, no code."""


def folder_of(model: str) -> Path:
    """The path as it is; for an id, where no such folder is, that of its download. Raises `ValueError` if it fails."""
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
    """A name of one of our models or a folder, as it is; an id becomes the folder of its download."""
    return model if model is None else str(folder_of(model))


def downloads() -> Path:
    """Where models are downloaded to: a folder of each name, below XDG_CACHE_HOME or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chumoku" / "models"
