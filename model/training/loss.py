"""Cross-entropy with label smoothing (Szegedy et al. 2016)."""

from __future__ import annotations

from typing import Literal

from torch import Tensor
from torch.nn import functional

SmoothingForm = Literal["all", "others"]
"""Where the mass ε goes: ε/K to all K classes, the right one too (Szegedy et al., torch), or ε/(K−1) to the others."""


def cross_entropy(
    logits: Tensor, targets: Tensor, smoothing: float = 0.0, form: SmoothingForm = "all", ignore_id: int = -1
) -> Tensor:
    """Mean of −Σ_k q(k) ln p(k), in nats. logits [... class], targets int64 [...]; `ignore_id` does not count.

    q(target) = 1 − ε + ε/K and q(k) = ε/K elsewhere ("all"), or 1 − ε and ε/(K−1) ("others").
    """
    if form == "all" or not smoothing:
        flat = logits.float().flatten(0, -2)  # position class
        return functional.cross_entropy(flat, targets.flatten(), ignore_index=ignore_id, label_smoothing=smoothing)
    counted = targets != ignore_id
    log_p = logits[counted].float().log_softmax(-1)  # counted class
    right = log_p.gather(-1, targets[counted, None])[:, 0]
    others = log_p.sum(-1) - right
    return -((1 - smoothing) * right + smoothing / (log_p.shape[-1] - 1) * others).mean()
