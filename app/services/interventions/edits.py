"""A run's interventions as edits of taps: one edit per tap, composed in the order of the list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from chumoku.app.services.interventions.base import Apply, Kind, Site
from chumoku.model.taps import Edit


@dataclass(frozen=True)
class Edits:
    """`taps`: the edit of each tap. `looks_ahead`: whether an earlier query may see a later key because of them."""

    taps: dict[str, Edit]
    looks_ahead: bool = False


def edits_of(interventions: Sequence[Kind], site: Site) -> Edits:
    """Raises what the kinds raise: `unknown_attention`, `bad_layer`, `bad_head`, `bad_position`, …"""
    changes = [item.change(site, f"interventions[{index}]") for index, item in enumerate(interventions)]
    by_tap: defaultdict[str, list[Apply]] = defaultdict(list)
    for change in changes:
        by_tap[change.tap].append(change.apply)
    taps: dict[str, Edit] = {tap: Composed(applied) for tap, applied in by_tap.items()}
    return Edits(taps, any(change.looks_ahead for change in changes))


class Composed:
    """Several changes of one tap as one edit: each gets the result of the one before."""

    def __init__(self, changes: Sequence[Apply]) -> None:
        self.changes = changes

    def __call__(self, x: Tensor, first_query: int = 0) -> Tensor:
        x = x.clone(memory_format=torch.contiguous_format)  # one mask was broadcast over all heads
        for change in self.changes:
            x = change(x, first_query)
        return x
