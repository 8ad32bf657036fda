"""The ways through the model: how much each position takes from each other."""

from __future__ import annotations

import torch
from torch import Tensor

from chumoku.app.api.explain.schema import RouteRequest
from chumoku.app.services import sizes
from chumoku.app.services.explain.shared import Json
from chumoku.app.services.plan import RunPlan
from chumoku.app.services.wire import Dtype, in_json
from chumoku.model.derive.route import Flow, River, route_of


def route(plan: RunPlan, request: RouteRequest) -> Json:
    return {"rivers": [river(one, plan) for one in route_of(plan.subject, plan.run)]}


def river(one: River, plan: RunPlan) -> Json:
    layers, tokens = one.ffn.shape
    return {
        "stack": one.stack,
        "side": one.side,
        "layers": layers,
        "tokens": tokens,
        "flows": [flow(each, plan) for each in one.flows],
        "ffn": in_json("ffn", one.ffn, "float32"),
    }


def flow(one: Flow, plan: RunPlan) -> Json:
    """Many shares travel as float16, and without those that a causal mask leaves no room for."""
    if not sizes.are_many(plan):
        return plain(one, one.share, "float32") | {"packed": False}
    attention = plan.subject.description.attention(one.attention)
    packed = sizes.is_lower(plan, attention)
    share = one.share.flatten(1)[:, lower(one.share.shape[-1])] if packed else one.share
    return plain(one, share, "float16") | {"packed": packed}


def lower(n: int) -> Tensor:
    """The places of keys up to their query in a flat [query key]: query by query."""
    return torch.ones(n, n, dtype=torch.bool).tril().flatten().nonzero()[:, 0]


def plain(one: Flow, share: Tensor, dtype: Dtype) -> Json:
    return {
        "attention": one.attention,
        "queries": one.queries,
        "keys": one.keys,
        "share": in_json("share", share, dtype),
        "own": in_json("own", one.own, "float32"),
    }
