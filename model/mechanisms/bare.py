"""The bare arithmetic of every mechanism, from q, k and v to the result under the causal mask, to be timed.

Tables of positions are random and as long as needed. AFT's weights, which only a display needs, are not computed. The
weights of softmax are part of its computation; `sdpa`, torch's fused kernel, does without them. The forms of AFT that
are linear in T are running sums over all keys, corrected in a window, as `cost` counts them. Models train and are
traced in other forms, which give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model import masks, stopping
from chumoku.model.mechanisms.aft import AftFull
from chumoku.model.mechanisms.relative import RelativeAttention
from chumoku.model.mechanisms.rotary import RotaryAttention
from chumoku.model.mechanisms.softmax import MultiHeadAttention
from chumoku.model.mechanisms.wkv import recurrent


def running_mean(k: Tensor, v: Tensor, window: Iterable[Tensor] = ()) -> Tensor:
    """Σ_i exp(w_ti + k_i) v_i / Σ_i exp(w_ti + k_i) over i ≤ t: [.. position feature].

    k [.. position 1|feature], v [.. position feature]. `window` yields w for the distances 0, 1, …, each [.. T −
    distance 1]; beyond it w is 0. Exponentials are divided by that of the largest key, so all keys must lie within 80
    of it.
    """
    e_k = (k - k.amax(-2, keepdim=True)).exp()
    e_kv = e_k * v
    numerator, denominator = e_kv.cumsum(-2), e_k.cumsum(-2)
    n = k.shape[-2]
    for distance, w in enumerate(window):
        more = w.expm1()
        numerator[..., distance:, :] += more * e_kv[..., : n - distance, :]
        denominator[..., distance:, :] += more * e_k[..., : n - distance, :]
    return numerator / denominator


Computation = Callable[[], object]


@dataclass(frozen=True)
class Inputs:
    """q, k and v [1 head T d_head], the window s, and the rank of AFT's position bias."""

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
        """One head after the other, so that only one matrix of weights is in memory."""
        for head in zip(*(x.split(1, dim=1) for x in (self.q, self.k, self.v)), strict=True):
            stopping.check()
            yield head

    @property
    def flat(self) -> tuple[Tensor, Tensor, Tensor]:
        """q, k and v for a form without heads: [1 1 T d_model]."""
        q, k, v = (x.transpose(1, 2).flatten(-2)[:, None].contiguous() for x in (self.q, self.k, self.v))
        return q, k, v


def softmax(x: Inputs) -> Computation:
    mixer, mask = MultiHeadAttention(x.d_head, 1).eval(), x.mask
    return lambda: [mixer.attend(q, k, v, mask) for q, k, v in x.heads]


def sdpa(x: Inputs) -> Computation:
    return lambda: F.scaled_dot_product_attention(x.q, x.k, x.v, is_causal=True)


def relative(x: Inputs) -> Computation:
    mixer, mask, at = RelativeAttention(x.d_head, 1, x.s).eval().to(x.q.device), x.mask, x.positions
    return lambda: [mixer.attend_at(q, k, v, mask, at, at) for q, k, v in x.heads]


def rotary(x: Inputs) -> Computation:
    mixer, mask, at = RotaryAttention(x.d_head, 1).eval(), x.mask, x.positions
    return lambda: [mixer.attend_at(q, k, v, mask, at, at) for q, k, v in x.heads]


def aft_full(x: Inputs) -> Computation:
    mixer, mask, at, (q, k, v) = AftFull(1, 1, x.n, x.rank).eval().to(x.q.device), x.mask, x.positions, x.flat
    mixer.fuse()
    return lambda: q.sigmoid() * mixer.mix(k, v, at, at, mask)


def aft_local(x: Inputs) -> Computation:
    (q, k, v), n = x.flat, x.n
    by_query, by_key = x.random(n, x.rank), x.random(n, x.rank)

    def window() -> Iterator[Tensor]:
        for distance in range(min(x.s, n)):
            yield (by_query[distance:] * by_key[: n - distance]).sum(-1, keepdim=True)

    return lambda: q.sigmoid() * running_mean(k, v, window())


def aft_conv(x: Inputs) -> Computation:
    k, kernel = x.k[..., :1].contiguous(), x.random(min(x.s, x.n), x.n_head, 1, 1)
    return lambda: x.q.sigmoid() * running_mean(k, x.v, kernel)


def aft_simple(x: Inputs) -> Computation:
    return lambda: x.q.sigmoid() * running_mean(x.k, x.v)


def wkv(x: Inputs) -> Computation:
    w, u = x.random(x.n_head, x.d_head).abs(), x.random(x.n_head, x.d_head)
    return lambda: x.q.sigmoid() * recurrent(x.k, x.v, w, u)


FORMS: dict[str, Callable[[Inputs], Computation]] = {
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
"""The most T × T float32 matrices that a form holds at once."""
