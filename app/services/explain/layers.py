"""What the layers do to a sentence: what heads look at, which units fire, what is written into the streams."""

from __future__ import annotations

from app.api.explain.schema import HeadsRequest, ResidualRequest, SwapRequest, UnitsRequest
from app.errors import AppError, check_index
from app.services.explain.shared import Json, plain, prefix_of
from app.services.plan import RunPlan
from model.explain.head_labels import RULES, labels
from model.explain.residual import Written, streams
from model.explain.swaps import swap_tokens
from model.explain.units import FfnUnits
from model.explain.units import units as units_of


def heads(plan: RunPlan, request: HeadsRequest) -> Json:
    found = labels(plan.checkpoint, plan.ids, **plan.options)
    return {
        "heads": [
            plain(head) | {"scores": {kind: plain(score) for kind, score in head.scores.items()}} for head in found
        ],
        "rules": {kind: {"threshold": threshold, "words": words} for kind, (threshold, words) in RULES.items()},
    }


def units(plan: RunPlan, request: UnitsRequest) -> Json:
    config = plan.checkpoint.config
    prefix = prefix_of(plan.checkpoint, request.stack, "stack")
    if request.unit is not None and request.layer is not None:
        check_index("layer", request.layer, config.n_layer, "layer")
        check_index("unit", request.unit, config.d_ff, "unit")
    found = units_of(plan.checkpoint, plan.ids, k=request.k, **plan.options)
    asked = [one for one in found if (stack_of(one), one.layer) == (prefix, request.layer)]
    return {
        "ffns": [ffn(one) for one in found],
        "unit": unit(asked[0], request.unit) if asked and request.unit is not None else None,
    }


def stack_of(one: FfnUnits) -> str:
    """The prefix of an FFN's stack."""
    return one.path.partition("layers.")[0]


def ffn(one: FfnUnits) -> Json:
    """All of it but what each unit answers to: that is the larger part, and told of one unit alone."""
    names = ("path", "layer", "positions", "dead", "always_on")
    tensors = ("fires", "top_units", "top_activations")
    return {
        "prefix": stack_of(one),
        **{name: getattr(one, name) for name in names},
        **{name: getattr(one, name).tolist() for name in tensors},
    }


def unit(one: FfnUnits, index: int) -> Json:
    return {
        "path": one.path,
        "prefix": stack_of(one),
        "layer": one.layer,
        "unit": index,
        "top_positions": one.top_positions[index].tolist(),
        "top_values": one.top_values[index].tolist(),
    }


def swap(plan: RunPlan, request: SwapRequest) -> Json:
    before = plan.pad.count if plan.pad.side == "left" else 0
    first, last = before, before + len(plan.ids) - 1
    if plan.checkpoint.config.family == "encoder-only":
        first += 1  # [CLS]
    for where, place in (("i", request.i), ("j", request.j)):
        if not first <= place <= last:
            hint = f"Take a token from {first} to {last}." if first < last else "Type at least two tokens."
            message = f"There is no token to swap at {place}: [CLS] and PADs stay where they are."
            raise AppError("bad_position", message, hint, where=where, got=place, limit=last)
    i, j = request.i - before, request.j - before
    if plan.ids[i] == plan.ids[j]:
        message = f"Tokens {request.i} and {request.j} are the same: swapped, they are the same sentence."
        raise AppError("same_token", message, "Take two tokens that differ.", where="j", got=request.j)
    runs = swap_tokens(plan.checkpoint, plan.ids, i, j, **plan.options)
    return {"runs": [plain(run) | {"stacks": [plain(stack) for stack in run.stacks]} for run in runs]}


def residual(plan: RunPlan, request: ResidualRequest) -> Json:
    return {
        "streams": [
            plain(stream)
            | {"written": [written(one) for one in stream.written], "norms": [plain(one) for one in stream.norms]}
            for stream in streams(plan.checkpoint, plan.ids, **plan.options)
        ]
    }


def written(one: Written) -> Json:
    return plain(one) | {"sublayer": vars(one.sublayer) | {"out": one.sublayer.out}}
