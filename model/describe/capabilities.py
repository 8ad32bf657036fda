"""What a model can do: the explanations and generations that its tensors and parameters allow."""

from __future__ import annotations

from collections.abc import Sequence

from chumoku.model.config import PositionKind
from chumoku.model.describe.description import Predicts
from chumoku.model.describe.parts import Attention, Stack


def capabilities(
    predicts: Predicts, positions: PositionKind, stacks: Sequence[Stack], attentions: Sequence[Attention]
) -> dict[str, bool]:
    """`contributions` needs every attention of the predicting stack to write a sum over heads; `heads` needs one
    attention with an overview and a mask to score it; `route` needs every attention to say what each key adds, and
    `effects` also a mask in which to cut."""
    read = [one for one in attentions if one.stack == stacks[-1].id]
    answers = predicts != "none"
    reads_text = stacks[0].embedding.parameters["embedding"] is not None  # else patches, which have no table
    separates = all(one.contribution_roles for one in attentions)
    return {
        "generate": predicts == "next",
        "beams": predicts == "next" and stacks[-1].side == "target",
        "lens": answers,
        "gradients": answers,
        "contributions": answers and all(writes_by_head(one) for one in read),
        "units": any(stack.ffns for stack in stacks),
        "route": separates,
        "effects": answers and separates and all("mask" in one.roles for one in attentions),
        "heads": any(has_overview(one) for one in attentions),
        "swap": True,
        "positions": positions != "none",
        "neighbours": reads_text,
        "parameters": True,
        "batch": reads_text,
    }


def writes_by_head(attention: Attention) -> bool:
    """Whether its output is a sum over heads plus a bias: `head_out` and `b_o`."""
    return any(one.op == "sum_heads" and one.gives == "attn_out" for one in attention.identities)


def has_overview(attention: Attention) -> bool:
    """Whether it shows which query looks at which key, and which may."""
    return attention.overview is not None and "mask" in attention.roles
