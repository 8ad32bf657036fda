"""How long one layer's attention takes on this machine, in every mechanism, by the number of tokens.

It measures what `Cost` counts (`mechanisms/mixer.py`), in the forms of `mechanisms/bare.py`, from random q, k and v.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import torch

from chumoku.model import stopping
from chumoku.model.mechanisms.bare import FORMS, SQUARES, Computation, Inputs

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
MOST_BYTES = 2**29
MOST_SECONDS = 2.0
"""A form that is expected to take longer is skipped."""
ENOUGH_SECONDS, ENOUGH_RUNS = 0.1, 5
"""A measurement ends after this many of either; the best run counts."""


@dataclass(frozen=True)
class Timing:
    """`seconds` of the best run. None if the form was skipped at this length; then `why` is "memory" or "time"."""

    form: str
    n: int
    seconds: float | None
    why: str | None = None


class Timings:
    """Every form at every length, short lengths first; each is measured on request."""

    def __init__(self, sizes: Mapping[str, int], device: torch.device) -> None:
        self.sizes, self.device = sizes, device
        self.last: dict[str, Timing] = {}
        turns_pairs = sizes["d"] // sizes["h"] % 2 == 0
        self.forms = [form for form in FORMS if form != "rotary" or turns_pairs]
        self.left = [(form, n) for n in LENGTHS for form in self.forms]

    def step(self) -> Timing | None:
        """The next measurement; None when all are done."""
        if not self.left:
            return None
        form, n = self.left.pop(0)
        self.last[form] = measured = self._measure(form, n)
        return measured

    def _measure(self, form: str, n: int) -> Timing:
        before = self.last.get(form)
        if before is not None and before.seconds is None:
            return Timing(form, n, None, before.why)
        if self._bytes(form, n) > MOST_BYTES:
            return Timing(form, n, None, "memory")
        if before is not None and before.seconds is not None and 4 * before.seconds > MOST_SECONDS:
            return Timing(form, n, None, "time")
        with torch.inference_mode():
            return Timing(form, n, best(FORMS[form](self._inputs(n)), self.device))

    def _bytes(self, form: str, n: int) -> int:
        return 4 * (SQUARES.get(form, 0) * n * n + 16 * n * self.sizes["d"])

    def _inputs(self, n: int) -> Inputs:
        d, h = self.sizes["d"], self.sizes["h"]
        q, k, v = torch.randn(3, 1, h, n, d // h, device=self.device)
        return Inputs(q, k, v, self.sizes["s"], self.sizes["r"])


def best(run: Computation, device: torch.device) -> float:
    """Seconds of the fastest of several runs. The first run only warms up, unless it alone takes long enough."""
    seconds = [timed(run, device)]
    while len(seconds) < 2 or (len(seconds) < ENOUGH_RUNS and sum(seconds) < ENOUGH_SECONDS):
        if seconds[0] > ENOUGH_SECONDS:
            break
        stopping.check()
        seconds.append(timed(run, device))
    return min(seconds)


def timed(run: Computation, device: torch.device) -> float:
    began = perf_counter()
    run()
    if device.type != "cpu":
        getattr(torch, device.type).synchronize()
    return perf_counter() - began
