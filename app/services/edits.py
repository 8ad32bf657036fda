"""Interventions: what a request changes while the model runs, as edits on taps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from app.api.run import AblateHead, EditMask
from app.errors import AppError, unknown_name
from model.attentions import Attention, Side, attentions
from model.config import ModelConfig
from model.masks import EDITED
from model.taps import Edit

Lengths = Mapping[Side, int]
"""How many tokens each side has, PADs, [CLS] and START included."""


def edits_of(interventions: Sequence[AblateHead | EditMask], config: ModelConfig, lengths: Lengths) -> dict[str, Edit]:
    """One edit for each tap that the interventions touch.

    Raises `unknown_attention`, and `bad_layer`, `bad_head` and `bad_position` for indices that the model or the
    sentence does not have.
    """
    heads: defaultdict[str, list[int]] = defaultdict(list)
    cells: defaultdict[str, list[EditMask]] = defaultdict(list)
    for index, item in enumerate(interventions):
        where = f"interventions[{index}]"
        attention = attention_of(item.attention, config, f"{where}.attention")
        check_index("layer", item.layer, config.n_layer, f"{where}.layer")
        check_index("head", item.head, config.n_head, f"{where}.head")
        if isinstance(item, AblateHead):
            heads[attention.tap(item.layer, "z")].append(item.head)
        else:
            check_index("position", item.query, lengths[attention.queries], f"{where}.query")
            check_index("position", item.key, lengths[attention.keys], f"{where}.key")
            cells[attention.tap(item.layer, "mask")].append(item)
    return {
        **{tap: ablate(which) for tap, which in heads.items()},
        **{tap: edit_mask(which) for tap, which in cells.items()},
    }


def attention_of(asked: str | None, config: ModelConfig, where: str) -> Attention:
    """The model's attention of this id (None: its first); raises `unknown_attention` listing those there are."""
    known = {attention.id: attention for attention in attentions(config)}
    name = next(iter(known)) if asked is None else asked
    if name not in known:
        raise unknown_name("unknown_attention", "attention", name, list(known), where=where)
    return known[name]


def check_index(what: str, index: int, count: int, where: str) -> None:
    """Raise `bad_<what>` unless 0 ≤ index < count."""
    if not 0 <= index < count:
        message = f"There is no {what} {index}: {what}s run from 0 to {count - 1}."
        hint = f"Take a {what} from 0 to {count - 1}."
        raise AppError(f"bad_{what}", message, hint, where=where, got=index, limit=count - 1)


def ablate(heads: Sequence[int]) -> Edit:
    """z of these heads becomes 0: [batch head position d_head]."""

    def edit(z: Tensor, first_query: int) -> Tensor:
        z = z.clone()
        z[:, list(heads)] = 0.0
        return z

    return edit


def edit_mask(cells: Sequence[EditMask]) -> Edit:
    """Set the reasons of these cells, the last word on a cell standing: uint8 [batch head query key]."""

    def edit(reasons: Tensor, first_query: int) -> Tensor:
        reasons = reasons.clone(memory_format=torch.contiguous_format)  # one mask was spread over all heads
        for cell in cells:
            at = reasons[:, cell.head, cell.query, cell.key]
            reasons[:, cell.head, cell.query, cell.key] = at & 0 if cell.allow else at | EDITED
        return reasons

    return edit
