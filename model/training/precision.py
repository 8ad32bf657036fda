"""The precision of a run's matrix products: bfloat16 or float32, whichever trains faster on the machine at hand.

A CPU with bfloat16 units gains from it; on one without them it is about 20 times slower than float32.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, get_args

import torch
from torch import Tensor

Precision = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

TRIES = 2


def products_in(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """Matrix products in this precision; weights, softmax and loss stay in float32."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


def faster(loss: Callable[[Precision], Tensor], device: torch.device) -> tuple[Precision, dict[Precision, float]]:
    """The precision in which `loss(precision)` and its backward pass take less time, and the seconds of each.

    The best of a few tries each, after one that is not counted (it allocates). Takes no random number from the run:
    torch's generator is put back.
    """
    with torch.random.fork_rng(devices=[]):
        seconds = {
            precision: min(seconds_of(loss, precision, device) for _ in range(TRIES + 1)) for precision in PRECISIONS
        }
    return min(PRECISIONS, key=lambda precision: seconds[precision]), seconds


def seconds_of(loss: Callable[[Precision], Tensor], precision: Precision, device: torch.device) -> float:
    start = time.perf_counter()
    loss(precision).backward()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start
