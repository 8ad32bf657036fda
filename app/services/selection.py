"""Which tensors a request wants of a run, and which of their heads."""

from __future__ import annotations

import torch
from torch import Tensor

from chumoku.app.api.traces.schema import TraceRequest
from chumoku.app.errors import AppError, check_index, unknown_name
from chumoku.app.services.plan import RunPlan
from chumoku.model.describe import Description, TapPlace
from chumoku.model.taps import match_names
from chumoku.model.trace import Trace
from chumoku.model.traceable import TraceableModel


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


def chosen_heads(traced: Trace, name: str, request: TraceRequest, traceable: TraceableModel) -> Tensor:
    """A wanted tensor with the requested heads only."""
    tensor, dims = traced.tensors[name], traced.dims[name]
    place = traceable.description.taps[name]
    if request.heads is None or place.attention is None:
        return tensor
    attention = traceable.description.attention(place.attention)
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


def check_queries(plan: RunPlan, request: TraceRequest, names: list[str]) -> None:
    """Raise `bad_position` for a query that some wanted tensor lacks; if none has queries, one beyond the text."""
    description = plan.traceable.description
    wanted = {description.taps[name].attention for name in names}
    sides = [one.queries for one in description.attentions if one.id in wanted]
    fewest = min((plan.lengths[side] for side in sides), default=max(plan.lengths.values()))
    for index, query in enumerate(request.queries or []):
        check_index("position", query, fewest, f"queries[{index}]")
