"""Descriptions of ours, changed where another model differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from model.describe import AttentionSublayer, Description, FfnSublayer, Stack

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


STILL = ("generate", "route", "batch")
"""What needs no modules of ours: the rest of `can` is computed by `model.explain` with them."""


def without_our_modules(description: Description) -> Description:
    can = {name: able and name in STILL for name, able in description.can.items()}
    return replace(description, can=can)
