"""The kinds of interventions about a part of the formula: positions, √d, temperature, window, LayerNorm's 1/σ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from chumoku.app.api.schema import Index
from chumoku.app.errors import AppError
from chumoku.app.services.interventions.site import Kind, OfAttention, Site, SomeLayers, TapChange
from chumoku.model.describe import Attention
from chumoku.model.interventions import (
    AblateHead,
    Copy,
    FrozenNorm,
    LimitWindow,
    Scale,
    Unscale,
    norms_of,
    positional_taps,
    rotated_taps,
    scaled_roles,
)
from chumoku.model.taps import Edit


class Everywhere(OfAttention):
    """The whole model: it names no place."""

    attention: None = None


class OfModel(Kind):
    where: Everywhere = Field(default=Everywhere(), description="Nothing: it is about the whole model.")

    def to_json(self, first: str | None) -> dict[str, Any]:
        return {"kind": self.kind, "where": {}}


def cannot_change(site: Site, why: str, at: str) -> AppError:
    """An error for an intervention that this model has no part for."""
    return AppError("cannot", f"{site.model!r} {why}.", "Leave this intervention out.", where=at)


class OmitPositions(OfModel):
    """Leave positions out: what is added to the embeddings; in the scores (and values) what depends on the distance;
    the rotation of q and k. All positions then look alike, apart from the mask."""

    kind: Literal["no_positions"]

    def changes(self, site: Site, at: str) -> Sequence[TapChange]:
        zeros, pairs = positional_taps(site.description), rotated_taps(site.description)
        if not zeros and not pairs:
            decays = any("decay" in attention.parameters for attention in site.description.attentions)
            why = "has its order in the decay of its state" if decays else "has no positions"
            raise cannot_change(site, why, at)
        # a cache of transformers keeps rotated keys: then each step reads everything again
        turned = [TapChange([tap], Copy(plain), looks_ahead=True) for plain, tap in pairs]
        return [*([TapChange(zeros, AblateHead())] if zeros else []), *turned]


class Heads(SomeLayers):
    head: Index | None = Field(default=None, description="Default: every head.")


class OfScores(Kind):
    """A change of the scores, or of what they see, of one head, a layer or all."""

    where: Heads

    def changed(self, site: Site, attention: Attention, roles: Sequence[str], edit: Edit, at: str) -> list[TapChange]:
        site.check_head(attention, self.where.head, at)
        layer = self.where.layer
        taps = [attention.roles[role].taps for role in roles]
        return [TapChange(of if layer is None else [of[layer]], edit) for of in taps]


class OmitScale(OfScores):
    """Leave the division by √d_head out: scores are q · k. Without it they grow with d_head, and the softmax takes
    nearly one key alone."""

    kind: Literal["no_scale"]

    def changes(self, site: Site, at: str) -> Sequence[TapChange]:
        attention = site.attention(self.where, at)
        roles = scaled_roles(attention)
        if not roles or attention.scale is None or attention.scale == 1:
            raise cannot_change(site, f"does not divide the scores of {attention.id!r}", at)
        return self.changed(site, attention, roles, Unscale(1 / attention.scale, self.where.head), at)


class Temperature(OfScores):
    """softmax((scores + M) / T): 1 as trained, larger is flatter, smaller is sharper."""

    kind: Literal["temperature"]
    temperature: float = Field(ge=0.01, le=100, description="T.")

    def changes(self, site: Site, at: str) -> Sequence[TapChange]:
        attention = site.attention(self.where, at)
        if "scores" not in attention.roles:
            raise cannot_change(
                site, f"has no scores in {attention.id!r}: its weights are not one softmax per head", at
            )
        return self.changed(site, attention, ["scores"], Scale(1 / self.temperature, self.where.head), at)


class Window(OfScores):
    """Local attention: each query sees only keys that are less than `size` positions from it; with a causal mask, the
    last `size` tokens, itself included."""

    kind: Literal["window"]
    size: int = Field(ge=1, le=2**20, description="w, in tokens.")

    def changes(self, site: Site, at: str) -> Sequence[TapChange]:
        attention = site.attention(self.where, at)
        if attention.queries != attention.keys:
            raise cannot_change(site, f"has no distances in {attention.id!r}: it reads another text", at)
        if "mask" not in attention.roles:
            raise cannot_change(site, f"has no mask in {attention.id!r}: its state holds everything before", at)
        return self.changed(site, attention, ["mask"], LimitWindow(self.size, self.where.head), at)


class FreezeNorms(OfModel):
    """Freeze LayerNorm: 1/σ of each position in each norm is that of the unedited run; the mean is live. Tokens written
    later use their own."""

    kind: Literal["freeze_norms"]

    def changes(self, site: Site, at: str) -> Sequence[TapChange]:
        norms = norms_of(site.description)
        if not norms:
            raise cannot_change(site, "has no norms that can be frozen", at)
        other, found = site.unedited(), []
        for norm in norms:
            bias = norm.parameters.get("bias")
            read, write = norm.roles["input"].tap, norm.roles["out"].tap
            other.taps.add(read)
            own = None if bias is None else site.parameter(bias)
            found.append(TapChange([write], FrozenNorm(other, read, norm.kind == "layer_norm", norm.eps, own)))
        return found
