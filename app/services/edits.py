"""Interventions: what a request changes while the model runs, as edits on taps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor

from app.errors import AppError
from app.schemas import AblateHead, EditMask
from model.config import ModelConfig
from model.masks import EDITED
from model.taps import Edit


def edits_of(interventions: Sequence[AblateHead | EditMask], config: ModelConfig, seq_len: int) -> dict[str, Edit]:
    """One edit for each tap that the interventions touch.

    Raises `bad_layer`, `bad_head` and `bad_position` for indices that the model or the sentence does not have.
    """
    heads: defaultdict[int, list[int]] = defaultdict(list)
    cells: defaultdict[int, list[EditMask]] = defaultdict(list)
    for index, item in enumerate(interventions):
        where = f"interventions[{index}]"
        check_index("layer", item.layer, config.n_layer, f"{where}.layer")
        check_index("head", item.head, config.n_head, f"{where}.head")
        if isinstance(item, AblateHead):
            heads[item.layer].append(item.head)
        else:
            check_index("position", item.query, seq_len, f"{where}.query")
            check_index("position", item.key, seq_len, f"{where}.key")
            cells[item.layer].append(item)
    return {
        **{f"layers.{layer}.attn.z": ablate(which) for layer, which in heads.items()},
        **{f"layers.{layer}.attn.mask": edit_mask(which) for layer, which in cells.items()},
    }


def check_index(what: str, index: int, count: int, where: str) -> None:
    """Raise `bad_<what>` unless 0 ≤ index < count."""
    if not 0 <= index < count:
        message = f"There is no {what} {index}: {what}s run from 0 to {count - 1}."
        hint = f"Take a {what} from 0 to {count - 1}."
        raise AppError(f"bad_{what}", message, hint, where=where, got=index, limit=count - 1)


def ablate(heads: Sequence[int]) -> Edit:
    """z of these heads becomes 0: [batch head position d_head]."""

    def edit(z: Tensor) -> Tensor:
        z = z.clone()
        z[:, list(heads)] = 0.0
        return z

    return edit


def edit_mask(cells: Sequence[EditMask]) -> Edit:
    """Set the reasons of these cells, the last word on a cell standing: uint8 [batch head query key]."""

    def edit(reasons: Tensor) -> Tensor:
        reasons = reasons.clone(memory_format=torch.contiguous_format)  # one mask was spread over all heads
        for cell in cells:
            at = reasons[:, cell.head, cell.query, cell.key]
            reasons[:, cell.head, cell.query, cell.key] = at & 0 if cell.allow else at | EDITED
        return reasons

    return edit
