"""The ways through the model: how much each position takes from each other."""

from __future__ import annotations

from chumoku.app.api.explain.schema import RouteRequest
from chumoku.app.services.explain.shared import Json
from chumoku.app.services.plan import RunPlan
from chumoku.app.services.wire import in_json
from chumoku.model.derive.route import Flow, River, route_of


def route(plan: RunPlan, request: RouteRequest) -> Json:
    return {"rivers": [river(one) for one in route_of(plan.subject, plan.run)]}


def river(one: River) -> Json:
    layers, tokens = one.ffn.shape
    return {
        "stack": one.stack,
        "side": one.side,
        "layers": layers,
        "tokens": tokens,
        "flows": [flow(each) for each in one.flows],
        "ffn": in_json("ffn", one.ffn, "float32"),
    }


def flow(one: Flow) -> Json:
    return {
        "attention": one.attention,
        "queries": one.queries,
        "keys": one.keys,
        "share": in_json("share", one.share, "float32"),
        "own": in_json("own", one.own, "float32"),
    }
