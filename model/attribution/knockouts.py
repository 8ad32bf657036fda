"""A run resumed at any layer, with one attention edge knocked out in each row of a batch.

Layers before an edge are not recomputed: a row joins the batch at the layer of its edge, with the stream that the run
had there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import torch
from torch import Tensor

from chumoku.model.attribution.rollout import Edge
from chumoku.model.block import Block, CrossBlock, Memory
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Layer, Stack
from chumoku.model.explain.anatomy import Options
from chumoku.model.masks import EDITED, allowed
from chumoku.model.positions import positions_from
from chumoku.model.taps import record
from chumoku.model.trace import Masks, trace


@dataclass(frozen=True)
class JoinedPasses:
    """The passes that have joined the batch: their edges, their stream [batch position d_model], and the output of the
    stack before, if this stack reads one [batch key d_model]."""

    edges: list[Edge]
    x: Tensor
    memory: Tensor | None = None


class Knockouts:
    """A run, and its forward passes with one edge knocked out."""

    def __init__(self, checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> None:
        """Raises what `trace` raises, and `ValueError` for a run that edits the stream between layers."""
        self.checkpoint, self.description = checkpoint, checkpoint.description
        streams = [tap for stack in self.description.stacks for tap in [*stack.stream, stack.leaves.tap]]
        edit = options.get("edit") or {}
        if edited := sorted(edit.keys() & set(streams)):
            raise ValueError(f"a run that edits {edited[0]} cannot be resumed there")
        names = list(dict.fromkeys([*streams, *sorted(self.description.masks), self.description.logits.tap]))
        self.given = trace(checkpoint, ids, names, **options)
        self.edit = {
            tap: change for tap, change in edit.items() if tap not in self.description.masks
        }  # recorded as edited
        hides = options.get("use", Masks()).padding
        self.is_pad = torch.tensor([self.given.is_pad], device=checkpoint.device) if hides else None

    @property
    def logits(self) -> Tensor:
        """The logits of the run itself, [position vocab] or [class]."""
        return self.given.tensors[self.description.logits.tap]

    def is_open(self, edge: Edge) -> bool:
        """Whether any head may attend along this edge; if not, there is nothing to knock out."""
        return bool(self.cells(edge)[:, edge.key].any())

    def is_last(self, edge: Edge) -> bool:
        """Whether some head has no other key for this query: without it, it could attend to nothing."""
        cells = self.cells(edge)
        return bool((cells[:, edge.key] & (cells.sum(-1) == 1)).any())

    def cells(self, edge: Edge) -> Tensor:
        """Where the query of an edge may attend: bool [head key], of the heads of the edge."""
        return allowed(self.mask(edge.attention, edge.layer)[heads_of(edge), edge.query])

    def mask(self, attention: str, layer: int) -> Tensor:
        """The mask of reasons in the run, [head query key]."""
        return self.given.tensors[self.description.attention(attention).tap("mask", layer)]

    @torch.inference_mode()
    def last_states(self, edges: Sequence[Edge], row: int) -> tuple[list[Edge], Tensor]:
        """One pass per edge. Returns the edges in the order of the batch, and the predicting stack's stream at `row`
        [batch d_model], before its final norm."""
        batch = None
        with record(edit=self.edit):
            for stack in self.description.stacks:
                batch = self.through(stack, edges, batch)
        assert batch is not None
        return batch.edges, batch.x[:, row]

    def through(self, stack: Stack, edges: Sequence[Edge], below: JoinedPasses | None) -> JoinedPasses:
        """The batch after a stack; `below` is the batch after the stack before it, if there is one."""
        module: Any = self.checkpoint.model.get_submodule(stack.module)
        done = [] if below is None else below.edges
        batch = JoinedPasses(done, self.copies(stack.stream[0], len(done)), None if below is None else below.x)
        attends = {attention.id for attention in self.description.attentions if attention.stack == stack.id}
        for n, layer in enumerate(stack.layers):
            joining = [edge for edge in edges if edge.attention in attends and edge.layer == n]
            batch = self.joined(batch, stack, n, joining)
            if batch.edges:
                batch = JoinedPasses(
                    batch.edges, self.block(module.layers[n], layer, stack, batch, joining), batch.memory
                )
        leaves = batch.x if stack is self.description.readout else module.final_norm(batch.x)
        return JoinedPasses(batch.edges, leaves)

    def joined(self, batch: JoinedPasses, stack: Stack, layer: int, edges: list[Edge]) -> JoinedPasses:
        """The batch with new passes for `edges`, which start from the run's stream before this layer."""
        x = torch.cat([batch.x, self.copies(stack.stream[layer], len(edges))])
        memory = batch.memory
        if memory is not None:
            before = self.description.stacks[self.description.stacks.index(stack) - 1]
            memory = torch.cat([memory, self.copies(before.leaves.tap, len(edges))])
        return JoinedPasses([*batch.edges, *edges], x, memory)

    def copies(self, tap: str, n: int) -> Tensor:
        """[n position d_model]"""
        return self.given.tensors[tap].to(self.checkpoint.device).expand(n, -1, -1)

    def block(self, block: Block, layer: Layer, stack: Stack, batch: JoinedPasses, joining: list[Edge]) -> Tensor:
        """The stream [batch position d_model] after a layer; `joining` are the edges of the batch's last rows."""
        parts = [part for part in layer.sublayers if isinstance(part, AttentionSublayer)]
        masks = [self.with_knockouts(part, len(batch.edges), joining) for part in parts]
        source = torch.tensor([self.given.position_ids], device=self.checkpoint.device)
        positions, is_pad = (source, self.is_pad) if stack.side == "source" else (positions_from(batch.x), None)
        if isinstance(block, CrossBlock):
            assert batch.memory is not None
            memory = Memory(batch.memory, masks[1], source, self.is_pad)
            return block(batch.x, masks[0], positions, memory, is_pad)
        return block(batch.x, masks[0], positions, is_pad)

    def with_knockouts(self, part: AttentionSublayer, n: int, joining: list[Edge]) -> Tensor:
        """The mask of a sublayer for `n` passes [batch head query key]. In the last rows, those of `joining`, a row's
        edge is forbidden if it belongs to this attention."""
        mask = self.mask(part.attention, part.layer).to(self.checkpoint.device).expand(n, -1, -1, -1)
        here = [(n - len(joining) + i, edge) for i, edge in enumerate(joining) if edge.attention == part.attention]
        if here:
            mask = mask.clone(memory_format=torch.contiguous_format)
            for i, edge in here:
                mask[i, heads_of(edge), edge.query, edge.key] |= EDITED
        return mask


def heads_of(edge: Edge) -> slice:
    """The heads in which an edge is, of a dimension that counts them."""
    return slice(None) if edge.head is None else slice(edge.head, edge.head + 1)
