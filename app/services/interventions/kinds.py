"""The kinds of interventions about one tensor: an ablation, an edit of a mask, a patch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from chumoku.app.api.schema import Index
from chumoku.app.errors import AppError, check_index, unknown_name
from chumoku.app.services.interventions.site import (
    Kind,
    Lengths,
    Site,
    SomeLayers,
    TapChange,
    Where,
    own_heads,
    wrong_role,
)
from chumoku.model.describe import Attention, Role, Side
from chumoku.model.interventions import AblateHead, EditCells, ReplaceRows, ablated_taps, ffns_of
from chumoku.model.masks import REASONS
from chumoku.model.means import MeanOverRuns, MeanSource, ReplaceByMean, StoredMean

MAX_OVER = 16
Sentence = Annotated[str, Field(min_length=1, max_length=10_000)]


class Ablated(Where):
    role: str = Field(
        default="z",
        max_length=200,
        description="The role that becomes 0: of the attention (`z` is before W_O; `attn_out` is all that it writes), "
        "or of the FFN in its layer (`out` is what that writes).",
    )
    head: Index | None = Field(default=None, description="Default: every head, of a role that has heads.")


class Ablate(Kind):
    """Switch off a head (its output z is 0 before W_O), or an attention or FFN (it writes 0 to the stream)."""

    kind: Literal["ablate"]
    where: Ablated
    to: Literal["zero", "mean"] | None = Field(
        default=None,
        description="What takes its place: zero, the default, or the mean at the same position over the windows that "
        "the model's `means` names, or over the sentences in `over`.",
    )
    over: list[Sentence] | None = Field(
        default=None, min_length=1, max_length=MAX_OVER, fail_fast=True, description="Sentences to take the mean over."
    )

    @model_validator(mode="after")
    def over_for_a_mean(self) -> Self:
        if self.over is not None and self.to != "mean":
            raise ValueError("`over` is for a mean: give to as mean, or leave over out")
        return self

    def changes(self, site: Site, at: str) -> Sequence[TapChange]:
        attention, where = site.attention(self.where, at), self.where
        site.check_head(attention, where.head, at)
        taps = ablated_taps(site.description, attention, where.layer, where.role)
        if not taps:
            ffns = ffns_of(site.description, attention, where.layer)
            known = [*attention.roles, *(role for ffn in ffns for role in ffn.roles)]
            raise unknown_name("unknown_role", "role", where.role, known, where=f"{at}.where.role")
        dims = site.description.taps[taps[0]].dims.split()
        if where.role == "mask" or ("position" not in dims and dims[0] not in own_heads(attention)):
            raise wrong_role(where.role, "holds no numbers of a head, nor of each position", at)
        if where.head is not None and dims[0] not in own_heads(attention):
            raise wrong_role(where.role, "holds no numbers of a head", at, "Leave the head out, or use another role.")
        if self.to != "mean":
            return [TapChange(taps, AblateHead(where.head))]
        role = site.role(attention, where.role, at, where.layer)
        if "position" not in dims:
            raise wrong_role(where.role, "does not have one row for each position, so it has no mean", at)
        side = attention.keys if role.rows == "key" else attention.queries
        first, axis = site.first if side == "source" else 0, dims.index("position")
        sources = [(tap, self.mean_of(tap, axis, site, at)) for tap in taps]
        return [
            TapChange([tap], ReplaceByMean(source, axis, where.head, first, role.rows == "key"))
            for tap, source in sources
        ]

    def mean_of(self, tap: str, axis: int, site: Site, at: str) -> MeanSource:
        """Raises `no_mean` where none is stored and no sentences are given."""
        if self.over is not None:
            runs = [site.sentence(text, f"{at}.over[{index}]") for index, text in enumerate(self.over)]
            for run in runs:
                run.taps.add(tap)
            return MeanOverRuns(runs, tap, axis)
        stored = site.mean(tap)
        if stored is None:
            message = f"No mean of {self.where.role!r} is stored for {site.model!r}."
            raise AppError("no_mean", message, "Give sentences to take it over: `over`.", where=f"{at}.to")
        return StoredMean(stored)


class Cell(SomeLayers):
    role: Literal["mask"] = "mask"
    head: Index | None = Field(default=None, description="Default: every head.")
    query: Index | None = Field(default=None, description="Default: every query.")
    key: Index | None = Field(default=None, description="Default: every key.")


class EditMask(Kind):
    """Forbid cells of a mask (reason `edited`), or allow them: lift all reasons that forbade them, or those in `lifts`.

    Without `query` and `key`: the whole layer.
    """

    kind: Literal["mask"]
    where: Cell
    allow: bool
    lifts: list[Literal["causal", "padding", "window", "edited"]] | None = Field(
        default=None,
        min_length=1,
        max_length=len(REASONS),
        fail_fast=True,
        description="The reasons that an edit with `allow` lifts; a cell with another reason stays forbidden. Default: "
        "all.",
    )

    @model_validator(mode="after")
    def lifts_to_allow(self) -> Self:
        if self.lifts is not None and not self.allow:
            raise ValueError("an edit that forbids lifts nothing: leave lifts out")
        return self

    def changes(self, site: Site, at: str) -> Sequence[TapChange]:
        attention, where = site.attention(self.where, at), self.where
        site.check_head(attention, where.head, at)
        if where.query is not None:
            site.check_position(where.query, attention.queries, at, "query")
        if where.key is not None:
            site.check_position(where.key, attention.keys, at, "key")
        taps = site.role(attention, "mask", at).taps
        earlier = where.query is not None and where.key is not None and where.key <= where.query
        grows = attention.queries == attention.keys == site.description.writes
        lifts = None if self.lifts is None else sum(REASONS[name] for name in set(self.lifts))
        ahead = self.allow and grows and not earlier and (self.lifts is None or "causal" in self.lifts)
        edit = EditCells(self.allow, where.head, where.query, where.key, lifts)
        return [TapChange(taps if where.layer is None else [taps[where.layer]], edit, looks_ahead=ahead)]


if TYPE_CHECKING:
    from chumoku.app.api.run import RunRequest


class Rows(Where):
    role: str = Field(
        max_length=200,
        description="A role with a row for each query (`q`, `z`, `attn_out` …) or key (`k`, `v` …); the description of "
        "the model says which: `rows`. Also `stream`, the residual stream before the layer.",
    )
    head: Index | None = Field(default=None, description="Default: every head.")
    query: Index | None = Field(default=None, description="Default: every row, for runs of the same length.")
    key: Index | None = Field(default=None, description="The same for a role with a row for each key.")
    from_row: Index | None = Field(default=None, description="The row of the other run. Default: the same row.")

    @model_validator(mode="after")
    def one_row(self) -> Self:
        if self.query is not None and self.key is not None:
            raise ValueError("a patch names its row by query or by key, not by both")
        if self.from_row is not None and self.query is None and self.key is None:
            raise ValueError("a patch from another row names its own by query or key")
        return self


class Patch(Kind):
    """Replace rows of one role by those of another run of the same model."""

    kind: Literal["patch"]
    where: Rows
    source: RunRequest = Field(alias="from", description="The other run. It may have interventions, but no patches.")

    @model_validator(mode="after")
    def one_deep(self) -> Self:
        if any(item.kind == "patch" for item in self.source.interventions):
            raise ValueError("the source run of a patch cannot have patches itself")
        return self

    def changes(self, site: Site, at: str) -> Sequence[TapChange]:
        attention, where = site.attention(self.where, at), self.where
        role = site.role(attention, where.role, at, where.layer)
        self.check_role(role, attention, at)
        site.check_head(attention, where.head, at)
        if self.source.model not in (None, site.model):
            message = f"The other run is of {self.source.model!r}, this one of {site.model!r}."
            raise AppError("bad_source", message, "Use a run of the same model.", where=f"{at}.from.model")
        tap = role.taps[where.layer]
        source = site.source(self.source, f"{at}.from")
        self.check_rows(source.lengths, site, attention.keys if role.rows == "key" else attention.queries, at)
        source.taps.add(tap)
        return [TapChange([tap], ReplaceRows(source, tap, role, where.head, self.row, where.from_row))]

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
            raise wrong_role(name, "has no heads", at)

    def check_rows(self, there: Lengths, site: Site, side: Side, at: str) -> None:
        """Raise `bad_position` or `bad_source` if the runs do not have the same rows."""
        row, name = self.row, "query" if self.where.key is None else "key"
        if row is not None:
            site.check_position(row, side, at, name)
            theirs = self.where.from_row
            name = name if theirs is None else "from_row"
            check_index("position", row if theirs is None else theirs, there[side], f"{at}.where.{name}")
        elif there[side] != site.lengths[side]:
            message = f"The other run has {there[side]} rows, this one {site.lengths[side]}."
            raise AppError("bad_source", message, "Name a row, or use a run of the same length.", where=f"{at}.from")

    def to_json(self, first: str | None) -> dict[str, Any]:
        return super().to_json(first) | {"from": self.source.to_json(first)}
