"""What one layer's attention costs, as sums of products of shapes: each mechanism says its own.

Counted are multiplications (divisions included) and numbers held at once, for T tokens in one pass under the causal
mask, between the projections: those are 4Td² in every form. A factor is a whole number or a symbol:

    T  tokens                      d  d_model                       h  heads
    s  reach of the window         r  rank of u and v               c  rows of the relative tables, 2s + 1
    d_k  d_model / heads
    2T−1  distances                near  pairs 0 ≤ t − i < s
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Growth = Literal["1", "T"]


@dataclass(frozen=True)
class Term:
    """One product. `what` names it for people: a word of the page."""

    what: str
    of: tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    """`time` and `space` are the orders of growth; `steps` are those that must follow each other, and `path` is the
    number of them between two tokens far apart. `skewed` are those of the numbers that the skew holds, and `naive` what
    the formula as it is written would hold in their place."""

    multiplications: tuple[Term, ...]
    numbers: tuple[Term, ...]
    time: str
    space: str
    steps: Growth
    path: Growth
    skewed: tuple[Term, ...] = ()
    naive: tuple[Term, ...] = ()


INPUTS = Term("inputs", ("4", "T", "d"))
"""q (or what gates), k, v and the result: held in every form."""
QUOTIENT, GATE = Term("quotient", ("T", "d")), Term("gate", ("T", "d"))


def sizes(d_model: int, n_head: int, reach: int = 16, rank: int = 32) -> dict[str, int]:
    """The symbols that do not depend on T, for a layer of this shape."""
    return {"d": d_model, "h": n_head, "s": reach, "r": rank, "c": 2 * reach + 1, "d_k": d_model // n_head}
