"""A model's parameters, counted by part. A tied matrix counts once in `total`, and once per use in `untied_total`."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from chumoku.model.describe import parameters
from chumoku.model.positions import POSITIONS
from chumoku.model.transformer import Transformer

PARTS = {
    "embedding": "E",
    "positions": "positions",
    "gain": "LayerNorm",
    "bias": "LayerNorm",
    "unembedding": "unembedding",
    "b_unembedding": "unembedding",
}
"""The part that a parameter is counted with, by role; b_X is counted with W_X."""


@dataclass(frozen=True)
class Count:
    """One part of one stack. `stack` is None outside the stacks, `layer` outside the layers, `attention` (an id)
    outside the attentions.

    `tied`: the matrix was already counted elsewhere. `shapes`: the shapes of its tensors, e.g. W [out in] and b [out].
    """

    part: str
    stack: str | None
    layer: int | None
    attention: str | None
    shapes: list[list[int]]
    n: int
    tied: bool


@dataclass(frozen=True)
class Parameters:
    """`total`: the numbers that are stored and trained. `untied_total`: the count if nothing were tied.

    `position_table`: the shape [position d_model] of a sinusoid, which is computed and so not in either total.
    """

    counts: list[Count]
    total: int
    untied_total: int
    position_table: list[int] | None


def count_parameters(model: Transformer) -> Parameters:
    """Every parameter, once for each place where it is used, grouped by part."""
    seen: set[int] = set()
    groups: dict[tuple[str, str | None, int | None, str | None], list[tuple[nn.Parameter, bool]]] = {}
    for name, parameter in parameters(model.config).items():
        tensor = model.get_parameter(name)
        place = (part_of(parameter.role), parameter.stack, parameter.layer, parameter.attention)
        groups.setdefault(place, []).append((tensor, id(tensor) in seen))
        seen.add(id(tensor))
    counts = [
        Count(
            *place, [list(p.shape) for p, _ in members], sum(p.numel() for p, _ in members), all(t for _, t in members)
        )
        for place, members in groups.items()
    ]
    total = sum(p.numel() for p in model.parameters())
    config = model.config
    table = [config.max_seq_len, config.d_model] if POSITIONS[config.position].formula else None
    return Parameters(counts, total, sum(count.n for count in counts), table)


def part_of(role: str) -> str:
    if role in PARTS:
        return PARTS[role]
    return f"W_{role[2:].upper()}" if role.startswith(("w_", "b_")) else role
