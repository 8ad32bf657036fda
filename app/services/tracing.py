"""A trace request, answered: which tensors, from which ids, under which masks, as bytes."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from app import VERSION, wire
from app.errors import AppError, unknown_name
from app.schemas import TraceRequest
from app.services import tokens
from app.services.edits import check_index, edits_of
from app.services.predictions import check_positions, predict
from model.checkpoint import Checkpoint
from model.config import ModelConfig
from model.taps import Edit, match_names, tap_dims
from model.trace import Masks, Padding, Trace, trace

LOGITS = "logits"


@dataclass(frozen=True)
class Plan:
    """A request that was found to be in order: what will be run."""

    ids: list[int]
    names: list[str]
    edits: dict[str, Edit]


@dataclass(frozen=True)
class Encoded:
    """An answer, and the seconds that the model and the encoding took."""

    body: bytes
    n_tokens: int
    model_seconds: float
    encode_seconds: float


def answer(checkpoint: Checkpoint, request: TraceRequest, max_chars: int) -> Encoded:
    """Run the request. Raises `AppError` for whatever is wrong with it."""
    plan = prepare(checkpoint, request, max_chars)
    start = perf_counter()
    traced, predictions = run(checkpoint, request, plan)
    seconds = perf_counter() - start
    arrays = {
        name: wire.convert(name, select_heads(traced.tensors[name], traced.dims[name], request.heads), request.dtype)
        for name in plan.names
    }
    about = metadata(checkpoint, request, plan, traced) | {"seconds": seconds, "predictions": predictions}
    body = wire.ENCODERS[request.format](arrays, about)
    return Encoded(body, len(traced.ids), seconds, perf_counter() - start - seconds)


def prepare(checkpoint: Checkpoint, request: TraceRequest, max_chars: int) -> Plan:
    """Check everything before the model runs."""
    n_pad = request.pad.count
    ids = tokens.resolve(checkpoint, request.text, request.token_ids, max_chars, n_pad)
    names = wanted_names(request, tap_dims(checkpoint.model), checkpoint.config)
    wire.check_dtype(names, request.dtype)
    check_positions(request.predict, len(ids) + n_pad)
    return Plan(ids, names, edits_of(request.interventions, checkpoint.config, len(ids) + n_pad))


def run(checkpoint: Checkpoint, request: TraceRequest, plan: Plan) -> tuple[Trace, list[dict[str, Any]]]:
    """One forward pass that records only what the answer needs."""
    names = plan.names
    if request.predict is not None and LOGITS not in names:
        names = [*names, LOGITS]
    traced = trace(
        checkpoint,
        plan.ids,
        names,
        use=Masks(request.masks.causal, request.masks.padding),
        pad=Padding(request.pad.count, request.pad.side, request.pad.follow),
        edit=plan.edits,
    )
    if request.predict is None:
        return traced, []
    return traced, predict(checkpoint, traced.tensors[LOGITS], request.predict)


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


def metadata(checkpoint: Checkpoint, request: TraceRequest, plan: Plan, traced: Trace) -> dict[str, Any]:
    """Everything of an answer that is no tensor: with it a file says by itself what it is a trace of, and how."""
    text = tokens.text_of(checkpoint.tokenizer, traced.ids) if request.text is None else request.text
    return {
        "version": wire.VERSION,
        "produced_by": f"chumoku {VERSION}",
        "model": checkpoint.name,
        "config": checkpoint.config.to_json() | {"d_head": checkpoint.config.d_head},
        "end_id": checkpoint.tokenizer.end_id,
        "pad_id": checkpoint.tokenizer.pad_id,
        "text": text,
        "tokens": tokens.tokens_json(checkpoint.tokenizer, traced.ids),
        "n_characters": len(text),
        "max_seq_len": checkpoint.config.max_seq_len,
        "dims": {name: traced.dims[name] for name in plan.names},
        "heads": request.heads,
        "masks": request.masks.model_dump(),
        "pad": request.pad.model_dump(),
        "interventions": [item.model_dump() for item in request.interventions],
        "dtype": request.dtype,
        "scale": wire.scales(plan.names, request.dtype),
        "position_ids": traced.position_ids,
    }
