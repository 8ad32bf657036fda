"""A model's parameters by name, unchanged."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from chumoku.app.api.weights.schema import WeightsRequest
from chumoku.app.errors import AppError, unknown_name
from chumoku.app.services import wire
from chumoku.app.services.memory_budget import Reserve, Size
from chumoku.model.taps import match_names
from chumoku.model.traceable import TraceableModel

FLOAT32 = 4


def answer(traceable: TraceableModel, request: WeightsRequest, reserve: Reserve) -> bytearray:
    """The parameters that `want` names, in the model's order, a tied one under each of its names.

    Raises `unknown_weight` listing the known ones, `bad_row`, and `too_large`.
    """
    there = traceable.about.weights
    chosen = traceable.weights(wanted(request.want, list(there)))
    check_rows(chosen, request.rows)
    reserve(size_of(chosen, request.rows))
    arrays = {name: wire.convert(name, rows_of(x, request.rows), "float32") for name, x in chosen.items()}
    dims = {name: there[name].dims for name in chosen}
    return wire.encode(arrays, {"model": traceable.name, "dims": dims})


def wanted(patterns: list[str], known: list[str]) -> list[str]:
    for index, pattern in enumerate(patterns):
        try:
            match_names([pattern], known)
        except KeyError:
            raise unknown_name("unknown_weight", "parameter", pattern, known, where=f"want[{index}]") from None
    return match_names(patterns, known)


def check_rows(chosen: Mapping[str, Tensor], rows: list[int] | None) -> None:
    """Raise `bad_row` for a row that one of the parameters does not have."""
    shortest = min(chosen, key=lambda name: len(chosen[name]))
    last = len(chosen[shortest]) - 1
    for index, row in enumerate(rows or []):
        if row > last:
            message = f"{shortest!r} has no row {row}: its rows run from 0 to {last}."
            raise AppError("bad_row", message, f"Use a row from 0 to {last}.", where=f"rows[{index}]", got=row,
                           limit=last)  # fmt: skip


def size_of(chosen: Mapping[str, Tensor], rows: list[int] | None) -> Size:
    numbers = sum(x.numel() if rows is None else x.numel() // len(x) * len(rows) for x in chosen.values())
    return Size(FLOAT32 * numbers + 300 * len(chosen), "Ask for fewer names at once, or for some rows.", "want")


def rows_of(x: Tensor, rows: list[int] | None) -> Tensor:
    return x if rows is None else x[torch.tensor(rows, device=x.device)]
