"""The model of `tests.toys.traceable` with a second self-attention in its layer: it looks at the first letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from chumoku.model.describe import Attention, AttentionSublayer, Description, Role, TapRef
from chumoku.model.describe.parts import Layer
from chumoku.model.taps import visit
from chumoku.model.traceable import About
from tests.toys.traceable import VOCAB, Bigram, BigramFolders


def describe_both(one: Description) -> Description:
    """The description with the attention `first` after the one that it has."""
    (stack,) = one.stacks
    out = TapRef("first/out", "position d_model")
    look = AttentionSublayer("attention", 0, stack.leaves, out, out, stack.leaves, None, "first")
    first = Attention(
        id="first", kind="first", stack="main", queries="source", keys="source", causal=True, n_layer=1, n_head=1,
        n_kv_head=1, d_head=VOCAB, scale=None, overview="share",
        roles={"share": Role("head query key", ("first/share",))}, parameters={}, parts={}, identities=(),
    )  # fmt: skip
    layer = Layer((*stack.layers[0].sublayers, look))
    return replace(one, stacks=(replace(stack, layers=(layer,)),), attentions=(*one.attentions, first))


class TwoFolders(BigramFolders):
    def about(self, folder: Path) -> About:
        about = super().about(folder)
        return replace(about, description=describe_both(about.description))

    def open(self, folder: Path, device: torch.device) -> TwoAttentions:
        opened = super().open(folder, device)
        return TwoAttentions(self.about(folder), opened.table)


class TwoAttentions(Bigram):
    def forward(self, ids: Sequence[int], causal: bool) -> Tensor:
        logits = super().forward(ids, causal)
        share = torch.zeros(1, 1, len(ids), len(ids))
        share[..., 0] = 1
        visit("first/share", share)
        visit("first/out", torch.zeros(1, len(ids), VOCAB))
        return logits
