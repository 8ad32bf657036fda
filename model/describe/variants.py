"""Descriptions of ours, changed where a model of another library differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from model.describe.build import STREAM
from model.describe.description import Description
from model.describe.parts import AttentionSublayer, FfnSublayer, Norm, Stack, TapRef

Sublayer = AttentionSublayer | FfnSublayer


def each_sublayer(description: Description, change: Callable[[Sublayer], Sublayer]) -> Description:
    def changed(stack: Stack) -> Stack:
        layers = tuple(replace(layer, sublayers=tuple(map(change, layer.sublayers))) for layer in stack.layers)
        return replace(stack, layers=layers)

    return replace(description, stacks=tuple(map(changed, description.stacks)))


def with_activation(description: Description, activation: str) -> Description:
    def change(one: Sublayer) -> Sublayer:
        return replace(one, activation=activation) if isinstance(one, FfnSublayer) else one

    return each_sublayer(description, change)


def with_embedding_norm(description: Description, eps: float) -> Description:
    """A LayerNorm of the sum of embedding and position, as in BERT."""

    def changed(stack: Stack) -> Stack:
        path = f"{stack.prefix}embedding_norm"
        roles = {role: TapRef(f"{path}.{role}", STREAM) for role in ("input", "out")}
        norm = Norm("layer_norm", eps, "post", roles, {"gain": f"{path}.weight", "bias": f"{path}.bias"})
        return replace(stack, embedding=replace(stack.embedding, norm=norm))

    return replace(description, stacks=tuple(map(changed, description.stacks)))


def without_unembedding(description: Description) -> Description:
    """The logits are more than a matrix times the last state: a pooler or another layer is between them."""
    parameters = dict.fromkeys(description.logits.parameters)
    return replace(description, logits=replace(description.logits, parameters=parameters))


STILL = ("generate", "route", "batch")
"""What needs no modules of ours: the rest of `can` is computed by `model.explain` with them."""


def without_our_modules(description: Description) -> Description:
    can = {name: able and name in STILL for name, able in description.can.items()}
    return replace(description, can=can)
