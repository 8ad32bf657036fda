"""A run's interventions as edits of taps: one edit per tap, composed in the order of the list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from chumoku.app.services.interventions.base import Kind, Site
from chumoku.model.interventions import Composed
from chumoku.model.taps import Edit


@dataclass(frozen=True)
class Edits:
    """`taps`: the edit of each tap. `looks_ahead`: whether an earlier query may see a later key because of them."""

    taps: dict[str, Edit]
    looks_ahead: bool = False


def edits_of(interventions: Sequence[Kind], site: Site) -> Edits:
    """Raises what the kinds raise: `unknown_attention`, `bad_layer`, `bad_head`, `bad_position`, …"""
    changes = [item.change(site, f"interventions[{index}]") for index, item in enumerate(interventions)]
    by_tap: defaultdict[str, list[Edit]] = defaultdict(list)
    for change in changes:
        by_tap[change.tap].append(change.edit)
    taps: dict[str, Edit] = {tap: Composed(applied) for tap, applied in by_tap.items()}
    return Edits(taps, any(change.looks_ahead for change in changes))
