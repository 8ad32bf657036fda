"""The folder of what `--model` names: a folder, NAME=FOLDER, a model of the zoo, or an id of the Hugging Face hub."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from chumoku.app.services.hub import FILES, reads
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import ZOO
from chumoku.model.traceable import ID, cache_folder, cached, place_of


def folder_of(model: str) -> Path:
    """The folder itself if it exists, also as NAME=FOLDER; otherwise that of a zoo model's name or of an id, from
    Hugging Face's cache or downloaded into it. Raises `ValueError` if the download fails."""
    name, path = place_of(model)
    asked = model.removeprefix(f"{name}=")
    if path.exists() or not ID.fullmatch(asked):
        return Path(model)
    found = ZOO / asked if (ZOO / asked).is_dir() else in_cache(asked) or earlier(asked) or download(asked)
    return found if asked == model else Path(f"{name}={found}")


def in_cache(model: str) -> Path | None:
    folder = cached(model)
    return folder if folder and reads(folder) else None


def named(model: str | None, settings: Settings) -> str | None:
    """A model's name or folder, unchanged; an id is replaced by its folder."""
    if model is None or get_close_matches(model.partition("@")[0], known(settings), 1):
        return model  # or a slip of the keyboard, which is not looked for in the network
    return str(folder_of(model))


def known(settings: Settings) -> list[str]:
    """The names of the configured folders and of the zoo's."""
    inside = [path.name for folder in (*settings.models_dir, ZOO) if folder.is_dir() for path in folder.iterdir()]
    return [*(place_of(str(given))[0] for given in settings.models), *inside]


def download(model: str) -> Path:
    """The folder of an id, downloaded into Hugging Face's cache. Raises `ValueError` if that fails."""
    try:
        from huggingface_hub import snapshot_download
    except ModuleNotFoundError:
        raise ValueError(
            f"there is no folder {model}; to download a model, pip install -c constraints.txt -e '.[hf]'"
        ) from None
    try:
        return Path(snapshot_download(model, cache_dir=cache_folder(), allow_patterns=FILES))
    except Exception as error:  # a network has many ways to fail
        said = " ".join(str(error).split())
        raise ValueError(
            f"there is no folder {model}, it is not in {cache_folder()}, and no download: {said}"
        ) from None


def earlier(model: str) -> Path | None:
    """The folder of an id that an earlier version downloaded, below XDG_CACHE_HOME or ~/.cache."""
    at = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chumoku" / "models" / model
    return at if (at / "config.json").is_file() else None
