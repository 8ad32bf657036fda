"""A trace request, answered: which tensors, from which ids, under which masks, as bytes."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from app.api.traces.schema import TraceRequest
from app.errors import AppError, check_index, unknown_name
from app.services import wire
from app.services.families import WITHOUT_NEXT_TOKEN, check_predicts
from app.services.languages import Languages, notes
from app.services.plan import RunPlan, plan_run
from app.services.predictions import check_positions, classes, predict
from app.services.trace_metadata import metadata
from model.checkpoint import Checkpoint
from model.config import ModelConfig
from model.describe import Description, TapPlace
from model.taps import match_names, tap_dims
from model.trace import Trace, trace

NONE: Languages = {}


@dataclass(frozen=True)
class Encoded:
    """An answer, and the seconds that the model and the encoding took."""

    body: bytes
    n_tokens: int
    model_seconds: float
    encode_seconds: float


def answer(checkpoint: Checkpoint, request: TraceRequest, max_chars: int, loaded: Languages = NONE) -> Encoded:
    """Run the request. Raises `AppError` for whatever is wrong with it. `loaded`: whom a note may point to."""
    start = perf_counter()
    names = prepare(checkpoint, request)
    plan = plan_run(checkpoint, request, max_chars)
    check_positions(request.predict, plan.lengths["target" if plan.target else "source"])
    traced = run(plan, request, names)
    seconds = perf_counter() - start
    arrays = {
        name: wire.convert(name, select_heads(traced.tensors[name], traced.dims[name], request.heads), request.dtype)
        for name in names
    }
    about = metadata(plan, request, traced) | {
        "dims": {name: traced.dims[name] for name in names},
        "scale": wire.scales(names, request.dtype, checkpoint.description.overviews),
        "seconds": seconds,
        **outcome(checkpoint, request, traced),
    }
    about["notes"] = notes(checkpoint, about["text"], loaded)
    body = wire.ENCODERS[request.format](arrays, about)
    return Encoded(body, len(traced.ids), seconds, perf_counter() - start - seconds)


def prepare(checkpoint: Checkpoint, request: TraceRequest) -> list[str]:
    """Check what is asked of the run, before there is one; the names of the tensors that are wanted."""
    description = checkpoint.description
    names = wanted_names(request, list(tap_dims(checkpoint.model)), description, checkpoint.config)
    wire.check_dtype(names, request.dtype, description.overviews | description.masks)
    if request.predict is not None:
        check_predicts(checkpoint, "predict", WITHOUT_NEXT_TOKEN)
    return names


def run(plan: RunPlan, request: TraceRequest, names: list[str]) -> Trace:
    """One forward pass that records only what the answer needs."""
    logits = plan.checkpoint.description.logits.tap
    if logits not in names and (request.predict is not None or plan.checkpoint.config.classes):
        names = [*names, logits]
    return trace(plan.checkpoint, plan.ids, names, **plan.options)


def outcome(checkpoint: Checkpoint, request: TraceRequest, traced: Trace) -> dict[str, Any]:
    """What the model makes of it: the predictions asked for, or a classifier's classes."""
    logits = traced.tensors.get(checkpoint.description.logits.tap)
    return {
        "predictions": predict(checkpoint, logits, request.predict) if request.predict and logits is not None else [],
        "classes": classes(checkpoint, logits) if checkpoint.config.classes and logits is not None else None,
    }


def wanted_names(request: TraceRequest, known: list[str], description: Description, config: ModelConfig) -> list[str]:
    """The `known` taps that `want` and `layers` name, in the model's order; without a word, every overview.

    Raises `unknown_tensor` listing the known ones, `bad_layer` and `bad_head`.
    """
    for index, layer in enumerate(request.layers or []):
        check_index("layer", layer, config.n_layer, f"layers[{index}]")
    for index, head in enumerate(request.heads or []):
        check_index("head", head, config.n_head, f"heads[{index}]")
    want = [name for name in known if name in description.overviews] if request.want is None else request.want
    for index, pattern in enumerate(want):
        try:
            match_names([pattern], known)
        except KeyError:
            raise unknown_name("unknown_tensor", "tensor", pattern, known, where=f"want[{index}]") from None
    names = [name for name in match_names(want, known) if in_layers(description.taps[name], request.layers)]
    if want and not names:
        message = f"Nothing that `want` names is in layers {request.layers}."
        raise AppError("unknown_tensor", message, "Name a tensor of these layers.", where="want", known=known)
    return names


def in_layers(place: TapPlace, layers: list[int] | None) -> bool:
    """Whether a tap passes the `layers` selection; one that belongs to no layer always does."""
    return layers is None or place.layer is None or place.layer in layers


def select_heads(tensor: Tensor, dims: str, heads: list[int] | None) -> Tensor:
    """The heads asked for, in the order asked; a tensor without heads as it is."""
    names = dims.split()
    if heads is None or "head" not in names:
        return tensor
    return tensor.index_select(names.index("head"), torch.tensor(heads))
