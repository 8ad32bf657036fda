"""What each key brings to one query of an attention, head by head: Σ_h a_hqk v_hk W_h^O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from chumoku.model.attribution.norm_contributions import PIECE, WatchedEdit, rows_kept
from chumoku.model.describe import Attention
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.mechanisms.mixer import SeparatesKeys
from chumoku.model.taps import Edit


@dataclass(frozen=True)
class KeyReader:
    """Reads from a run what the keys of one layer of an attention bring. `weight` returns a parameter by its name."""

    attention: Attention
    layer: int
    weight: Callable[[str], Tensor]

    @property
    def taps(self) -> list[str]:
        """The tensors that it needs."""
        roles = [role for role in self.attention.contribution_roles if role in self.attention.roles]
        return [self.attention.tap(role, self.layer) for role in roles]

    @property
    def later(self) -> list[str]:
        """The taps at which an edit replaces what the keys bring: those after the last tensor that it needs."""
        order = [taps.taps[self.layer] for taps in self.attention.roles.values()]
        return order[1 + max(order.index(tap) for tap in self.taps) :]

    def watched(self, edit: Mapping[str, Edit]) -> dict[str, Edit]:
        """The edits of a run, of which those at `later` taps remember the rows that they leave unchanged."""
        return {tap: WatchedEdit(change) if tap in self.later else change for tap, change in edit.items()}

    def written(self, tensors: Mapping[str, Tensor], query: int, edit: Mapping[str, Edit]) -> Tensor:
        """What each head brings from each key to a query, float64 [head key d_model]; 0 in a head whose output at this
        query was edited. `edit`: as `watched` returned them."""
        of: dict[str, Tensor] = {}
        for role in self.attention.contribution_roles:
            if role in self.attention.roles:
                of[role] = tensors[self.attention.tap(role, self.layer)]
            else:
                of[role] = self.weight(self.attention.parameters[role][self.layer]).cpu()
        if "weights" not in of or of["weights"].dim() == 3:
            return self.at_query(of, query, edit)
        # Features have separate weights: the keys' contributions are key × d_model × d_model numbers.
        most = max(1, PIECE // of["w_o"].numel())
        by_key = [of.pop(role).split(most, -2) for role in ("weights", "v")]
        pieces = (dict(zip(("weights", "v"), piece, strict=True)) for piece in zip(*by_key, strict=True))
        return torch.cat([self.at_query(of | piece, query, edit) for piece in pieces], 1)

    def at_query(self, of: Mapping[str, Tensor], query: int, edit: Mapping[str, Edit]) -> Tensor:
        """[head key d_model] of the keys in `of`."""
        mechanism = cast(SeparatesKeys, MECHANISMS[self.attention.kind])
        weights, values = mechanism.key_contributions({role: x.double() for role, x in of.items()})
        for tap in self.later:
            change = edit.get(tap)
            if isinstance(change, WatchedEdit) and change.kept is not None:
                weights = weights * rows_kept(change.kept, len(weights))
        at_query = values[:, query] if values.dim() == 4 else values  # part key d_model
        brought = weights[:, query, :, None] * at_query
        return brought.reshape(self.attention.n_head, -1, *brought.shape[1:]).sum(1)
