"""Few combinations in which every two values of different axes meet, for `pytest.mark.parametrize`.

Where each of several choices is code of its own, a mistake needs one of them, or two that meet. Three axes of three
values have 27 combinations and 9 or so of these.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations, product
from typing import Any

Choice = tuple[Any, ...]


def pairwise(*axes: Iterable[Any]) -> list[Choice]:
    """One value of each axis in every combination; always the same ones."""
    # The value's place stands for it: a value need not be hashable.
    values = [list(axis) for axis in axes]
    every = list(product(*(range(len(axis)) for axis in values)))
    missing = {pair for one in every for pair in pairs(one)}
    chosen = []
    while missing:
        best = max(every, key=lambda one: sum(pair in missing for pair in pairs(one)))
        missing.difference_update(pairs(best))
        chosen.append(tuple(axis[at] for axis, at in zip(values, best, strict=True)))
    return chosen


def pairs(one: Choice) -> Iterator[tuple[Choice, ...]]:
    return combinations(enumerate(one), 2)
