"""What the tests of this room share: sentences for a model of any family, and every family in every norm order."""

from __future__ import annotations

from typing import Any

import pytest

from model.checkpoint import Checkpoint
from tests.model.helpers import FAMILIES, NORM_ORDERS, tiny_checkpoint

SOURCE = list(b"attention")
TARGET = list(b"looks")
EVERY_KIND = [pytest.param(family, order, id=f"{family}-{order}") for family in FAMILIES for order in NORM_ORDERS]


def a_model(family: str, order: str, **changes: Any) -> Checkpoint:
    return tiny_checkpoint(family, norm_order=order, **changes)


def options(checkpoint: Checkpoint) -> dict[str, Any]:
    """What `trace` needs beside a sentence."""
    return {"target": TARGET} if checkpoint.config.family == "encoder-decoder" else {}
