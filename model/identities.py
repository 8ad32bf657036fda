"""Checks the identities of an attention (equations between its tensors) on a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add, mul

import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.describe import Attention
from chumoku.model.mechanisms.softmax import masked_softmax


@dataclass(frozen=True)
class Discrepancy:
    """How far a tensor of a trace is from what an identity gives: the largest difference, absolute and relative to the
    tensor's largest absolute value."""

    attention: str
    layer: int
    op: str
    gives: str
    absolute: float
    relative: float


TINY = torch.finfo(torch.float32).tiny


def scaled_row_product(q: Tensor, table: Tensor, rows: Tensor) -> Tensor:
    """q [head query d] times each pair's row of a table [row d]; `rows` [query key] → [head query key]"""
    return torch.einsum("hqd,qkd->hqk", q, table[rows.long()])


def feature_softmax(*of: Tensor) -> Tensor:
    """softmax over the keys of k plus a position bias, under a mask of reasons.

    `of`: a bias [query key] or [head query key] if there is one, k [head key d_head] or [head key], and a mask
    [head query key]. Returns [head query key d_head], or [head query key] if a key is one number. A row without an
    allowed key is zeros.
    """
    *bias, k, mask = of
    features = (*mask.shape, k.shape[-1]) if k.dim() == 3 else mask.shape
    logits = k[:, None].expand(features)
    forbidden = ~masks.allowed(mask)
    if bias:
        w = bias[0].expand(mask.shape)
        logits = logits + (w[..., None] if k.dim() == 3 else w)
    logits = logits.masked_fill(forbidden[..., None] if k.dim() == 3 else forbidden, -torch.inf)
    return logits.softmax(2).nan_to_num(0.0)


def rms_norm(attention: Attention, x: Tensor, gain: Tensor) -> Tensor:
    """x / √(mean(x²) + ε) · gain over the last dimension (Zhang and Sennrich 2019)."""
    return x * (x.square().mean(-1, keepdim=True) + (attention.norm_eps or 0.0)).rsqrt() * gain


Op = Callable[[Attention, list[Tensor]], Tensor]
OPS: dict[str, Op] = {
    "scaled_product": lambda attention, x: x[0] @ x[1].mT * (attention.scale or 1.0),
    "rms_norm": lambda attention, x: rms_norm(attention, *x),
    "masked_softmax": lambda _, x: masked_softmax(x[0], masks.allowed(x[1])),
    "weighted_sum": lambda _, x: x[0] @ x[1],
    "sum_heads": lambda _, x: reduce(add, x[1:], x[0].sum(0)),
    "scaled_row_product": lambda attention, x: scaled_row_product(*x) * (attention.scale or 1.0),
    "weighted_rows": lambda _, x: torch.einsum("hqk,qkd->hqd", x[0], x[1][x[2].long()]),
    "feature_softmax": lambda _, x: feature_softmax(*x),
    "feature_mean": lambda _, x: x[0].mean(-1),
    "feature_sum": lambda _, x: (x[0] * x[1][:, None]).sum(2),
    "quotient": lambda _, x: x[0] / (x[1] if x[1].dim() == x[0].dim() else x[1][..., None]).clamp(min=TINY),
    "softcap": lambda attention, x: (x[0] / (attention.softcap or 1.0)).tanh() * (attention.softcap or 1.0),
    "sigmoid": lambda _, x: x[0].sigmoid(),
    "product": lambda _, x: reduce(mul, x),
    "sum": lambda _, x: reduce(add, x),
}
"""The operations of identities. Tensors have no batch dimension."""


def discrepancies(
    attention: Attention, layer: int, tensors: Mapping[str, Tensor], parameter: Callable[[str], Tensor]
) -> Iterator[Discrepancy]:
    """One discrepancy for each identity of an attention, and for each role that is the sum of its parts.

    `tensors` are those of a trace, by tap; `parameter` returns a parameter by name. Raises `KeyError` for a missing
    tensor or an unknown operation.
    """
    claims = [(identity.op, identity.of, identity.gives) for identity in attention.identities]
    claims += [("sum", parts, role) for role, parts in attention.parts.items()]

    def tensor(role: str) -> Tensor:
        if role in attention.roles:
            x, group = tensors[attention.tap(role, layer)], attention.n_head // attention.n_kv_head
            return x.repeat_interleave(group, 0) if attention.roles[role].dims.startswith("kv_head") else x
        return parameter(attention.parameters[role][layer])

    for op, of, gives in claims:
        expected, found = OPS[op](attention, [tensor(role) for role in of]), tensor(gives)
        absolute = float((expected - found).abs().max())
        size = float(found.abs().max())
        yield Discrepancy(attention.id, layer, op, gives, absolute, absolute / size if size else absolute)
