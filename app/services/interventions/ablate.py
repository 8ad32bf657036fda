"""Ablate a head: its output becomes 0."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from chumoku.app.api.schema import Index
from chumoku.app.services.interventions.base import Change, Kind, Site, Where, own_heads, wrong_role
from chumoku.model.interventions import AblateHead


class AblatedHead(Where):
    role: str = Field(default="z", max_length=200, description="The role that becomes 0; `z` is before W_O.")
    head: Index


class Ablate(Kind):
    """Switch a head off: its output z is 0 before W_O."""

    kind: Literal["ablate"]
    where: AblatedHead

    def change(self, site: Site, at: str) -> Change:
        attention, where = site.attention(self.where, at), self.where
        site.check_head(attention, where.head, at)
        role = site.role(attention, where.role, at)
        if role.dims.split()[0] not in own_heads(attention) or where.role == "mask":
            raise wrong_role(where.role, "holds no numbers of a head", at)
        return Change(role.taps[where.layer], AblateHead(where.head))
