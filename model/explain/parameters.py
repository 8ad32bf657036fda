"""Where a model's parameters are: counted by part, with a tied matrix once and as often as it is used."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch import nn

from model.transformer import Transformer

PARTS = (
    (r"token_embedding\.", "E"),
    (r"positions\.", "positions"),
    (r"attn\.w_q\.", "W_Q"),
    (r"attn\.w_k\.", "W_K"),
    (r"attn\.w_v\.", "W_V"),
    (r"attn\.w_o\.", "W_O"),
    (r"ffn\.w_1\.", "W_1"),
    (r"ffn\.w_2\.", "W_2"),
    (r"norm\.", "LayerNorm"),
    (r"unembedding\.", "unembedding"),
    (r"classifier\.", "classifier"),
)
"""How the name of a parameter tells its part; a matrix's bias is counted with it."""


@dataclass(frozen=True)
class Count:
    """One part of one stack (`stack`: "", "encoder", "decoder"; `layer` None: outside of the layers).

    `attention` tells an encoder-decoder's `cross_attn` from its `attn`. `tied`: the matrix is one that was counted
    before. `shapes` are those of its tensors, e.g. W [out in] and b [out].
    """

    part: str
    stack: str
    layer: int | None
    attention: str | None
    shapes: list[list[int]]
    n: int
    tied: bool


@dataclass(frozen=True)
class Parameters:
    """`total`: numbers that are stored and trained. `untied_total`: what the same shapes would hold without tying.

    `position_table`: a sinusoid's numbers [position d_model], which are computed, not trained: in neither total.
    """

    counts: list[Count]
    total: int
    untied_total: int
    position_table: list[int] | None


def count_parameters(model: Transformer) -> Parameters:
    """Every parameter once for each place it stands in, grouped by part; `ValueError` for one of no known part."""
    seen: set[int] = set()
    groups: dict[tuple[str, str, int | None, str | None], list[tuple[nn.Parameter, bool]]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        groups.setdefault(place_of(name), []).append((parameter, id(parameter) in seen))
        seen.add(id(parameter))
    counts = [
        Count(
            *place, [list(p.shape) for p, _ in members], sum(p.numel() for p, _ in members), all(t for _, t in members)
        )
        for place, members in groups.items()
    ]
    total = sum(p.numel() for p in model.parameters())
    table = next((x for name, x in model.named_buffers() if name.endswith("positions.table")), None)
    return Parameters(counts, total, sum(one.n for one in counts), None if table is None else list(table.shape))


def place_of(name: str) -> tuple[str, str, int | None, str | None]:
    """The part, stack, layer and attention that a parameter's name tells."""
    part = next((part for pattern, part in PARTS if re.search(pattern, name)), None)
    if part is None:
        raise ValueError(f"parameter {name} belongs to no known part of a model")
    stack = re.match(r"encoder|decoder", name)
    layer = re.search(r"layers\.(\d+)\.", name)
    attention = re.search(r"(cross_attn|attn)\.", name)
    return (
        part,
        stack[0] if stack else "",
        int(layer[1]) if layer else None,
        attention[1] if attention else None,
    )
