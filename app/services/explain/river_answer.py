"""The answer that the river is drawn from: the shares of `model/attribution/norm_contributions.py`, encoded."""

from __future__ import annotations

import sys

import torch
from torch import Tensor

from chumoku.app.api.explain.requests import RouteRequest
from chumoku.app.services import sizes
from chumoku.app.services.plan import RunPlan
from chumoku.app.services.wire import Dtype, Json, in_json
from chumoku.model.attribution.norm_contributions import Flow, River, route_of
from chumoku.model.describe import Description

MARKS = 4
"""Most tokens that a tokenizer adds around a text."""


def products(description: Description, request: RouteRequest) -> int:
    """An upper estimate of its multiplications, before the text is split into tokens: a pair of tokens is
    compared pair by pair of heads, or of features where each has its own weights."""
    n = min(longest(request), description.max_seq_len)
    each = ((one.n_layer, "weights" in one.contribution_roles, one.n_head) for one in description.attentions)
    return sum(layers * n**2 * (description.d_model if own else heads) ** 2 for layers, own, heads in each)


def longest(request: RouteRequest) -> int:
    """An upper bound on the number of tokens: each token of a text is at least a byte, and a picture fills the
    window."""
    asked = request.sentence
    if asked.pixels is not None:
        return sys.maxsize
    n = len(asked.token_ids or (asked.text or "").encode(errors="surrogatepass")) + request.pad.count + MARKS
    return max(n, len(request.target_ids or (request.target or "").encode(errors="surrogatepass")) + MARKS)


def route(plan: RunPlan, request: RouteRequest) -> Json:
    return {"rivers": [river(one, plan) for one in route_of(plan.traceable, plan.run)]}


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
    """Many shares are sent as float16, and without those that a causal mask makes zero."""
    if not sizes.are_many(plan):
        return plain(one, one.share, "float32") | {"packed": False}
    attention = plan.traceable.description.attention(one.attention)
    packed = sizes.is_lower(plan, attention)
    share = one.share.flatten(1)[:, lower(one.share.shape[-1])] if packed else one.share
    return plain(one, share, "float16") | {"packed": packed}


def lower(n: int) -> Tensor:
    """The flat indices of keys up to their query in [query key], query by query."""
    return torch.ones(n, n, dtype=torch.bool).tril().flatten().nonzero()[:, 0]


def plain(one: Flow, share: Tensor, dtype: Dtype) -> Json:
    return {
        "attention": one.attention,
        "queries": one.queries,
        "keys": one.keys,
        "share": in_json("share", share, dtype),
        "own": in_json("own", one.residual, "float32"),
    }
