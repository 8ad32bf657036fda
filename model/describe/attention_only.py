"""A model of which only the attention is known."""

from __future__ import annotations

from dataclasses import replace

from chumoku.model.describe.description import Description
from chumoku.model.describe.parts import Attention, AttentionSublayer, Layer, Stack
from chumoku.model.describe.variants import without_our_modules, without_positions, without_unembedding

SHOWN = ("q", "k", "v", "scores", "mask", "pattern", "z", "attn_out")
"""Roles. q and k are what the scores multiply: turned or normalised, if the model does that."""
TRUE = ("scaled_product", "masked_softmax", "weighted_sum")
"""The identities that hold in every model with a softmax."""


def attention_only(description: Description) -> Description:
    """Without parameters, norms and FFNs: attentions write, and are not known to be added to anything."""
    found = without_unembedding(without_positions(description))
    stacks = tuple(map(bare, found.stacks))
    return without_our_modules(replace(
        found, stacks=stacks, attentions=tuple(map(bare_attention, found.attentions)),
        can=dict(found.can) | {"route": False, "effects": False},
    ))  # fmt: skip


def bare(stack: Stack) -> Stack:
    def attends(layer: Layer) -> Layer:
        (one,) = (x for x in layer.sublayers if isinstance(x, AttentionSublayer))
        return Layer((replace(one, norm=None, input=one.reads, leaves=one.writes),))

    tables = dict.fromkeys(stack.embedding.parameters)
    return replace(
        stack, embedding=replace(stack.embedding, parameters=tables), layers=tuple(map(attends, stack.layers)),
        final_norm=None,
    )  # fmt: skip


def bare_attention(one: Attention) -> Attention:
    return replace(
        one, roles={role: x for role, x in one.roles.items() if role in SHOWN}, parameters={}, contribution_roles=(),
        identities=tuple(x for x in one.identities if x.op in TRUE),
    )  # fmt: skip
