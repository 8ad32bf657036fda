"""Attention rollout (Abnar & Zuidema 2020): shares multiplied back from one position give the width of each line.

The chosen position has 1. Going down a sublayer, position k receives Σ_q passed[q] · share(q←k). What a decoder takes
from the source enters the encoder's stack at its top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from chumoku.model.attribution.norm_contributions import River


@dataclass(frozen=True, order=True)
class Edge:
    """An attention edge: one query attends to one key, in all heads of a layer of an attention (by id), or in one."""

    attention: str
    layer: int
    query: int
    key: int
    head: int | None = None

    @property
    def where(self) -> dict[str, str | int]:
        """What identifies it; all heads are not named."""
        return {name: part for name, part in vars(self).items() if part is not None}


def widths(rivers: Sequence[River], row: int) -> dict[str, Tensor]:
    """The width of every line by attention id, float64 [layer query key]: passed[q] · share(q←k).

    `row` is a position of the last stack, the one that predicts.
    """
    found = {flow.attention: torch.zeros_like(flow.share) for river in rivers for flow in river.flows}
    passed = {river.side: torch.zeros(river.flows[0].share.shape[1], dtype=torch.float64) for river in rivers}
    passed[rivers[-1].side][row] = 1.0
    for river in reversed(rivers):
        for layer in reversed(range(len(river.flows[0].share))):
            for flow in reversed(river.flows):
                width = found[flow.attention][layer] = passed[river.side][:, None] * flow.share[layer]
                if flow.keys == river.side:
                    passed[river.side] = width.sum(0)
                else:
                    passed[river.side] = passed[river.side] * flow.residual[layer]
                    passed[flow.keys] = passed[flow.keys] + width.sum(0)
    return found


def widest(rivers: Sequence[River], row: int, n: int) -> list[Edge]:
    """The `n` widest lines between different positions, widest first, without those of width 0."""
    found: list[tuple[float, Edge]] = []
    flows = {flow.attention: flow for river in rivers for flow in river.flows}
    for id, width in widths(rivers, row).items():
        to_itself = flows[id].queries == flows[id].keys
        moved = width - width.diagonal(dim1=1, dim2=2).diag_embed() if to_itself else width
        top = moved.flatten().topk(min(n, moved.numel()))
        for wide, at in zip(top.values.tolist(), top.indices.tolist(), strict=True):
            row, key = divmod(at, moved.shape[2])
            found += [(wide, Edge(id, *divmod(row, moved.shape[1]), key))] if wide else []
    return [edge for _, edge in sorted(found, key=lambda line: -line[0])[:n]]
