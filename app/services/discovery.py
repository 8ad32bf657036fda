"""Which models there are: the folders in the settings and the zoo, and the default among them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from app.errors import unknown_name
from app.services.library import Entry, Library
from app.services.problems import Problem, set_aside
from app.settings import Settings
from model.checkpoint import ZOO, pick_device
from model.subjects import Source, Subject, every_folder, find_folders, source_of

PREFERRED = "stories-gpt"


def discover(settings: Settings) -> Library:
    """Every model, for the configured device, from its configs and the headers of its weights: nothing is loaded yet.

    A folder that cannot be used is set aside. Raises `ValueError` if the device is not available, no model is left, or
    nobody has heard of the default.
    """
    device = pick_device(settings.device)
    torch.set_num_threads(settings.threads_per_job)
    found: dict[str, Entry] = {}
    bad: list[Problem] = []
    for folder, source in every_folder(*settings.models_dir, ZOO):
        if folder.name not in found:
            match look(folder, source):
                case Entry() as entry:
                    found[entry.name] = entry
                case problem:
                    bad.append(problem)
    if not found:
        raise no_model(settings, bad)
    default = pick_default(settings.default_model, sorted(found), [one.name for one in bad])
    return Library([found[name] for name in sorted(found)], default, device, settings.model_cache, bad)


def folders(settings: Settings) -> dict[str, tuple[Path, Source]]:
    """The model folders by name: the configured folders, then the zoo."""
    return find_folders(*settings.models_dir, ZOO)


def look(folder: Path, source: Source) -> Entry | Problem:
    """The model in `folder`, or why there is none. Whatever is wrong with a folder stays there."""
    try:
        folder.name.encode()
        return Entry(source.about(folder), folder, source)
    except Exception as error:
        return set_aside(folder, error)


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


def no_model(settings: Settings, bad: Sequence[Problem] = ()) -> ValueError:
    searched = ", ".join(str(path) for path in (*settings.models_dir, ZOO))
    aside = "".join(f"; {one.name} is set aside: {one.reason}" for one in bad)
    return ValueError(f"there is no model in {searched}; train one with `chumoku train stories-gpt`{aside}")


def pick_default(asked: str | None, names: list[str], aside: Sequence[str] = ()) -> str:
    """The default's name; another one if it is set aside. Raises `ValueError` for a name that nobody has."""
    if asked is None or (asked not in names and asked in aside):
        return PREFERRED if PREFERRED in names else names[0]
    if asked not in names:
        raise ValueError(f"the default model {asked!r} does not exist; known are {', '.join(names)}")
    return asked
