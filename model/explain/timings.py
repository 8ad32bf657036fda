"""How long one layer's attention takes on this machine, in every mechanism, by the number of tokens.

Measured is what `mechanisms/cost.py` counts: from random q, k and v to the result, under the causal mask, without the
projections. Tables of positions are random and as long as needed. What is made only to be seen is not made: the
weights of AFT. Those of softmax are part of its computation; `sdpa`, torch's fused kernel, does without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor
from torch.nn import functional as F

from model import masks, stopping
from model.mechanisms.aft import AftFull
from model.mechanisms.relative import RelativeAttention
from model.mechanisms.rotary import RotaryAttention
from model.mechanisms.running import running_mean
from model.mechanisms.softmax import MultiHeadAttention
from model.mechanisms.wkv import recurrent

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
MOST_BYTES = 2**29
MOST_SECONDS = 2.0
"""A form that is expected to take longer is not run."""
ENOUGH_SECONDS, ENOUGH_RUNS = 0.1, 5
"""After as many of either, the best run counts."""

Run = Callable[[], object]


@dataclass(frozen=True)
class Inputs:
    """q, k and v [1 head T d_head], and what the window, the tables and the recurrence need."""

    q: Tensor
    k: Tensor
    v: Tensor
    s: int
    rank: int

    @property
    def n(self) -> int:
        return self.q.shape[-2]

    @property
    def n_head(self) -> int:
        return self.q.shape[1]

    @property
    def d_head(self) -> int:
        return self.q.shape[-1]

    @property
    def mask(self) -> Tensor:
        return masks.causal(self.n, self.n, self.q.device)[None, None]

    @property
    def positions(self) -> Tensor:
        return torch.arange(self.n, device=self.q.device)[None]

    def random(self, *shape: int) -> Tensor:
        return 0.1 * torch.randn(*shape, device=self.q.device)

    @property
    def heads(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """One after the other, so that one matrix of weights is held at once."""
        for head in zip(*(x.split(1, dim=1) for x in (self.q, self.k, self.v)), strict=True):
            stopping.check()
            yield head

    @property
    def flat(self) -> tuple[Tensor, Tensor, Tensor]:
        """For a form that knows no heads: [1 1 T d_model]."""
        q, k, v = (x.transpose(1, 2).flatten(-2)[:, None].contiguous() for x in (self.q, self.k, self.v))
        return q, k, v


def softmax(x: Inputs) -> Run:
    mixer, mask = MultiHeadAttention(x.d_head, 1).eval(), x.mask
    return lambda: [mixer.attend(q, k, v, mask) for q, k, v in x.heads]


def sdpa(x: Inputs) -> Run:
    return lambda: F.scaled_dot_product_attention(x.q, x.k, x.v, is_causal=True)


def relative(x: Inputs) -> Run:
    mixer, mask, at = RelativeAttention(x.d_head, 1, x.s).eval().to(x.q.device), x.mask, x.positions
    return lambda: [mixer.attend_at(q, k, v, mask, at, at) for q, k, v in x.heads]


def rotary(x: Inputs) -> Run:
    mixer, mask, at = RotaryAttention(x.d_head, 1).eval(), x.mask, x.positions
    return lambda: [mixer.attend_at(q, k, v, mask, at, at) for q, k, v in x.heads]


def aft_full(x: Inputs) -> Run:
    mixer, mask, at, (q, k, v) = AftFull(1, 1, x.n, x.rank).eval().to(x.q.device), x.mask, x.positions, x.flat
    mixer.fuse()
    return lambda: q.sigmoid() * mixer.mix(k, v, at, at, mask)


def aft_local(x: Inputs) -> Run:
    (q, k, v), n = x.flat, x.n
    by_query, by_key = x.random(n, x.rank), x.random(n, x.rank)

    def window() -> Iterator[Tensor]:
        for distance in range(min(x.s, n)):
            yield (by_query[distance:] * by_key[: n - distance]).sum(-1, keepdim=True)

    return lambda: q.sigmoid() * running_mean(k, v, window())


def aft_conv(x: Inputs) -> Run:
    k, kernel = x.k[..., :1].contiguous(), x.random(min(x.s, x.n), x.n_head, 1, 1)
    return lambda: x.q.sigmoid() * running_mean(k, x.v, kernel)


def aft_simple(x: Inputs) -> Run:
    return lambda: x.q.sigmoid() * running_mean(x.k, x.v)


def wkv(x: Inputs) -> Run:
    w, u = x.random(x.n_head, x.d_head).abs(), x.random(x.n_head, x.d_head)
    return lambda: x.q.sigmoid() * recurrent(x.k, x.v, w, u)


FORMS: dict[str, Callable[[Inputs], Run]] = {
    "softmax": softmax,
    "sdpa": sdpa,
    "relative": relative,
    "rotary": rotary,
    "aft-full": aft_full,
    "aft-local": aft_local,
    "aft-conv": aft_conv,
    "aft-simple": aft_simple,
    "wkv": wkv,
}
SQUARES = {"softmax": 6, "relative": 12, "rotary": 6, "aft-full": 6}
"""How many matrices of T × T float32 a form holds at most."""


@dataclass(frozen=True)
class Timing:
    """`seconds` of the best run; None for a form that is not run at this length, and `why`: "memory" or "time"."""

    form: str
    n: int
    seconds: float | None
    why: str | None = None


class Timings:
    """Every form at every length, the short ones first; each is measured when it is asked for."""

    def __init__(self, sizes: Mapping[str, int], device: torch.device) -> None:
        self.sizes, self.device = sizes, device
        self.last: dict[str, Timing] = {}
        turns_pairs = sizes["d"] // sizes["h"] % 2 == 0
        self.forms = [form for form in FORMS if form != "rotary" or turns_pairs]
        self.left = [(form, n) for n in LENGTHS for form in self.forms]

    def step(self) -> Timing | None:
        """The next one; None when all are measured."""
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


def best(run: Run, device: torch.device) -> float:
    """Seconds of the fastest of several runs; the first one only warms up, unless it is enough."""
    seconds = [timed(run, device)]
    while len(seconds) < 2 or (len(seconds) < ENOUGH_RUNS and sum(seconds) < ENOUGH_SECONDS):
        if seconds[0] > ENOUGH_SECONDS:
            break
        stopping.check()
        seconds.append(timed(run, device))
    return min(seconds)


def timed(run: Run, device: torch.device) -> float:
    began = perf_counter()
    run()
    if device.type != "cpu":
        getattr(torch, device.type).synchronize()
    return perf_counter() - began
