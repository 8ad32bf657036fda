"""Position modules, which give a Transformer the order of its tokens.

Each maps position ids [batch position] to [batch position d_model], which is added to the embeddings. Rotary, relative
and ALiBi positions act on scores: they are mechanisms (`mechanisms/`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from chumoku.model.config import ModelConfig, PositionKind


def sinusoid(max_seq_len: int, d_model: int) -> Tensor:
    """The table PE of [position d_model], float32, computed in float64; an odd d_model ends with a sine."""
    pos = torch.arange(max_seq_len, dtype=torch.float64)[:, None]  # position 1
    two_i = torch.arange(0, d_model, 2, dtype=torch.float64)  # ⌈d_model/2⌉
    angle = pos * torch.exp(-math.log(10000.0) * two_i / d_model)  # position ⌈d_model/2⌉
    table = torch.empty(max_seq_len, d_model, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : d_model // 2]
    return table.float()


class PositionModule(nn.Module):
    """`parameter`: the name of its trained table [position d_model] in the module; None without one. `formula`: what
    computes its first rows [position d_model] from how many and d_model, also beyond the window; None without one."""

    parameter: ClassVar[str | None] = None
    formula: ClassVar[Callable[[int, int], Tensor] | None] = None

    def __init__(self, max_seq_len: int, d_model: int) -> None:
        super().__init__()


class LearnedPositions(PositionModule):
    """One trained vector for each position (Gehring et al. 2017; GPT, BERT)."""

    parameter: ClassVar[str | None] = "table.weight"

    def __init__(self, max_seq_len: int, d_model: int) -> None:
        super().__init__(max_seq_len, d_model)
        self.table = nn.Embedding(max_seq_len, d_model)

    def forward(self, position_ids: Tensor) -> Tensor:
        out: Tensor = self.table(position_ids)
        return out


class SinusoidalPositions(PositionModule):
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(…) (Vaswani et al. 2017, section 3.5)."""

    formula: ClassVar[Callable[[int, int], Tensor] | None] = staticmethod(sinusoid)
    table: Tensor

    def __init__(self, max_seq_len: int, d_model: int) -> None:
        super().__init__(max_seq_len, d_model)
        self.register_buffer("table", sinusoid(max_seq_len, d_model), persistent=False)

    def forward(self, position_ids: Tensor) -> Tensor:
        return self.table[position_ids]


class NoPositions(PositionModule):
    """Zeros: only the causal mask gives an order."""

    def __init__(self, max_seq_len: int, d_model: int) -> None:
        super().__init__(max_seq_len, d_model)
        self.d_model = d_model

    def forward(self, position_ids: Tensor) -> Tensor:
        return torch.zeros(*position_ids.shape, self.d_model, device=position_ids.device)


def positions_from(x: Tensor, start: int = 0) -> Tensor:
    """start, start + 1, …: int64 [1 position], for as many positions as `x` [batch position ..] has."""
    return torch.arange(start, start + x.shape[1], device=x.device)[None]


POSITIONS: dict[PositionKind, type[PositionModule]] = {
    "learned": LearnedPositions,
    "sinusoidal": SinusoidalPositions,
    "none": NoPositions,
}
"""A new kind is one class and one line here; `PositionKind` names it."""


def build_positions(config: ModelConfig) -> PositionModule:
    """The position module that `config.position` names."""
    return POSITIONS[config.position](config.max_seq_len, config.d_model)
