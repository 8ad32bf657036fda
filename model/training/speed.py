"""How long a training step's forward and backward pass take beside those of the model that it was trained like, as
stored on its card. (The optimiser's part depends on the number of parameters alone.)"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import Tensor

from chumoku.model.evaluate import trained_mask
from chumoku.model.mechanisms import fuse_attention
from chumoku.model.training.card import hardware
from chumoku.model.training.loss import cross_entropy
from chumoku.model.training.precision import Precision, faster, products_in, seconds_of
from chumoku.model.training.presets import PRESETS, Preset
from chumoku.model.transformer import build

ROUNDS = 15
"""Steps of each model, in turn. The median of each and of the pairs' ratios counts: a machine that changes its speed
changes it for both steps of a pair, and the shortest step of one would be compared with another moment's."""


def speed_beside(preset: Preset, device: torch.device) -> dict[str, Any]:
    """Seconds of a forward and a backward pass over one batch of the training's size, of a preset and of its baseline.

    Each with random weights and random tokens, fused as in training, and in whichever precision is faster for it.
    `times`: how many times as long as the baseline's, the median over pairs of steps. Raises `ValueError` for a preset
    without another as baseline.
    """
    if preset.baseline in (None, preset.name):
        raise ValueError(
            f"{preset.name} was not trained like another model, beside which its speed would say something"
        )
    with torch.random.fork_rng(devices=[]):
        ours, theirs = (loss_of(one, device) for one in (preset, PRESETS[str(preset.baseline)]))
        chosen = [(loss, faster(loss, device)[0]) for loss in (ours, theirs)]
        rounds = [[seconds_of(loss, precision, device) for loss, precision in chosen] for _ in range(ROUNDS)]
    seconds, of_baseline = (median(column) for column in zip(*rounds, strict=True))
    return {
        "like": preset.baseline,
        "times": round(median(ours / theirs for ours, theirs in rounds), 2),
        "seconds": round(seconds, 3),
        "seconds_of_baseline": round(of_baseline, 3),
        "tokens": preset.batch_size * preset.config.max_seq_len,
        "precision": chosen[0][1],
        "precision_of_baseline": chosen[1][1],
        "hardware": f"{hardware(device)}, {threads(device)}",
    }


def loss_of(preset: Preset, device: torch.device) -> Callable[[Precision], Tensor]:
    """The loss of a new model on random tokens, anew with each call: what a step spends its time on."""
    config = preset.config
    model = build(config).to(device).train()
    fuse_attention(model, config.max_seq_len)
    ids = torch.randint(config.vocab_size, (preset.batch_size, config.max_seq_len + 1), device=device)
    mask = trained_mask(config, config.max_seq_len, device)

    def loss(precision: Precision) -> Tensor:
        model.zero_grad()
        with products_in(precision, device):
            logits = model(ids[:, :-1], mask)  # batch position vocab
        return cross_entropy(logits, ids[:, 1:], preset.label_smoothing, preset.smoothing_form)

    return loss


def threads(device: torch.device) -> str:
    n = torch.get_num_threads() if device.type == "cpu" else 1
    return f"{n} thread{'s' * (n > 1)}"
