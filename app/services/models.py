"""What the API says about a model: its description, from its configs alone, and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import prod
from typing import Any

import torch
from torch import Tensor

from chumoku.app.api.requests import WeightsRequest
from chumoku.app.errors import AppError, unknown_name
from chumoku.app.services import wire
from chumoku.app.services.languages import directions, languages_of
from chumoku.app.services.library import Entry, Library
from chumoku.app.services.memory_budget import Reserve, Size
from chumoku.app.settings import Settings
from chumoku.model.taps import match_names
from chumoku.model.traceable import About, TraceableModel

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
"""Long parts of a card: in a model's details, not in the list."""


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
        "means": about.means and {"n": about.means.n, "positions": about.means.n_positions, "on": about.means.on},
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
        "pairs": about.reads_pairs,
        "chat": about.chat is not None,
        "card": {name: value for name, value in about.card.items() if name not in OF_ITS_OWN} | at_start(about.card),
    }


def at_start(card: Mapping[str, Any]) -> dict[str, Any]:
    """The gradients of the untrained model, the baseline for other models."""
    taken: list[dict[str, Any]] = card.get("snapshots", [])
    first: dict[str, Any] = next((one for one in taken if one["step"] == 0), {})
    return {"gradients_at_start": first["gradients"]} if first.get("gradients") else {}


def snapshots(entry: Entry) -> list[dict[str, Any]]:
    """A model's snapshots by step: their names, what was measured at each, and why one did not load."""
    figures = {one["step"]: one for one in entry.about.card.get("snapshots", [])}
    return [
        {**figures[step], "model": one.name, "problem": one.failure.reason if one.failure else None}
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


FLOAT32 = 4


def weights_answer(traceable: TraceableModel, request: WeightsRequest, reserve: Reserve) -> bytearray:
    """The parameters that `want` names, in the model's order, a tied one under each of its names.

    Raises `unknown_weight` listing the known ones, `bad_row`, `bad_column`, and `too_large`.
    """
    there = traceable.about.weights
    chosen = traceable.weights(wanted_weights(request.want, list(there)))
    for dim, indices in enumerate((request.rows, request.columns)):
        check_indices(chosen, dim, indices or [])
    reserve(size_of(chosen, request))
    arrays = {name: wire.convert(name, part_of(x, request), "float32") for name, x in chosen.items()}
    dims = {name: there[name].dims for name in chosen}
    return wire.encode(arrays, {"model": traceable.name, "dims": dims})


def wanted_weights(patterns: list[str], known: list[str]) -> list[str]:
    for index, pattern in enumerate(patterns):
        try:
            match_names([pattern], known)
        except KeyError:
            raise unknown_name("unknown_weight", "parameter", pattern, known, where=f"want[{index}]") from None
    return match_names(patterns, known)


def check_indices(chosen: Mapping[str, Tensor], dim: int, indices: list[int]) -> None:
    """Raise `bad_row` or `bad_column` for an index that one of the parameters does not have."""
    word = ("row", "column")[dim]
    sizes = {name: x.shape[dim] if dim < x.dim() else 0 for name, x in chosen.items()}
    shortest = min(sizes, key=sizes.__getitem__)
    last = sizes[shortest] - 1
    for at, index in enumerate(indices):
        if index > last:
            has = f"its {word}s run from 0 to {last}" if last >= 0 else f"it has no {word}s"
            hint = f"Use a {word} from 0 to {last}." if last >= 0 else f"Ask for it without {word}s."
            message = f"{shortest!r} has no {word} {index}: {has}."
            raise AppError(f"bad_{word}", message, hint, where=f"{word}s[{at}]", got=index, limit=max(0, last))


def size_of(chosen: Mapping[str, Tensor], request: WeightsRequest) -> Size:
    def numbers(x: Tensor) -> int:
        kept = [*x.shape]
        for dim, indices in enumerate((request.rows, request.columns)):
            if indices is not None:
                kept[dim] = len(indices)
        return prod(kept)

    total = sum(numbers(x) for x in chosen.values())
    return Size(FLOAT32 * total + 300 * len(chosen), "Ask for fewer names at once, or for some rows.", "want")


def part_of(x: Tensor, request: WeightsRequest) -> Tensor:
    for dim, indices in enumerate((request.rows, request.columns)):
        if indices is not None:
            x = x.index_select(dim, torch.tensor(indices, device=x.device))
    return x
