"""The stacks of each family: which attentions their layers have, and what their modules are called."""

from __future__ import annotations

from dataclasses import dataclass

from chumoku.model.config import Family
from chumoku.model.describe.parts import Side


@dataclass(frozen=True)
class Attends:
    """An attention of a block: its module, and the tap of the stream after it."""

    id: str
    module: str
    leaves: str
    keys: Side
    causal: bool


@dataclass(frozen=True)
class StackPlan:
    """A stack of a family: the path of its module with a dot, and the attentions of its layers."""

    id: str
    path: str
    side: Side
    attends: tuple[Attends, ...]


PLANS: dict[Family, tuple[StackPlan, ...]] = {
    "decoder-only": (
        StackPlan("main", "", "source", (Attends("self", "attn", "resid_mid", "source", causal=True),)),
    ),
    "encoder-only": (
        StackPlan("main", "", "source", (Attends("self", "attn", "resid_mid", "source", causal=False),)),
    ),
    "encoder-decoder": (
        StackPlan("encoder", "encoder.", "source", (Attends("encoder", "attn", "resid_mid", "source", causal=False),)),
        StackPlan(
            "decoder",
            "decoder.",
            "target",
            (
                Attends("decoder", "attn", "resid_mid", "target", causal=True),
                Attends("cross", "cross_attn", "resid_cross", "source", causal=False),
            ),
        ),
    ),
}  # fmt: skip
