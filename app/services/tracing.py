"""A trace request, answered: which tensors, from which ids, under which masks, as bytes."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from app import wire
from app.errors import AppError, unknown_name
from app.schemas import TraceRequest
from app.services import tokens
from app.services.edits import Lengths, check_index, edits_of
from app.services.families import WITHOUT_NEXT_TOKEN, check_predicts
from app.services.languages import Languages, notes
from app.services.predictions import check_positions, classes, predict
from app.services.targets import Target, target_of
from app.services.trace_metadata import metadata
from model.checkpoint import Checkpoint
from model.config import ModelConfig
from model.taps import Edit, match_names, tap_dims
from model.trace import Masks, Padding, Trace, trace

LOGITS = "logits"
NONE: Languages = {}


@dataclass(frozen=True)
class Plan:
    """A request that was found to be in order: what will be run."""

    ids: list[int]
    target: Target | None
    names: list[str]
    edits: dict[str, Edit]


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
    plan = prepare(checkpoint, request, max_chars)
    traced = run(checkpoint, request, plan)
    seconds = perf_counter() - start
    arrays = {
        name: wire.convert(name, select_heads(traced.tensors[name], traced.dims[name], request.heads), request.dtype)
        for name in plan.names
    }
    about = metadata(checkpoint, request, traced, plan.target) | {
        "dims": {name: traced.dims[name] for name in plan.names},
        "scale": wire.scales(plan.names, request.dtype),
        "seconds": seconds,
        **outcome(checkpoint, request, traced),
    }
    about["notes"] = notes(checkpoint, about["text"], loaded)
    body = wire.ENCODERS[request.format](arrays, about)
    return Encoded(body, len(traced.ids), seconds, perf_counter() - start - seconds)


def prepare(checkpoint: Checkpoint, request: TraceRequest, max_chars: int) -> Plan:
    """Check everything before the model runs; only then let it write the target, where none is given."""
    n_pad = request.pad.count
    ids = tokens.resolve(checkpoint, request.text, request.token_ids, max_chars, n_pad)
    names = wanted_names(request, tap_dims(checkpoint.model), checkpoint.config)
    wire.check_dtype(names, request.dtype)
    if request.predict is not None:
        check_predicts(checkpoint, "predict", WITHOUT_NEXT_TOKEN)
    target = target_of(checkpoint, ids, request.target, request.target_ids, max_chars)
    lengths: Lengths = {"source": len(ids) + n_pad, "target": len(target.ids) if target else 0}
    check_positions(request.predict, lengths["target" if target else "source"])
    return Plan(ids, target, names, edits_of(request.interventions, checkpoint.config, lengths))


def run(checkpoint: Checkpoint, request: TraceRequest, plan: Plan) -> Trace:
    """One forward pass that records only what the answer needs."""
    names = plan.names
    if LOGITS not in names and (request.predict is not None or checkpoint.config.classes):
        names = [*names, LOGITS]
    return trace(
        checkpoint,
        plan.ids,
        names,
        target=plan.target.ids if plan.target else None,
        use=Masks(request.masks.causal, request.masks.padding),
        pad=Padding(request.pad.count, request.pad.side, request.pad.follow),
        edit=plan.edits,
    )


def outcome(checkpoint: Checkpoint, request: TraceRequest, traced: Trace) -> dict[str, Any]:
    """What the model makes of it: the predictions asked for, or a classifier's classes."""
    says = checkpoint.config.classes
    return {
        "predictions": predict(checkpoint, traced.tensors[LOGITS], request.predict) if request.predict else [],
        "classes": classes(checkpoint, traced.tensors[LOGITS]) if says else None,
    }


def wanted_names(request: TraceRequest, dims: dict[str, str], config: ModelConfig) -> list[str]:
    """The taps that `want` and `layers` name, in the model's order.

    Raises `unknown_tensor` listing the known ones, `bad_layer` and `bad_head`.
    """
    for index, layer in enumerate(request.layers or []):
        check_index("layer", layer, config.n_layer, f"layers[{index}]")
    for index, head in enumerate(request.heads or []):
        check_index("head", head, config.n_head, f"heads[{index}]")
    known = list(dims)
    for index, pattern in enumerate(request.want):
        try:
            match_names([pattern], known)
        except KeyError:
            raise unknown_name("unknown_tensor", "tensor", pattern, known, where=f"want[{index}]") from None
    names = [name for name in match_names(request.want, known) if in_layers(name, request.layers)]
    if request.want and not names:
        message = f"Nothing that `want` names is in layers {request.layers}."
        raise AppError("unknown_tensor", message, "Name a tensor of these layers.", where="want", known=known)
    return names


def in_layers(name: str, layers: list[int] | None) -> bool:
    """Whether a tap passes the `layers` selection; one that belongs to no layer always does."""
    _, found, after = name.partition("layers.")
    return layers is None or not found or int(after.split(".")[0]) in layers


def select_heads(tensor: Tensor, dims: str, heads: list[int] | None) -> Tensor:
    """The heads asked for, in the order asked; a tensor without heads as it is."""
    names = dims.split()
    if heads is None or "head" not in names:
        return tensor
    return tensor.index_select(names.index("head"), torch.tensor(heads))
