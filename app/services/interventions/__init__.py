"""The interventions of a request, checked against the model, one class per kind. The arithmetic is in
`model/interventions.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from chumoku.app.services.interventions.kinds import Ablate, EditMask, Patch
from chumoku.app.services.interventions.site import Kind, Site
from chumoku.app.services.interventions.whole import FreezeNorms, OmitPositions, OmitScale, Temperature, Window
from chumoku.model.interventions import Composed, FrozenNorm
from chumoku.model.taps import Edit

Intervention = Annotated[
    Ablate | EditMask | Patch | OmitPositions | OmitScale | Temperature | Window | FreezeNorms,
    Field(discriminator="kind"),
]


@dataclass(frozen=True)
class Edits:
    """`taps`: the edit of each tap. `looks_ahead`: whether an earlier query may see a later key because of them."""

    taps: dict[str, Edit]
    looks_ahead: bool = False


def edits_of(interventions: Sequence[Kind], site: Site) -> Edits:
    """Raises what the kinds raise: `unknown_attention`, `bad_layer`, `bad_head`, `bad_position`, …"""
    changes = [
        change for index, item in enumerate(interventions) for change in item.changes(site, f"interventions[{index}]")
    ]
    changes.sort(key=lambda change: not isinstance(change.edit, FrozenNorm))  # how a norm computes, before its output
    by_tap: defaultdict[str, list[Edit]] = defaultdict(list)
    for change in changes:
        for tap in change.taps:
            by_tap[tap].append(change.edit)
    taps: dict[str, Edit] = {tap: Composed(applied) for tap, applied in by_tap.items()}
    return Edits(taps, any(change.looks_ahead for change in changes))
