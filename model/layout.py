"""The memory layout of a model's matrices once they are only read."""

from __future__ import annotations

from torch import nn

from chumoku.model.mechanisms import Mixer


def lay_out_for_reading(model: nn.Module) -> None:
    """Let mixers arrange their matrices; make all others contiguous along their longer side. Shapes and values stay.

    A single token is one row times each matrix: nearly all the time goes into reading the matrices, and the CPU's BLAS
    reads short rows at a third of the speed of long ones (W [4096 256]: 0.45 ms, as its transpose 0.15 ms).
    """
    for module in model.modules():
        if isinstance(module, Mixer):
            module.lay_out_for_reading()
        elif isinstance(module, nn.Linear) and module.weight.is_contiguous() and wide(module):
            module.weight.data = module.weight.data.T.contiguous().T


def wide(linear: nn.Linear) -> bool:
    return linear.out_features >= linear.in_features
