"""Answers a trace request: chooses the tensors, runs the model, encodes the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Literal

import numpy as np

from chumoku.app.api.run import Run
from chumoku.app.api.traces.schema import TraceRequest
from chumoku.app.errors import inside
from chumoku.app.services import sizes, tokens, wire
from chumoku.app.services.capabilities import check_tokens
from chumoku.app.services.languages import Languages, notes
from chumoku.app.services.memory_budget import Reserve, unlimited
from chumoku.app.services.plan import RunPlan, plan_run
from chumoku.app.services.predictions import check_positions, classes, predict
from chumoku.app.services.request_coalescing import Answer
from chumoku.app.services.selection import check_queries, chosen_heads, wanted_names
from chumoku.app.services.trace_metadata import metadata
from chumoku.model import pooling
from chumoku.model.taps import keeping
from chumoku.model.trace import Trace
from chumoku.model.traceable import TraceableModel

Format = Literal["safetensors", "npz"]
NONE: Languages = {}
DETAIL = "detail/"
"""Before the names of a detail's tensors: the same tap may be a picture of all heads, too."""
N_CANDIDATES = 20
"""How many next tokens a saved trace lists for each position, as the page does."""


def answer(
    traceable: TraceableModel,
    request: TraceRequest,
    max_chars: int,
    loaded: Languages = NONE,
    reserve: Reserve = unlimited,
) -> Answer:
    """Run the request. Raises `AppError` if it is invalid. `loaded`: models that a note may point to."""
    start = perf_counter()
    names, more = prepare(traceable, request)
    plan = plan_run(traceable, request, max_chars)
    check_positions(request.predict, plan.lengths["target" if plan.target else "source"])
    check_queries(plan, request, names)
    pool = pooling.block_of(traceable.description, plan.lengths) if request.pooled else 1
    reserve(sizes.of_trace(plan, request, names, more, pool))
    traced, exact = run(plan, request, names, more, pool)
    seconds = perf_counter() - start
    arrays = arrays_of(traced, request, names, traceable)
    dims = {name: traced.dims[name] for name in names}
    about = metadata(plan, request, traced)
    if request.exact is not None:
        arrays |= {DETAIL + name: array for name, array in arrays_of(exact, request.exact, more, traceable).items()}
        dims |= {DETAIL + name: exact.dims[name] for name in more}
        about["detail"] = {"heads": request.exact.heads}
    about |= {
        "dims": dims,
        "scale": wire.scales(names, request.dtype, traceable.description.overviews),
        "pool": pool,
        "seconds": seconds,
        **outcome(traceable, request, traced),
    }
    cut = tokens.unread(traceable, request, len(plan.padded))
    about["notes"] = [*([cut] if cut else []), *notes(traceable.about, about["text"], loaded)]
    body = wire.ENCODERS[request.format](arrays, about)
    return Answer(body, len(traced.ids), seconds, perf_counter() - start - seconds)


def saved(traceable: TraceableModel, run: Run, max_chars: int, format: Format = "safetensors") -> bytes | bytearray:
    """A run as a file that describes itself: every tensor, and what each position predicts."""
    plan = plan_run(traceable, run, max_chars)
    rows = list(range(plan.lengths["target" if plan.target else "source"]))
    predicts = traceable.description.predicts in ("next", "same")
    wanted = {
        "want": ["*"],
        "describe": True,
        "format": format,
        "predict": {"positions": rows, "n": N_CANDIDATES} if predicts else None,
    }
    request = TraceRequest.model_validate(run.model_dump(exclude_unset=True) | wanted)
    return answer(traceable, request, max_chars).body


def prepare(traceable: TraceableModel, request: TraceRequest) -> tuple[list[str], list[str]]:
    """Check what the request wants before the run starts. Returns the names of its tensors, and of its detail's."""
    description = traceable.description
    names = wanted_names(request, description)
    wire.check_dtype(names, request.dtype, description.overviews | description.masks)
    if request.predict is not None:
        check_tokens(traceable, "predict")
    with inside("detail"):
        return names, [] if request.exact is None else wanted_names(request.exact, description)


def arrays_of(
    traced: Trace, request: TraceRequest, names: Sequence[str], traceable: TraceableModel
) -> dict[str, np.ndarray]:
    """The wanted tensors as they are sent: the requested heads, in the requested dtype."""
    return {name: wire.convert(name, chosen_heads(traced, name, request, traceable), request.dtype) for name in names}


def run(plan: RunPlan, request: TraceRequest, names: list[str], more: list[str], pool: int = 1) -> tuple[Trace, Trace]:
    """One forward pass that keeps only what the answer needs: `names`, and `more` as the model has them.

    Where pictures are pooled or rows chosen, `more` takes a pass of its own.
    """
    description = plan.traceable.description
    kept = pooling.pooling(description, names, pool)
    if request.queries is not None:
        kept = pooling.rows(description, names, request.queries)
    if description.logits.tap not in names and (request.predict is not None or description.classes):
        names = [*names, description.logits.tap]
    with keeping(kept):
        traced = plan.traceable.trace(plan.run, names if kept else list(dict.fromkeys([*names, *more])))
    return traced, plan.traceable.trace(plan.run, more) if kept and more else traced


def outcome(traceable: TraceableModel, request: TraceRequest, traced: Trace) -> dict[str, Any]:
    """The requested predictions, or a classifier's classes."""
    description, logits = traceable.description, traced.tensors.get(traceable.description.logits.tap)
    if logits is None:
        return {"predictions": [], "classes": None}
    is_pad = traced.pads("source" if traced.target_ids is None else "target")
    return {
        "predictions": predict(traceable, logits, request.predict, is_pad) if request.predict else [],
        "classes": classes(traceable, logits) if description.classes else None,
    }
