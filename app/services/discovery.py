"""Which models there are: the folders in the settings and the zoo, and the default among them."""

from __future__ import annotations

import logging
from pathlib import Path

import torch

from app.errors import unknown_name
from app.services.library import BROKEN, Entry, Library
from app.settings import Settings
from model.checkpoint import ZOO, pick_device
from model.subjects import Source, Subject, find_folders, source_of

log = logging.getLogger("chumoku")

PREFERRED = "stories-gpt"


def discover(settings: Settings) -> Library:
    """Every model, for the configured device, from its configs alone: nothing is loaded yet.

    A folder with invalid configs is skipped with a line in the log. Raises `ValueError` if the device is not
    available, no model is left, or the default is not among them.
    """
    device = pick_device(settings.device)
    torch.set_num_threads(settings.threads_per_job)
    found = [entry for folder, source in folders(settings).values() if (entry := look(folder, source))]
    if not found:
        raise no_model(settings)
    default = pick_default(settings.default_model, [entry.name for entry in found])
    return Library(found, default, device, settings.model_cache)


def folders(settings: Settings) -> dict[str, tuple[Path, Source]]:
    """The model folders by name: the configured folders, then the zoo."""
    return find_folders(*settings.models_dir, ZOO)


def look(folder: Path, source: Source) -> Entry | None:
    """The model in `folder`, or None and a line in the log."""
    try:
        return Entry(source.about(folder), folder, source)
    except BROKEN as error:
        log.error("model %s left out: %s", folder, error)
        return None


def open_subject(name: str | None, settings: Settings) -> Subject:
    """One loaded model: by name, by its folder, or the default (None)."""
    folder = locate(name, settings)
    source = source_of(folder)
    assert source is not None
    return source.open(folder, pick_device(settings.device))


def locate(name: str | None, settings: Settings) -> Path:
    """The folder of one model: by name, by its own path, or the default's (None).

    Raises `unknown_model`, listing the known names, and `ValueError` if there are no models.
    """
    if name is not None and source_of(Path(name)) is not None:
        return Path(name)
    there = folders(settings)
    if not there:
        raise no_model(settings)
    if name is None:
        name = pick_default(settings.default_model, list(there))
    if name not in there:
        raise unknown_name("unknown_model", "model", name, list(there))
    return there[name][0]


def no_model(settings: Settings) -> ValueError:
    searched = ", ".join(str(path) for path in (*settings.models_dir, ZOO))
    return ValueError(f"there is no model in {searched}; train one with `chumoku train stories-gpt`")


def pick_default(asked: str | None, names: list[str]) -> str:
    """The default's name. Raises `ValueError` if the requested one is not in `names`."""
    if asked is None:
        return PREFERRED if PREFERRED in names else names[0]
    if asked not in names:
        raise ValueError(f"the default model {asked!r} does not exist; known are {', '.join(names)}")
    return asked
