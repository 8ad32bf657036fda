"""The lines of this package that compute a formula, read from the running files: never a copy."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from chumoku.model import masks, sampling
from chumoku.model.block import FeedForward, PostNormResidual, PreNormResidual, ResPostNormResidual
from chumoku.model.mechanisms.softmax import MultiHeadAttention, masked_softmax
from chumoku.model.positions import LearnedPositions, SinusoidalPositions, sinusoid
from chumoku.model.stack import BlockStack

ROOT = Path(__file__).resolve().parent.parent  # a checkout links to this folder
SOURCES: dict[str, Callable[..., Any]] = {
    "attend": MultiHeadAttention.attend,
    "masked_softmax": masked_softmax,
    "project": MultiHeadAttention.project,
    "split_heads": MultiHeadAttention.split_heads,
    "project_heads": MultiHeadAttention.project_heads,
    "attention": MultiHeadAttention.forward,
    "causal": masks.causal,
    "padding": masks.padding,
    "position_ids": masks.position_ids,
    "cross_mask": masks.cross_mask,
    "learned_positions": LearnedPositions.forward,
    "sinusoidal_positions": SinusoidalPositions.forward,
    "sinusoid": sinusoid,
    "embed": BlockStack.embed,
    "pre_norm": PreNormResidual.forward,
    "post_norm": PostNormResidual.forward,
    "res_post_norm": ResPostNormResidual.forward,
    "feed_forward": FeedForward.forward,
    "distribution": sampling.distribution,
    "draw": sampling.draw,
}


@dataclass(frozen=True)
class SourceCode:
    """Where a function is defined, and its lines without their common indentation."""

    name: str
    object: str
    file: str
    line: int
    code: str


@cache
def source(name: str) -> SourceCode:
    """The lines of one of `SOURCES`. Raises `KeyError` for another name."""
    function = SOURCES[name]
    lines, first = inspect.getsourcelines(function)
    path = Path(inspect.getsourcefile(function) or "").resolve()
    return SourceCode(
        name,
        function.__qualname__,
        path.relative_to(ROOT).as_posix(),
        first,
        textwrap.dedent("".join(lines)),
    )
