"""Finds the models in the configured folders and the zoo, and picks the default."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from chumoku.app.errors import AppError, unknown_name
from chumoku.app.services.library import Entry, Library
from chumoku.app.services.problems import Problem, check_name, log_unavailable, problem_of
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import ZOO, pick_device, snapshot_name
from chumoku.model.traceable import (
    ID,
    ModelSource,
    TraceableModel,
    cache_folder,
    cached,
    every_folder,
    named_source,
    place_of,
    source_of,
)
from chumoku.model.traceable.huggingface import unopened

PREFERRED = "stories-gpt"


def discover(settings: Settings) -> Library:
    """Every model, for the configured device, from its configs and the headers of its weights: nothing is loaded yet.

    Unusable folders are logged and listed as problems. Raises `ValueError` if the device is not available, no model is
    usable, or the default does not exist.
    """
    device = pick_device(settings.device)
    torch.set_num_threads(settings.threads_per_job)
    found, bad = survey(settings)
    for folder, problem in bad.items():
        log_unavailable(folder, problem)
    problems = list(bad.values())
    if not found:
        raise no_model(settings, problems)
    default = pick_default(preferred(settings), sorted(found), [one.name for one in problems])
    return Library([found[name] for name in sorted(found)], default, device, settings.model_cache, problems)


def survey(settings: Settings, only: str | None = None) -> tuple[dict[str, Entry], dict[Path, Problem]]:
    """The models by name, and the problems of unusable folders. `only`: look for this name alone.

    Order: models named one by one, then the configured folders, then the zoo. The first usable model of a name wins.
    """
    found: dict[str, Entry] = {}
    bad: dict[Path, Problem] = {}
    searched = ((folder.name, folder, source) for folder, source in every_folder(*settings.models_dir, ZOO))
    for name, folder, source in (*named(settings), *searched):
        if name in found or only not in (None, name):
            continue
        match look(folder, source, name):
            case Entry() as entry:
                found[entry.name] = entry
            case problem:
                bad[folder] = problem
    return found, bad


def named(settings: Settings) -> Iterator[tuple[str, Path, ModelSource]]:
    """The models that the settings name one by one. Raises `ValueError` for a folder without a model, and for two of
    the same name."""
    places: dict[str, Path] = {}
    for given in settings.models:
        name, folder = called(given)
        source = source_of(folder)
        if source is None:
            raise ValueError(f"{folder} is not the folder of a model; --model also takes an id of Hugging Face's hub")
        if places.setdefault(name, folder) != folder:
            raise ValueError(f"{places[name]} and {folder} have the same name: call one of them NAME={folder}")
        yield name, folder, source


def called(given: Path) -> tuple[str, Path]:
    """The name and the folder of a setting: links are followed, so that a folder has one name."""
    name, folder = place_of(str(given))
    place = folder.resolve()
    return (name, place) if place_of(str(folder))[0] != name else (place_of(str(place))[0], place)


def look(folder: Path, source: ModelSource, name: str) -> Entry | Problem:
    """The model in `folder`, or why it cannot be used. Catches every error: one bad folder must not stop the others."""
    try:
        check_name(name)
        return entry_of(folder, source, name)
    except Exception as error:
        return problem_of(folder, error) if name == folder.name else replace(problem_of(folder, error), name=name)


def entry_of(folder: Path, source: ModelSource, name: str) -> Entry:
    """The model in `folder`, with its snapshots."""
    source = named_source(folder, source, name)
    entry = Entry(source.about(folder), folder, source)
    for step, snapshot in entry.about.snapshots.items():
        check_name(snapshot_name(entry.name, step))
        entry.snapshots[step] = Entry(snapshot.about(folder), folder, snapshot, of=entry)
    return entry


def open_traceable(name: str | None, settings: Settings) -> TraceableModel:
    """One loaded model, as `find_entry` finds it."""
    return opened(find_entry(name, settings), settings)


def find_entry(name: str | None, settings: Settings) -> Entry:
    """One model by name or folder, with or without `@step`; None: the default."""
    try:
        return entry_at(*find_place(name, settings))
    except AppError:
        base, at, step = (name or "").rpartition("@")
        if not at:
            raise
        return entry_at(*find_place(base, settings)).snapshot(step)


def opened(entry: Entry, settings: Settings) -> TraceableModel:
    assert entry.source is not None
    return entry.source.open(entry.folder, pick_device(settings.device))


def entry_at(name: str, folder: Path) -> Entry:
    source = source_of(folder)
    assert source is not None
    return entry_of(folder, source, name)


def locate(name: str | None, settings: Settings) -> Path:
    """The folder of a model, as `find_place` finds it."""
    return find_place(name, settings)[1]


def find_place(name: str | None, settings: Settings) -> tuple[str, Path]:
    """What a model is called, and its folder, by name or path; None: the default's. Known names come first, then
    folders, then Hugging Face's cache. Raises `unknown_model`, listing the known names, and `ValueError` for an
    unusable model, or if there is none at all.
    """
    found, bad = ({}, {}) if name is not None and is_path(name) else survey(settings, only=name)
    problems = list(bad.values())
    if name is None and found:
        name = pick_default(preferred(settings), sorted(found), [one.name for one in problems])
    if name in found:
        return name, found[name].folder
    if name is not None and source_of(place_of(name)[1]) is not None:
        return place_of(name)
    for problem in problems:
        if problem.name == name:
            raise ValueError(f"the model {name!r} cannot be used: {problem.reason}")
    if name is not None and (why := unopened.reason(Path(name))) is not None:
        raise ValueError(f"{why}.")
    if name is not None and (snapshot := cached(name)) is not None:
        return place_of(str(snapshot))
    known, bad = survey(settings)
    if name is None or not known:
        raise no_model(settings, list(bad.values()))
    raise unknown_model(name, sorted(known))


def is_path(name: str) -> bool:
    """Whether it cannot be a model's name."""
    return "/" in name or os.sep in name or name in (".", "..")


def unknown_model(name: str, known: list[str]) -> AppError:
    error = unknown_name("unknown_model", "model", name, known)
    if "/" in name and ID.fullmatch(name):
        error.message = f"There is no folder {name}, and it is not in Hugging Face's cache, {cache_folder()}."
        error.hint = f'To download it: chumoku trace "A text." --model {name}'
    return error


def no_model(settings: Settings, bad: Sequence[Problem] = ()) -> ValueError:
    searched = ", ".join(str(path) for path in (*settings.models_dir, ZOO))
    reasons = "".join(f"; {one.name} is unavailable: {one.reason}" for one in bad)
    return ValueError(f"there is no model in {searched}; train one with `chumoku train stories-gpt`{reasons}")


def preferred(settings: Settings) -> str | None:
    """The configured default: its name, or the first model named on its own."""
    first = next((called(given)[0] for given in settings.models), None)
    return settings.default_model or first


def pick_default(asked: str | None, names: list[str], unavailable: Sequence[str] = ()) -> str:
    """The default's name; a fallback if it is unavailable. Raises `ValueError` for an unknown name."""
    if asked is None or (asked not in names and asked in unavailable):
        return PREFERRED if PREFERRED in names else names[0]
    if asked not in names:
        raise ValueError(f"the default model {asked!r} does not exist; known are {', '.join(names)}")
    return asked
