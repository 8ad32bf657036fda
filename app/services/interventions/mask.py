"""Forbid one cell of a mask, or allow it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from app.api.schema import Index
from app.services.interventions.base import Change, Kind, Site, Where
from model.masks import EDITED


class Cell(Where):
    role: Literal["mask"] = "mask"
    head: Index | None = Field(default=None, description="Default: every head.")
    query: Index
    key: Index


class EditMask(Kind):
    """Forbid one cell of a mask (reason `edited`), or allow it, whatever forbade it."""

    kind: Literal["mask"]
    where: Cell
    allow: bool

    def change(self, site: Site, at: str) -> Change:
        attention, where = site.attention(self.where, at), self.where
        site.check_head(attention, where.head, at)
        site.check_position(where.query, attention.queries, at, "query")
        site.check_position(where.key, attention.keys, at, "key")
        tap = site.role(attention, "mask", at).taps[where.layer]
        ahead = self.allow and attention.causal and where.key > where.query
        return Change(tap, self.apply, looks_ahead=ahead)

    def apply(self, x: Tensor, first_query: int) -> Tensor:
        """x: reasons, uint8 [batch head query key]; a cell that does not exist (yet) is skipped."""
        row, key = self.where.query - first_query, self.where.key
        if 0 <= row < x.shape[-2] and key < x.shape[-1]:
            heads = slice(None) if self.where.head is None else self.where.head
            cell = x[:, heads, row, key]
            x[:, heads, row, key] = cell & 0 if self.allow else cell | EDITED
        return x
