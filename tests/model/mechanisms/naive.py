"""Each mechanism once more: loops over positions, in float64, straight from its paper's formula.

Every function takes a mixer, its input x [position d_model] and which keys a query may attend to, bool [query key],
and returns `attn_out` [position d_model]. None of them shares a line with the mixers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def linear(layer: Any, x: Tensor) -> Tensor:
    return x @ layer.weight.T + (0 if layer.bias is None else layer.bias)


def heads_of(mixer: Any, x: Tensor) -> list[slice]:
    width = x.shape[-1] // mixer.n_head
    return [slice(h * width, (h + 1) * width) for h in range(mixer.n_head)]


def clip(distance: int, n: int) -> int:
    return max(-n, min(n, distance))


def softmax_rows(e: dict[int, Tensor]) -> dict[int, Tensor]:
    total = sum(x.exp() for x in e.values())
    return {j: x.exp() / total for j, x in e.items()}


def softmax(mixer: Any, x: Tensor, allowed: Tensor) -> Tensor:
    """Vaswani et al. 2017, equation 1, head by head."""
    q, k, v = (linear(w, x) for w in (mixer.w_q, mixer.w_k, mixer.w_v))
    z = torch.zeros_like(q)
    for head in heads_of(mixer, x):
        for i in range(len(x)):
            e = {j: q[i, head] @ k[j, head] / (head.stop - head.start) ** 0.5 for j in range(len(x)) if allowed[i, j]}
            for j, alpha in softmax_rows(e).items():
                z[i, head] += alpha * v[j, head]
    return linear(mixer.w_o, z)


def relative(mixer: Any, x: Tensor, allowed: Tensor) -> Tensor:
    """Shaw et al. 2018, equations 3 and 4."""
    q, k, v = (linear(w, x) for w in (mixer.w_q, mixer.w_k, mixer.w_v))
    z = torch.zeros_like(q)
    for head in heads_of(mixer, x):
        for i in range(len(x)):
            e = {}
            for j in range(len(x)):
                if allowed[i, j]:
                    a = mixer.table_k[clip(j - i, mixer.n) + mixer.n]
                    e[j] = q[i, head] @ (k[j, head] + a) / (head.stop - head.start) ** 0.5
            for j, alpha in softmax_rows(e).items():
                z[i, head] += alpha * (v[j, head] + mixer.table_v[clip(j - i, mixer.n) + mixer.n])
    return linear(mixer.w_o, z)


def turned(x: Tensor, position: int) -> Tensor:
    """Su et al. 2021, equation 15, with the pairs (i, i + d/2)."""
    half = len(x) // 2
    out = x.clone()
    for i in range(half):
        angle = torch.tensor(position * 10000 ** (-2 * i / len(x)), dtype=x.dtype)
        out[i] = x[i] * angle.cos() - x[i + half] * angle.sin()
        out[i + half] = x[i] * angle.sin() + x[i + half] * angle.cos()
    return out


def rotary(mixer: Any, x: Tensor, allowed: Tensor) -> Tensor:
    q, k, v = (linear(w, x) for w in (mixer.w_q, mixer.w_k, mixer.w_v))
    z = torch.zeros_like(q)
    for head in heads_of(mixer, x):
        for i in range(len(x)):
            e = {
                j: turned(q[i, head], i) @ turned(k[j, head], j) / (head.stop - head.start) ** 0.5
                for j in range(len(x))
                if allowed[i, j]
            }
            for j, alpha in softmax_rows(e).items():
                z[i, head] += alpha * v[j, head]
    return linear(mixer.w_o, z)


def attention_free(bias: Callable[[Any, int, int, int], Any]) -> Callable[[Any, Tensor, Tensor], Tensor]:
    """Zhai et al. 2021, equation 2: `bias` is w_ti of a mixer for t, i and a feature."""

    def mix(mixer: Any, x: Tensor, allowed: Tensor) -> Tensor:
        q, k, v = (linear(w, x) for w in (mixer.w_q, mixer.w_k, mixer.w_v))
        features_per_key = x.shape[1] // k.shape[1]
        y = torch.zeros_like(q)
        for t in range(len(x)):
            for feature in range(x.shape[1]):
                numerator = denominator = torch.zeros((), dtype=x.dtype)
                for i in range(len(x)):
                    if allowed[t, i]:
                        term = (bias(mixer, t, i, feature) + k[i, feature // features_per_key]).exp()
                        numerator, denominator = numerator + term * v[i, feature], denominator + term
                y[t, feature] = q[t, feature].sigmoid() * numerator / denominator
        return linear(mixer.w_o, y)

    return mix


def full_bias(mixer: Any, t: int, i: int, feature: int) -> Tensor:
    return mixer.bias_query[t] @ mixer.bias_key[i]  # type: ignore[no-any-return]


def local_bias(mixer: Any, t: int, i: int, feature: int) -> Tensor:
    return full_bias(mixer, t, i, feature) if abs(t - i) < mixer.s else torch.zeros((), dtype=torch.float64)


def conv_bias(mixer: Any, t: int, i: int, feature: int) -> Tensor:
    head = feature // (mixer.w_q.out_features // mixer.n_head)
    if not 0 <= t - i < mixer.s:
        return torch.zeros((), dtype=torch.float64)
    w = mixer.kernel[head]
    variance = ((w - w.mean()) ** 2).mean()
    return mixer.gamma[head] * (w[t - i] - w.mean()) / variance.sqrt() + mixer.beta[head]


def wkv(mixer: Any, x: Tensor, allowed: Tensor) -> Tensor:
    """Peng et al. 2023, equations 11 to 16; `allowed` forbids nothing that comes earlier here."""
    before = torch.cat((torch.zeros_like(x[:1]), x[:-1]))
    r, k, v = (
        linear(w, mix * x + (1 - mix) * before)
        for w, mix in ((mixer.w_r, mixer.mix_r), (mixer.w_k, mixer.mix_k), (mixer.w_v, mixer.mix_v))
    )
    w, u = mixer.decay.exp(), mixer.bonus
    rows = []
    for t in range(len(x)):
        own = (u + k[t]).exp()
        numerator, denominator = own * v[t], own
        for i in range(t):
            term = (-(t - 1 - i) * w + k[i]).exp()
            numerator, denominator = numerator + term * v[i], denominator + term
        rows.append(r[t].sigmoid() * numerator / denominator)
    return linear(mixer.w_o, torch.stack(rows))


NAIVE: dict[str, Callable[[Any, Tensor, Tensor], Tensor]] = {
    "softmax": softmax,
    "relative": relative,
    "rotary": rotary,
    "aft-full": attention_free(full_bias),
    "aft-local": attention_free(local_bias),
    "aft-simple": attention_free(lambda *_: 0.0),
    "aft-conv": attention_free(conv_bias),
    "wkv": wkv,
}
