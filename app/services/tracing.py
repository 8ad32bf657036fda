"""Answers a trace request: chooses the tensors, runs the model, encodes the bytes."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Literal

import torch
from torch import Tensor

from chumoku.app.api.run import Run
from chumoku.app.api.traces.schema import TraceRequest
from chumoku.app.errors import AppError, check_index, unknown_name
from chumoku.app.services import sizes, tokens, wire
from chumoku.app.services.answers import Answer
from chumoku.app.services.capabilities import check_tokens
from chumoku.app.services.languages import Languages, notes
from chumoku.app.services.plan import RunPlan, plan_run
from chumoku.app.services.predictions import check_positions, classes, predict
from chumoku.app.services.room import Reserve, unlimited
from chumoku.app.services.trace_metadata import metadata
from chumoku.model import pooling
from chumoku.model.describe import Description, TapPlace
from chumoku.model.subjects import Subject
from chumoku.model.taps import keeping, match_names
from chumoku.model.trace import Trace

Format = Literal["safetensors", "npz"]
NONE: Languages = {}
N_CANDIDATES = 20
"""How many next tokens a saved trace lists for each position, as the page does."""


def answer(
    subject: Subject, request: TraceRequest, max_chars: int, loaded: Languages = NONE, reserve: Reserve = unlimited
) -> Answer:
    """Run the request. Raises `AppError` if it is invalid. `loaded`: models that a note may point to."""
    start = perf_counter()
    names = prepare(subject, request)
    plan = plan_run(subject, request, max_chars)
    check_positions(request.predict, plan.lengths["target" if plan.target else "source"])
    check_queries(plan, request, names)
    pool = pooling.block_of(subject.description, plan.lengths) if request.pooled else 1
    reserve(sizes.of_trace(plan, request, names, pool))
    traced = run(plan, request, names, pool)
    seconds = perf_counter() - start
    arrays = {name: wire.convert(name, chosen_heads(traced, name, request, subject), request.dtype) for name in names}
    about = metadata(plan, request, traced) | {
        "dims": {name: traced.dims[name] for name in names},
        "scale": wire.scales(names, request.dtype, subject.description.overviews),
        "pool": pool,
        "seconds": seconds,
        **outcome(subject, request, traced),
    }
    cut = tokens.unread(subject, request, len(plan.padded))
    about["notes"] = [*([cut] if cut else []), *notes(subject.about, about["text"], loaded)]
    body = wire.ENCODERS[request.format](arrays, about)
    return Answer(body, len(traced.ids), seconds, perf_counter() - start - seconds)


def saved(subject: Subject, run: Run, max_chars: int, format: Format = "safetensors") -> bytes | bytearray:
    """A run as a file that describes itself: every tensor, and what each position predicts."""
    plan = plan_run(subject, run, max_chars)
    rows = list(range(plan.lengths["target" if plan.target else "source"]))
    predicts = subject.description.predicts in ("next", "same")
    wanted = {
        "want": ["*"],
        "describe": True,
        "format": format,
        "predict": {"positions": rows, "n": N_CANDIDATES} if predicts else None,
    }
    request = TraceRequest.model_validate(run.model_dump(exclude_unset=True) | wanted)
    return answer(subject, request, max_chars).body


def prepare(subject: Subject, request: TraceRequest) -> list[str]:
    """Check what the request wants before the run starts. Returns the names of the wanted tensors."""
    description = subject.description
    names = wanted_names(request, description)
    wire.check_dtype(names, request.dtype, description.overviews | description.masks)
    if request.predict is not None:
        check_tokens(subject, "predict")
    return names


def check_queries(plan: RunPlan, request: TraceRequest, names: list[str]) -> None:
    """Raise `bad_position` for a query that some wanted tensor lacks."""
    description = plan.subject.description
    wanted = {description.taps[name].attention for name in names}
    fewest = min((plan.lengths[one.queries] for one in description.attentions if one.id in wanted), default=0)
    for index, query in enumerate(request.queries or []):
        check_index("position", query, fewest, f"queries[{index}]")


def run(plan: RunPlan, request: TraceRequest, names: list[str], pool: int = 1) -> Trace:
    """One forward pass that keeps only what the answer needs."""
    description = plan.subject.description
    kept = pooling.pooling(description, names, pool)
    if request.queries is not None:
        kept = pooling.rows(description, names, request.queries)
    if description.logits.tap not in names and (request.predict is not None or description.classes):
        names = [*names, description.logits.tap]
    with keeping(kept):
        return plan.subject.trace(plan.run, names)


def outcome(subject: Subject, request: TraceRequest, traced: Trace) -> dict[str, Any]:
    """The requested predictions, or a classifier's classes."""
    description, logits = subject.description, traced.tensors.get(subject.description.logits.tap)
    if logits is None:
        return {"predictions": [], "classes": None}
    is_pad = traced.pads("source" if traced.target_ids is None else "target")
    return {
        "predictions": predict(subject, logits, request.predict, is_pad) if request.predict else [],
        "classes": classes(subject, logits) if description.classes else None,
    }


def wanted_names(request: TraceRequest, description: Description) -> list[str]:
    """The taps that `want` and `layers` name, in the model's order. Without `want`, every overview.

    Raises `unknown_tensor` listing the known ones, `bad_layer` and `bad_head`.
    """
    known = description.taps
    n_layer = max((len(stack.layers) for stack in description.stacks), default=0)
    n_head = max((one.n_head for one in description.attentions), default=0)
    for index, layer in enumerate(request.layers or []):
        check_index("layer", layer, n_layer, f"layers[{index}]")
    for index, head in enumerate(request.heads or []):
        check_index("head", head, n_head, f"heads[{index}]")
    want = [name for name in known if name in description.overviews] if request.want is None else request.want
    for index, pattern in enumerate(want):
        try:
            match_names([pattern], known)
        except KeyError:
            raise unknown_name("unknown_tensor", "tensor", pattern, list(known), where=f"want[{index}]") from None
    names = [name for name in match_names(want, known) if in_layers(description.taps[name], request.layers)]
    if want and not names:
        message = f"Nothing that `want` names is in layers {request.layers}."
        raise AppError("unknown_tensor", message, "Request a tensor of these layers.", where="want", known=list(known))
    return names


def in_layers(place: TapPlace, layers: list[int] | None) -> bool:
    """Whether a tap passes the `layers` selection; a tap outside the layers always does."""
    return layers is None or place.layer is None or place.layer in layers


def chosen_heads(traced: Trace, name: str, request: TraceRequest, subject: Subject) -> Tensor:
    """A wanted tensor with the requested heads only."""
    tensor, dims = traced.tensors[name], traced.dims[name]
    place = subject.description.taps[name]
    if request.heads is None or place.attention is None:
        return tensor
    attention = subject.description.attention(place.attention)
    return select_heads(tensor, dims, request.heads, attention.n_head // attention.n_kv_head)


def select_heads(tensor: Tensor, dims: str, heads: list[int], group: int = 1) -> Tensor:
    """The requested query heads, in the requested order, and each key-value head that they share once.

    `group` query heads share a key-value head (Ainslie et al. 2023). A tensor without heads is unchanged.
    """
    names = dims.split()
    if "head" in names:
        return tensor.index_select(names.index("head"), torch.tensor(heads))
    if "kv_head" in names:
        shared = list(dict.fromkeys(head // group for head in heads))
        return tensor.index_select(names.index("kv_head"), torch.tensor(shared))
    return tensor
