"""Edits of a mask, what they allow, and hooks: for tests that compare edited runs with plain PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from chumoku.model.describe import Attention

Edit = dict[str, Any]


def cell(allow: bool, layer: int | None = 1, **where: int) -> Edit:
    return {"kind": "mask", "where": {"layer": layer, **where}, "allow": allow}


MASKS: dict[str, list[Edit]] = {
    "a cell": [cell(False, head=2, query=4, key=3)],
    "a cell of all heads": [cell(False, query=4, key=3)],
    "a cell of all layers": [cell(False, None, query=4, key=3)],
    "a later key": [cell(True, head=2, query=2, key=4)],
    "a row": [cell(False, head=0, query=3)],
    "a row of all heads": [cell(False, query=3)],
    "a column": [cell(False, key=2)],
    "a column of all layers": [cell(False, None, head=1, key=2)],
    "a layer that sees nothing": [cell(False)],
    "a layer that sees everything": [cell(True)],
    "every layer sees everything": [cell(True, None)],
    "the last of several": [cell(False, query=4), cell(True, query=4, key=3), cell(False, head=1, query=4, key=3)],
}
"""At least three heads, two layers and five tokens."""


def masks_of(attentions: Sequence[Attention], name: str) -> list[Edit]:
    """These edits in the first attention, the next ones in the second, so that no two have the same; without those of
    heads that there are not."""
    names, found = list(MASKS), []
    for n, one in enumerate(attentions):
        edits = MASKS[names[(names.index(name) + n) % len(names)]]
        heads = [edit for edit in edits if edit["where"].get("head", 0) < one.n_head]
        found += [{**edit, "where": {"attention": one.id, **edit["where"]}} for edit in heads]
    return found


def does_something(attentions: Sequence[Attention], edits: Sequence[Edit]) -> bool:
    """Whether they forbid a key, or allow a later one."""
    causal = {one.id for one in attentions if one.causal}
    return any(not edit["allow"] or edit["where"]["attention"] in causal for edit in edits)


def edited(allowed: Tensor, edits: Sequence[Edit], one: Attention, layer: int) -> Tensor:
    """What a layer allows [head query key] after edits: each says it of its cells, the last one wins."""
    allowed = allowed.clone()
    for edit in edits:
        where = edit["where"]
        if where["attention"] == one.id and where["layer"] in (None, layer):
            cells = tuple(slice(None) if where.get(axis) is None else where[axis] for axis in ("head", "query", "key"))
            allowed[cells] = edit["allow"]
    return allowed


@contextmanager
def hooked(hooks: Sequence[Any]) -> Iterator[None]:
    """Removes torch's hooks afterwards."""
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def close(found: Tensor, expected: Tensor, atol: float = 1e-4) -> None:
    torch.testing.assert_close(found, expected, atol=atol, rtol=1e-4)


def changes(found: Tensor, plain: Tensor, least: float = 1e-3) -> None:
    assert (found - plain).abs().max() > least
