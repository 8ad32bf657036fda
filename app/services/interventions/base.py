"""What all kinds of interventions share: where they act, and the change that they make there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import Field
from torch import Tensor

from app.api.schema import Index, Request
from app.errors import AppError, check_index, unknown_name
from model.describe import Attention, Description, Role, Side

AttentionId = Annotated[
    str | None,
    Field(max_length=200, description="An id of the model's `attentions`; left out: the first.", examples=["self"]),
]
Lengths = Mapping[Side, int]
"""How many tokens each side has, PADs, [CLS] and START included."""


class Where(Request):
    """A layer of one attention."""

    attention: AttentionId = None
    layer: Index = Field(description="Its layer, in its stack.")


class Apply(Protocol):
    """Changes a tap's tensor, which it may write into. With a KV cache the tensor's first row is `first_query`."""

    def __call__(self, x: Tensor, first_query: int) -> Tensor: ...


@dataclass(frozen=True)
class Change:
    """What one intervention does to one tap. `looks_ahead`: an earlier query may see a later key because of it."""

    tap: str
    apply: Apply
    looks_ahead: bool = False


class Kind(Request):
    """An intervention. A kind adds its `kind`, its `where`, and how it changes a tap."""

    kind: str
    where: Where

    def change(self, site: Site, at: str) -> Change:
        """The change, checked against the model; `at` is the path of this intervention in the request."""
        raise NotImplementedError

    def to_json(self, first: str | None) -> dict[str, Any]:
        """As asked, with its attention named; `first` is the id of the model's first."""
        asked = self.model_dump(by_alias=True)
        return asked | {"where": {"attention": self.where.attention or first, **strip(asked["where"])}}


def strip(where: dict[str, Any]) -> dict[str, Any]:
    """`where` without what was left out."""
    return {name: value for name, value in where.items() if value is not None}


@dataclass(frozen=True)
class Site:
    """The model that is changed, how long its sequences are, and how to get a tensor of another run of it."""

    model: str
    description: Description
    lengths: Lengths
    limits: Lengths
    """What the lengths may become: the window, on a side that grows."""
    traced: Callable[[Any, str], Tensor]

    def attention(self, where: Where, at: str) -> Attention:
        """The attention that `where` names. Raises `unknown_attention` listing those there are, and `bad_layer`."""
        known = {attention.id: attention for attention in self.description.attentions}
        name = next(iter(known)) if where.attention is None else where.attention
        if name not in known:
            path = f"{at}.where.attention"
            raise unknown_name("unknown_attention", "attention", name, list(known), where=path)
        check_index("layer", where.layer, known[name].n_layer, f"{at}.where.layer")
        return known[name]

    def role(self, attention: Attention, name: str, at: str) -> Role:
        """Raises `unknown_role` listing those that the attention has."""
        if name not in attention.roles:
            raise unknown_name("unknown_role", "role", name, list(attention.roles), where=f"{at}.where.role")
        return attention.roles[name]

    def check_head(self, attention: Attention, head: int | None, at: str) -> None:
        """Raise `bad_head` for a head that the attention does not have; None is every head."""
        if head is not None:
            check_index("head", head, attention.n_head, f"{at}.where.head")

    def check_position(self, position: int, side: Side, at: str, name: str) -> None:
        """Raise `bad_position` for a token that the side does not have, and never will."""
        check_index("position", position, self.limits[side], f"{at}.where.{name}")


def wrong_role(role: str, why: str, at: str) -> AppError:
    """A role that the attention has, but that this kind of intervention cannot change."""
    return AppError("bad_role", f"{role!r} {why}.", "Take another role.", where=f"{at}.where.role", got=role)
