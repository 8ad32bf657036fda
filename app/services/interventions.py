"""The interventions of a request, checked against the model, one class per kind. The arithmetic is in
`model/interventions.py`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from chumoku.app.api.schema import Index, Request
from chumoku.app.errors import AppError, check_index, unknown_name
from chumoku.app.services.capabilities import attention_of
from chumoku.model.describe import Attention, Description, Role, Side
from chumoku.model.interventions import AblateHead, Composed, EditCells, OtherRun, ReplaceRows
from chumoku.model.masks import REASONS
from chumoku.model.taps import Edit

AttentionId = Annotated[
    str | None,
    Field(max_length=200, description="An id from the model's `attentions`. Default: the first.", examples=["self"]),
]
Lengths = Mapping[Side, int]
"""The number of tokens on each side, PADs, [CLS] and START included."""


class OfAttention(Request):
    """One attention of the model."""

    attention: AttentionId = None


class Where(OfAttention):
    """A layer of one attention."""

    layer: Index = Field(description="The layer, counted in its stack.")


@dataclass(frozen=True)
class TapChange:
    """The same change of some taps by one intervention. `looks_ahead`: an earlier query may see a later key because of
    it."""

    taps: Sequence[str]
    edit: Edit
    looks_ahead: bool = False


class Kind(Request, ABC):
    """An intervention. A kind adds its `kind`, its `where`, and how it changes a tap."""

    kind: str
    where: OfAttention

    @abstractmethod
    def change(self, site: Site, at: str) -> TapChange:
        """The change, checked against the model; `at` is the path of this intervention in the request."""

    def to_json(self, first: str | None) -> dict[str, Any]:
        """As requested, with its attention filled in; `first` is the id of the model's first attention."""
        asked = strip(self.model_dump(by_alias=True))
        return asked | {"where": {"attention": self.where.attention or first, **strip(asked["where"])}}


def strip(fields: dict[str, Any]) -> dict[str, Any]:
    """The set fields. `layer` is always set: null is every layer."""
    return {name: value for name, value in fields.items() if value is not None or name == "layer"}


@dataclass(frozen=True)
class Site:
    """The model to change, the lengths of its sequences, and access to other runs."""

    model: str
    description: Description
    lengths: Lengths
    limits: Lengths
    """The largest lengths: the window, on a side that grows."""
    source: Callable[[Any, str], OtherRun]
    """Another run of this model, given with its path in the request."""

    def attention(self, where: Where | Cell, at: str) -> Attention:
        """The attention that `where` names. Raises `unknown_attention`, listing the known ones, and `bad_layer`."""
        layer = 0 if where.layer is None else where.layer
        return attention_of(self.description, where.attention, layer, f"{at}.where.attention", f"{at}.where.layer")

    def role(self, attention: Attention, name: str, at: str) -> Role:
        """Raises `unknown_role`, listing the roles of the attention."""
        if name not in attention.roles:
            raise unknown_name("unknown_role", "role", name, list(attention.roles), where=f"{at}.where.role")
        return attention.roles[name]

    def check_head(self, attention: Attention, head: int | None, at: str) -> None:
        """Raise `bad_head` for a head that the attention does not have; None is every head."""
        if head is not None:
            check_index("head", head, attention.n_head, f"{at}.where.head")

    def check_position(self, position: int, side: Side, at: str, name: str) -> None:
        """Raise `bad_position` for a token that the side does not have and cannot get."""
        check_index("position", position, self.limits[side], f"{at}.where.{name}")


def wrong_role(role: str, why: str, at: str, hint: str = "Use another role.") -> AppError:
    """An error for a role that exists but cannot be changed by this kind of intervention."""
    return AppError("bad_role", f"{role!r} {why}.", hint, where=f"{at}.where.role", got=role)


def own_heads(attention: Attention) -> tuple[str, ...]:
    """The dimensions that count query heads: also those of keys and values, unless several query heads share them."""
    return ("head", "kv_head") if attention.n_kv_head == attention.n_head else ("head",)


class AblatedHead(Where):
    role: str = Field(default="z", max_length=200, description="The role that becomes 0; `z` is before W_O.")
    head: Index


class Ablate(Kind):
    """Switch a head off: its output z is 0 before W_O."""

    kind: Literal["ablate"]
    where: AblatedHead

    def change(self, site: Site, at: str) -> TapChange:
        attention, where = site.attention(self.where, at), self.where
        site.check_head(attention, where.head, at)
        role = site.role(attention, where.role, at)
        if role.dims.split()[0] not in own_heads(attention) or where.role == "mask":
            raise wrong_role(where.role, "holds no numbers of a head", at)
        return TapChange([role.taps[where.layer]], AblateHead(where.head))


class Cell(OfAttention):
    layer: Index | None = Field(description="The layer, counted in its stack; null: every layer.")
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

    def change(self, site: Site, at: str) -> TapChange:
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
        return TapChange(taps if where.layer is None else [taps[where.layer]], edit, looks_ahead=ahead)


if TYPE_CHECKING:
    from chumoku.app.api.run import RunRequest


class Rows(Where):
    role: str = Field(
        max_length=200,
        description="A role with a row for each query (`q`, `z`, `attn_out` …) or key (`k`, `v` …). The description of "
        "the model says which: `rows`.",
    )
    head: Index | None = Field(default=None, description="Default: every head.")
    query: Index | None = Field(default=None, description="Default: every row, for runs of the same length.")
    key: Index | None = Field(default=None, description="The same for a role with a row for each key.")

    @model_validator(mode="after")
    def one_row(self) -> Self:
        if self.query is not None and self.key is not None:
            raise ValueError("a patch names its row by query or by key, not by both")
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

    def change(self, site: Site, at: str) -> TapChange:
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
        return TapChange([tap], ReplaceRows(source, tap, role, where.head, self.row))

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
            check_index("position", row, there[side], f"{at}.where.{name}")
        elif there[side] != site.lengths[side]:
            message = f"The other run has {there[side]} rows, this one {site.lengths[side]}."
            raise AppError("bad_source", message, "Name a row, or use a run of the same length.", where=f"{at}.from")

    def to_json(self, first: str | None) -> dict[str, Any]:
        return super().to_json(first) | {"from": self.source.to_json(first)}


Intervention = Annotated[Ablate | EditMask | Patch, Field(discriminator="kind")]


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
        for tap in change.taps:
            by_tap[tap].append(change.edit)
    taps: dict[str, Edit] = {tap: Composed(applied) for tap, applied in by_tap.items()}
    return Edits(taps, any(change.looks_ahead for change in changes))
