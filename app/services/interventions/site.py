"""What every intervention needs: the kind's base, and the model and run that it is checked against."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from torch import Tensor

from chumoku.app.api.schema import Index, Request
from chumoku.app.errors import AppError, check_index, unknown_name
from chumoku.app.services.capabilities import attention_of
from chumoku.model.describe import Attention, Description, Role, Side
from chumoku.model.interventions import OtherRun, ffns_of
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


class SomeLayers(OfAttention):
    """A layer of one attention, or all of them."""

    layer: Index | None = Field(description="The layer, counted in its stack; null: every layer.")


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
    def changes(self, site: Site, at: str) -> Sequence[TapChange]:
        """The changes, checked against the model; `at` is the path of this intervention in the request."""

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

    unedited: Callable[[], OtherRun]
    """The same sentence with the same PADs, without edits and under the masks of training."""
    parameter: Callable[[str], Tensor]
    """A parameter of the model, by name."""
    mean: Callable[[str], Tensor | None]
    """The stored mean of a tap [.. position ..]; None: none is stored."""
    sentence: Callable[[str, str], OtherRun]
    """The run of another sentence, given with its path in the request."""
    first: int = 0
    """The row of the source's position 0, after PADs on its left that take no position."""

    def attention(self, where: Where | SomeLayers, at: str) -> Attention:
        """The attention that `where` names. Raises `unknown_attention`, listing the known ones, and `bad_layer`."""
        layer = 0 if where.layer is None else where.layer
        return attention_of(self.description, where.attention, layer, f"{at}.where.attention", f"{at}.where.layer")

    def role(self, attention: Attention, name: str, at: str, layer: int | None = None) -> Role:
        """Raises `unknown_role`, listing the roles of the attention; with a layer those of its FFN too, and `stream`,
        the residual stream before the layer."""
        if name in attention.roles:
            return attention.roles[name]
        if name == STREAM and layer is not None:
            return Role("position d_model", tuple(self.description.stack(attention.stack).before_layers))
        ffns = [] if layer is None else ffns_of(self.description, attention, layer)
        for ffn in ffns:
            if name in ffn.roles:
                return Role(ffn.roles[name].dims, (ffn.roles[name].tap,) * attention.n_layer)
        known = [*attention.roles, *(role for ffn in ffns for role in ffn.roles), *([] if layer is None else [STREAM])]
        raise unknown_name("unknown_role", "role", name, known, where=f"{at}.where.role")

    def check_head(self, attention: Attention, head: int | None, at: str) -> None:
        """Raise `bad_head` for a head that the attention does not have; None is every head."""
        if head is not None:
            check_index("head", head, attention.n_head, f"{at}.where.head")

    def check_position(self, position: int, side: Side, at: str, name: str) -> None:
        """Raise `bad_position` for a token that the side does not have and cannot get."""
        check_index("position", position, self.limits[side], f"{at}.where.{name}")


STREAM = "stream"


def wrong_role(role: str, why: str, at: str, hint: str = "Use another role.") -> AppError:
    """An error for a role that exists but cannot be changed by this kind of intervention."""
    return AppError("bad_role", f"{role!r} {why}.", hint, where=f"{at}.where.role", got=role)


def own_heads(attention: Attention) -> tuple[str, ...]:
    """The dimensions that count query heads: also those of keys and values, unless several query heads share them."""
    return ("head", "kv_head") if attention.n_kv_head == attention.n_head else ("head",)
