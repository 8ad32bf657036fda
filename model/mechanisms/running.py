"""The forms of AFT whose time grows with T, under the causal mask: running sums over all keys, corrected in a window.

They are what `cost.py` counts. Models train and are traced in other forms, which give the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor


def running_mean(k: Tensor, v: Tensor, window: Iterable[Tensor] = ()) -> Tensor:
    """Σ_i exp(w_ti + k_i) v_i / Σ_i exp(w_ti + k_i) over i ≤ t: [.. position feature].

    k [.. position 1|feature], v [.. position feature]. `window` yields w for the distances 0, 1, …, each
    [.. T − distance 1]: beyond it w is 0. Exponentials are divided by the largest, so keys
    must lie within 80 of it.
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
