"""Replace numbers of this run by those of another run (activation patching)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from chumoku.app.api.schema import Index
from chumoku.app.errors import AppError, check_index
from chumoku.app.services.interventions.base import (
    Change,
    Kind,
    Lengths,
    Site,
    Where,
    own_heads,
    wrong_role,
)
from chumoku.model.describe import Attention, Role, Side
from chumoku.model.interventions import ReplaceRows

if TYPE_CHECKING:
    from chumoku.app.api.run import Run


class Rows(Where):
    role: str = Field(
        max_length=200,
        description="A role with a row for each query (`q`, `z`, `attn_out` …) or key (`k`, `v` …). The description of "
        "the model says which: `rows`.",
    )
    head: Index | None = Field(default=None, description="Default: every head.")
    query: Index | None = Field(default=None, description="Default: every row, for runs of the same length.")
    key: Index | None = Field(default=None, description="The same, of a role with a row for each key.")

    @model_validator(mode="after")
    def one_row(self) -> Self:
        if self.query is not None and self.key is not None:
            raise ValueError("a patch names its row by query or by key, not by both")
        return self


class Patch(Kind):
    """Replace rows of one role by those of another run of the same model."""

    kind: Literal["patch"]
    where: Rows
    source: Run = Field(alias="from", description="The other run. It may have interventions, but no patches.")

    @model_validator(mode="after")
    def one_deep(self) -> Self:
        if any(item.kind == "patch" for item in self.source.interventions):
            raise ValueError("the source run of a patch cannot have patches itself")
        return self

    def change(self, site: Site, at: str) -> Change:
        attention, where = site.attention(self.where, at), self.where
        role = site.role(attention, where.role, at)
        self.check_role(role, attention, at)
        site.check_head(attention, where.head, at)
        if self.source.model not in (None, site.model):
            message = f"The other run is of {self.source.model!r}, this one of {site.model!r}."
            raise AppError("bad_source", message, "Use a run of the same model.", where=f"{at}.from.model")
        tap = role.taps[where.layer]
        source = site.source(self.source, f"{at}.from")
        self.check_rows(source.lengths, site, attention.side_of(where.role), at)
        source.taps.add(tap)
        return Change(tap, ReplaceRows(source, tap, role, where.head, self.row))

    @property
    def row(self) -> int | None:
        """The row to replace; None: all of them."""
        return self.where.query if self.where.key is None else self.where.key

    def check_role(self, role: Role, attention: Attention, at: str) -> None:
        """Raise `bad_role` unless the role has a row for each query or key, as named, and heads if one is named."""
        name, dims = self.where.role, role.dims.split()
        if "position" not in dims:
            raise wrong_role(name, "does not have one row for each query or key", at)
        if self.where.key is not None and role.rows != "key":
            raise wrong_role(name, "does not have one row for each key", at)
        if self.where.query is not None and role.rows == "key":
            raise wrong_role(name, "has one row for each key", at, "Name the row by `key`.")
        if self.where.head is not None and dims[0] not in own_heads(attention):
            raise wrong_role(name, "has no heads of its own", at)

    def check_rows(self, there: Lengths, site: Site, side: Side, at: str) -> None:
        """Raise `bad_position` or `bad_source` if the runs do not have the same rows."""
        row, name = self.row, "query" if self.where.key is None else "key"
        if row is not None:
            site.check_position(row, side, at, name)
            check_index("position", row, there[side], f"{at}.where.{name}")
        elif there[side] != site.lengths[side]:
            message = f"The other run has {there[side]} rows, this one {site.lengths[side]}."
            raise AppError("bad_source", message, "Name a row, or use a run of the same length.", where=f"{at}.from")

    def to_json(self, first: str | None) -> dict[str, Any]:
        return super().to_json(first) | {"from": self.source.to_json(first)}
