"""Replace numbers of this run by those of another run (activation patching)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator
from torch import Tensor

from chumoku.app.api.schema import Index
from chumoku.app.errors import AppError, check_index
from chumoku.app.services.interventions.base import Change, Kind, Site, Source, Where, wrong_role
from chumoku.model.describe import Attention

if TYPE_CHECKING:
    from chumoku.app.api.run import Run


class Rows(Where):
    role: str = Field(max_length=200, description="A role with a row for each query: `q`, `z`, `attn_out` ….")
    head: Index | None = Field(default=None, description="Default: every head.")
    query: Index | None = Field(default=None, description="Default: every row, for runs of the same length.")


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
        self.check_role(role.dims.split(), at)
        site.check_head(attention, where.head, at)
        if self.source.model not in (None, site.model):
            message = f"The other run is of {self.source.model!r}, this one of {site.model!r}."
            raise AppError("bad_source", message, "Use a run of the same model.", where=f"{at}.from.model")
        tap = role.taps[where.layer]
        source = site.source(self.source, f"{at}.from")
        self.check_rows(source.lengths[attention.queries], site, attention, at)
        source.taps.add(tap)
        return Change(tap, Replace(source, tap, where.head, where.query))

    def check_role(self, dims: list[str], at: str) -> None:
        """Raise `bad_role` unless the role has one row for each query, and heads if one is named."""
        role = self.where.role
        if "key" in dims or "position" not in dims or role in ("k", "v"):
            raise wrong_role(role, "does not have one row for each query", at)
        if self.where.head is not None and "head" not in dims:
            raise wrong_role(role, "has no heads", at)

    def check_rows(self, there: int, site: Site, attention: Attention, at: str) -> None:
        """Raise `bad_position` or `bad_source` if the runs do not have the same rows."""
        query, here = self.where.query, site.lengths[attention.queries]
        if query is not None:
            site.check_position(query, attention.queries, at, "query")
            check_index("position", query, there, f"{at}.where.query")
        elif there != here:
            message = f"The other run has {there} rows, this one {here}."
            raise AppError("bad_source", message, "Name a query, or use a run of the same length.", where=f"{at}.from")

    def to_json(self, first: str | None) -> dict[str, Any]:
        return super().to_json(first) | {"from": self.source.to_json(first)}


class Replace:
    """Row t of the tensor becomes row t of the source's tensor of the same tap."""

    def __init__(self, source: Source, tap: str, head: int | None, query: int | None) -> None:
        self.source, self.tap, self.head, self.query = source, tap, head, query

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head? position ..]"""
        heads = (slice(None),) * (x.dim() - 3) if self.head is None else (self.head,)
        rows = self.source.tensors[self.tap]  # head? position ..
        for query in range(rows.shape[-2]) if self.query is None else (self.query,):
            row = query - first_query
            if 0 <= row < x.shape[-2]:
                x[(slice(None), *heads, row)] = rows[(*heads, query)].to(x.device)
        return x
