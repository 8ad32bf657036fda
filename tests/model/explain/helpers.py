"""Shared by the tests of explain/ and attribution/: sentences for a model of any family, every family in every norm
order, and runs under every mask."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.trace import Masks, Padding
from tests.model.helpers import FAMILIES, NORM_ORDERS, tiny_checkpoint

SOURCE = list(b"attention")
TARGET = list(b"looks")
EVERY_KIND = [pytest.param(family, order, id=f"{family}-{order}") for family in FAMILIES for order in NORM_ORDERS]

RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "left": {"pad": Padding(2, "left")},
    "right": {"pad": Padding(2, "right")},
    "pads count": {"pad": Padding(2, "left", follow=False), "use": Masks(padding=False)},
    "both ways": {"use": Masks(causal=False)},
}
every_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


def a_model(family: str, order: str, **changes: Any) -> Checkpoint:
    return tiny_checkpoint(family, norm_order=order, **changes)


def sampled(checkpoint: Checkpoint, logits: Tensor) -> Tensor:
    """Logits without PAD and START, whose ids come last. A classifier's are unchanged."""
    last = -1 if checkpoint.config.family == "decoder-only" else -2
    return logits if checkpoint.config.family == "encoder-only" else logits[..., :last]


def favoured(checkpoint: Checkpoint) -> Checkpoint:
    """The same model, changed so that PAD and START have by far the largest logits."""
    with torch.no_grad():
        last = checkpoint.model.unembedding.weight[-2:]
        last.copy_(torch.randn(last.shape, generator=torch.Generator().manual_seed(0)) * 9)
    return checkpoint


def options(checkpoint: Checkpoint) -> dict[str, Any]:
    """The arguments of `trace` besides a sentence."""
    return {"target": TARGET} if checkpoint.config.family == "encoder-decoder" else {}
