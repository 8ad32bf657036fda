"""The description of a model for the API, from its configs alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from chumoku.app.errors import AppError
from chumoku.app.services.languages import directions, languages_of
from chumoku.app.services.library import Entry, Library
from chumoku.app.settings import Settings
from chumoku.model.traceable import About

CONFIG = (
    "position",
    "norm_order",
    "tie_embeddings",
    "scale_embeddings",
    "layer_norm_eps",
    "text_form",
    "dropout",
    "reach",
)

OF_ITS_OWN = ("units", "snapshots", "log")
"""The parts of a card that are long: a model's own page has them, the list does not."""


def detailed(entry: Entry, device: str, settings: Settings) -> dict[str, Any]:
    """All of `/api/models/{name}`."""
    about = entry.about
    description, special = about.description, about.special
    return {
        **listed(about),
        "description": description.to_json(),
        "special": {"pad": special.pad, "end": special.end, "first": first(about), "mask": special.mask},
        "never_sampled": sorted(about.never_sampled),
        "weights": {name: weight.shape for name, weight in about.weights.items()},
        "taps": [{"name": name, "dims": place.dims} for name, place in description.taps.items()],
        "units": about.card.get("units"),
        "snapshots": snapshots(entry.of or entry),
        "example": asdict(about.pictures[0]) if about.pictures else None,
        "uploads": uploads(about, settings),
        "snapshot_of": None if entry.of is None else entry.of.name,
        "log": about.card.get("log"),
        "device": device,
        **{name: about.config[name] for name in CONFIG if name in about.config},
    }


def uploads(about: About, settings: Settings) -> dict[str, int] | None:
    """The limits of a picture that is sent; None for a model that takes none."""
    return {"bytes": settings.upload_limit, "pixels": settings.upload_pixels} if about.fit else None


def listed(about: About) -> dict[str, Any]:
    """An entry of `/api/models`: names, shapes and the card."""
    description = about.description
    ffns = [ffn for stack in description.stacks for ffn in stack.ffns]
    heads = description.attentions
    return {
        "name": about.name,
        "family": description.family,
        "predicts": description.predicts,
        "sides": list(description.sides),
        "n_layer": max((len(stack.layers) for stack in description.stacks), default=0),
        "n_head": max((one.n_head for one in heads), default=0),
        "d_model": description.d_model,
        "d_head": max((one.d_head for one in heads), default=0),
        "d_ff": max((ffn.d_ff for ffn in ffns), default=0),
        "vocab_size": description.vocab_size,
        "max_seq_len": description.max_seq_len,
        "n_parameters": about.n_parameters,
        "languages": languages_of(about),
        "directions": directions(about),
        "classes": list(description.classes),
        "picture": description.picture and asdict(description.picture),
        "card": {name: value for name, value in about.card.items() if name not in OF_ITS_OWN} | at_start(about.card),
    }


def at_start(card: Mapping[str, Any]) -> dict[str, Any]:
    """The gradients of the untrained model: other models are compared with them."""
    taken: list[dict[str, Any]] = card.get("snapshots", [])
    first: dict[str, Any] = next((one for one in taken if one["step"] == 0), {})
    return {"gradients_at_start": first["gradients"]} if first.get("gradients") else {}


def snapshots(entry: Entry) -> list[dict[str, Any]]:
    """A model's snapshots by step: their names, what was measured at each, and why one that did not load is aside."""
    figures = {one["step"]: one for one in entry.about.card.get("snapshots", [])}
    return [
        {**figures[step], "model": one.name, "problem": one.aside.reason if one.aside else None}
        for step, one in sorted(entry.snapshots.items())
    ]


def pictures(entry: Entry) -> dict[str, Any]:
    """The answer of `/api/models/{name}/pictures`. Raises `wrong_input` for a model that reads text."""
    if entry.about.description.picture is None:
        message = f"{entry.name!r} reads text, not pictures."
        raise AppError("wrong_input", message, "Use a model that has a `picture`.", where="name", status=404)
    data = entry.about.card.get("data")
    return {"source": data[0]["what"] if data else "", "pictures": [asdict(one) for one in entry.about.pictures]}


def all_models(library: Library) -> dict[str, Any]:
    """The answer of `/api/models`."""
    return {
        "default": library.default,
        "models": [listed(one.about) for one in library.usable],
        "problems": [asdict(one) for one in library.problems],
    }


def first(about: About) -> dict[str, Any] | None:
    """The special token that a sequence of the model begins with, [CLS] or START; None if there is none."""
    if about.special.first is None:
        return None
    name = about.first_name or ("[CLS]" if about.reads_first else "<|start|>")
    return {"id": about.special.first, "text": name}
