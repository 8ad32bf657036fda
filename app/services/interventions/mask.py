"""Forbid cells of a mask, or allow them: one, a row, a column, or a whole layer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from chumoku.app.api.schema import Index
from chumoku.app.services.interventions.base import Change, Kind, Site, Where
from chumoku.model.interventions import EditCells


class Cell(Where):
    role: Literal["mask"] = "mask"
    head: Index | None = Field(default=None, description="Default: every head.")
    query: Index | None = Field(default=None, description="Default: every query.")
    key: Index | None = Field(default=None, description="Default: every key.")


class EditMask(Kind):
    """Forbid cells of a mask (reason `edited`), or allow them, whatever forbade them.

    Without `query` and `key`: the whole layer.
    """

    kind: Literal["mask"]
    where: Cell
    allow: bool

    def change(self, site: Site, at: str) -> Change:
        attention, where = site.attention(self.where, at), self.where
        site.check_head(attention, where.head, at)
        if where.query is not None:
            site.check_position(where.query, attention.queries, at, "query")
        if where.key is not None:
            site.check_position(where.key, attention.keys, at, "key")
        tap = site.role(attention, "mask", at).taps[where.layer]
        earlier = where.query is not None and where.key is not None and where.key <= where.query
        grows = attention.queries == attention.keys == site.description.writes
        ahead = self.allow and grows and not earlier
        return Change(tap, EditCells(self.allow, where.head, where.query, where.key), looks_ahead=ahead)
