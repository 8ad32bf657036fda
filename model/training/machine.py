"""How a run adapts to its machine: the precision of matrix products, freed memory, a full disk.

The precision is bfloat16 or float32, whichever trains faster: bfloat16 is faster on a CPU with units for it, and about
20 times slower than float32 on one without.
"""

from __future__ import annotations

import ctypes
import errno
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
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
    """The precision in which `loss(precision)` and its backward pass take less time, and the seconds for each.

    The best of a few tries counts; the first one is usually slower, because it allocates. Takes no random number from
    the run: torch's generator is restored.
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


M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # malloc.h
MOST = 2**31 - 1


def keep_freed_memory() -> bool:
    """Tell glibc's malloc to keep freed memory. Returns whether malloc accepted it.

    By default malloc maps every large tensor anew, and the kernel clears its pages, which is a third of a small model's
    training step.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return bool(mallopt and mallopt(M_MMAP_MAX, 0) and mallopt(M_TRIM_THRESHOLD, MOST))


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def when_there_is_space(
    save: Callable[[], None], path: Path, gives_up: Callable[[], bool], tell: Callable[[str], None]
) -> None:
    """Call `save` until it succeeds, and say once if the disk is full. Raises its `OSError` once `gives_up` returns
    True, and any other error at once."""
    told = False
    while True:
        try:
            return save()
        except OSError as error:
            if error.errno not in NO_ROOM or gives_up():
                raise
            if not told:
                tell(f"{unwritten(path, error)}: the run waits for space; Ctrl+C ends it")
            told = True
        pause(gives_up)


def pause(gives_up: Callable[[], bool], seconds: int = 10) -> None:
    """Wait before the next try, which writes the whole state. A signal does not shorten a sleep of one second; it is
    noticed after it."""
    for _ in range(seconds):
        if not gives_up():
            time.sleep(1)


def unwritten(path: Path, error: OSError) -> str:
    return f"{path} cannot be written ({error.strerror})"
