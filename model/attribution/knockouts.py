"""A run resumed at any layer, with one part knocked out in each row of a batch: an attention edge, a head or an FFN.

Layers before a part are not recomputed: a row joins the batch at the layer of its part, with the stream that the run
had there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import torch
from torch import Tensor

from chumoku.model.attribution.rollout import Edge
from chumoku.model.block import Block, CrossBlock, Memory
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Description, Layer, Stack
from chumoku.model.explain.anatomy import Options
from chumoku.model.interventions import Composed
from chumoku.model.masks import EDITED, allowed
from chumoku.model.positions import positions_from
from chumoku.model.taps import Edit, Keep, keeping, record
from chumoku.model.trace import Masks, Trace, trace


@dataclass(frozen=True, order=True)
class HeadPart:
    """A head of an attention (by id): knocked out, its z is 0 before W_O."""

    attention: str
    layer: int
    head: int


@dataclass(frozen=True, order=True)
class FfnPart:
    """The FFN of a layer of a stack (by id): knocked out, it adds nothing to the stream."""

    stack: str
    layer: int


@dataclass(frozen=True, order=True)
class PatchPart:
    """A row of the stream before a layer of a stack (by id), of what an attention of the layer (by id) adds to it, or
    of what its FFN adds: replaced by that of another run."""

    stack: str
    layer: int
    what: str
    position: int
    attention: str | None = None


@dataclass(frozen=True, order=True)
class Received:
    """What the head of an attention (by id) got from a writer: a pass that begins in the head's layer."""

    attention: str
    layer: int
    writer: HeadPart | FfnPart


Part = Edge | HeadPart | FfnPart | PatchPart | Received


def parts_of(description: Description) -> list[HeadPart | FfnPart]:
    """Every head that has a z, and every FFN of a model, layer by layer."""
    found: list[HeadPart | FfnPart] = []
    for stack in description.stacks:
        for sublayer in stack.sublayers:
            if not isinstance(sublayer, AttentionSublayer):
                found.append(FfnPart(stack.id, sublayer.layer))
            elif (attention := description.attention(sublayer.attention)).has_heads_to_ablate:
                found += [HeadPart(attention.id, sublayer.layer, head) for head in range(attention.n_head)]
    return found


def tap_of(description: Description, part: Part) -> str:
    """The tap whose numbers become 0 or are replaced: a head's z, the stream before a layer, or what is added to it."""
    assert isinstance(part, HeadPart | FfnPart | PatchPart)
    if isinstance(part, HeadPart):
        return description.attention(part.attention).tap("z", part.layer)
    if isinstance(part, PatchPart) and part.what == "stream":
        return description.stack(part.stack).stream[part.layer]
    if isinstance(part, PatchPart) and part.attention is not None:
        attentions = [one for one in description.stack(part.stack).sublayers if isinstance(one, AttentionSublayer)]
        place = part.attention, part.layer
        return next(one.added.tap for one in attentions if (one.attention, one.layer) == place)
    return next(ffn.added.tap for ffn in description.stack(part.stack).ffns if ffn.layer == part.layer)


def writes(description: Description) -> dict[str, Keep]:
    """What tells whether a part writes anything, by tap: whether a head's z has a number other than 0, bool
    [batch head], and the same of an FFN, bool [batch 1]."""
    taps = {tap_of(description, part): part for part in parts_of(description)}
    return {
        tap: (lambda z: z.flatten(2).any(-1))
        if isinstance(part, HeadPart)
        else (lambda x: x.flatten(1).any(-1)[:, None])
        for tap, part in taps.items()
    }


def writes_anything(description: Description, given: Trace, part: Part) -> bool:
    """Whether a run, with what `writes` keeps of it, has a number other than 0 there."""
    head = part.head if isinstance(part, HeadPart) else 0
    return bool(given.tensors[tap_of(description, part)][head])


@dataclass(frozen=True)
class ZeroRows:
    """Sets rows of a batch to 0, each in one head or altogether."""

    rows: Sequence[tuple[int, int | None]]

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head position d_head] or [batch position d_model]"""
        for row, head in self.rows:
            x[row if head is None else (row, head)] = 0.0
        return x


@dataclass(frozen=True)
class ReplaceRow:
    """Puts a row of another run [position d_model] into one member of a batch, or into all (None)."""

    source: Tensor
    position: int
    member: int | None = None

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch position d_model]"""
        member = slice(None) if self.member is None else self.member
        x[member, self.position - first_query] = self.source[self.position].to(x.device)
        return x


@dataclass(frozen=True)
class JoinedPasses:
    """The passes that have joined the batch: their parts, their stream [batch position d_model], and the output of the
    stack before, if this stack reads one [batch key d_model]."""

    parts: list[Part]
    x: Tensor
    memory: Tensor | None = None


class Knockouts:
    """A run, and its forward passes with one part knocked out."""

    def __init__(self, checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> None:
        """Raises what `trace` raises, and `ValueError` for a run that edits the stream between layers."""
        self.checkpoint, self.description = checkpoint, checkpoint.description
        streams = [tap for stack in self.description.stacks for tap in [*stack.stream, stack.leaves.tap]]
        edit = options.get("edit") or {}
        if edited := sorted(edit.keys() & set(streams)):
            raise ValueError(f"a run that edits {edited[0]} cannot be resumed there")
        names = list(dict.fromkeys([*streams, *sorted(self.description.masks), self.description.logits.tap]))
        written = writes(self.description)
        with keeping(written):
            self.given = trace(checkpoint, ids, [*names, *written], **options)
        self.edit = {
            tap: change for tap, change in edit.items() if tap not in self.description.masks
        }  # recorded as edited
        hides = options.get("use", Masks()).padding
        self.is_pad = torch.tensor([self.given.is_pad], device=checkpoint.device) if hides else None

    @property
    def logits(self) -> Tensor:
        """The logits of the run itself, [position vocab] or [class]."""
        return self.given.tensors[self.description.logits.tap]

    def is_open(self, part: Part) -> bool:
        """Whether there is something to knock out: a head that may attend along this edge, or numbers that are not
        0."""
        if isinstance(part, Edge):
            return bool(self.cells(part)[:, part.key].any())
        return writes_anything(self.description, self.given, part)

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
    def last_states(self, parts: Sequence[Part], row: int) -> tuple[list[Part], Tensor]:
        """One pass per part. Returns the parts in the order of the batch, and the predicting stack's stream at `row`
        [batch d_model], before its final norm."""
        batch = None
        with record(edit=self.edit):
            for stack in self.description.stacks:
                batch = self.through(stack, parts, batch)
        assert batch is not None
        return batch.parts, batch.x[:, row]

    def through(self, stack: Stack, parts: Sequence[Part], below: JoinedPasses | None) -> JoinedPasses:
        """The batch after a stack; `below` is the batch after the stack before it, if there is one."""
        module: Any = self.checkpoint.model.get_submodule(stack.module)
        done = [] if below is None else below.parts
        batch = JoinedPasses(done, self.copies(stack.stream[0], len(done)), None if below is None else below.x)
        for n, layer in enumerate(stack.layers):
            joining = [part for part in parts if self.stack_of(part) == stack.id and part.layer == n]
            batch = self.joined(batch, stack, n, joining)
            if batch.parts:
                with record(edit=self.silencing(len(batch.parts), joining)):
                    x = self.block(module.layers[n], layer, stack, batch, joining)
                batch = JoinedPasses(batch.parts, x, batch.memory)
        leaves = batch.x if stack.id == self.description.readout.id else module.final_norm(batch.x)
        return JoinedPasses(batch.parts, leaves)

    def stack_of(self, part: Part) -> str:
        return part.stack if isinstance(part, FfnPart | PatchPart) else self.description.attention(part.attention).stack

    def joined(self, batch: JoinedPasses, stack: Stack, layer: int, parts: list[Part]) -> JoinedPasses:
        """The batch with new passes for `parts`, which start from the run's stream before this layer."""
        x = torch.cat([batch.x, self.copies(stack.stream[layer], len(parts))])
        memory = batch.memory
        if memory is not None:
            ids = [one.id for one in self.description.stacks]
            before = self.description.stacks[ids.index(stack.id) - 1]
            memory = torch.cat([memory, self.copies(before.leaves.tap, len(parts))])
        return JoinedPasses([*batch.parts, *parts], x, memory)

    def copies(self, tap: str, n: int) -> Tensor:
        """[n position d_model]"""
        return self.given.tensors[tap].to(self.checkpoint.device).expand(n, -1, -1)

    def silencing(self, n: int, joining: list[Part]) -> Mapping[str, Edit]:
        """The run's own edits, and those that make the heads and FFNs of the last rows of `n` write nothing."""
        rows: dict[str, list[tuple[int, int | None]]] = {}
        for row, part in enumerate(joining, n - len(joining)):
            if not isinstance(part, Edge):
                at = row, part.head if isinstance(part, HeadPart) else None
                rows.setdefault(tap_of(self.description, part), []).append(at)
        own = {tap: [self.edit[tap]] if tap in self.edit else [] for tap in rows}
        return self.edit | {tap: Composed([*own[tap], ZeroRows(found)]) for tap, found in rows.items()}

    def block(self, block: Block, layer: Layer, stack: Stack, batch: JoinedPasses, joining: list[Part]) -> Tensor:
        """The stream [batch position d_model] after a layer; `joining` are the parts of the batch's last rows."""
        attends = [part for part in layer.sublayers if isinstance(part, AttentionSublayer)]
        masks = [self.with_knockouts(part, len(batch.parts), joining) for part in attends]
        source = torch.tensor([self.given.position_ids], device=self.checkpoint.device)
        positions, is_pad = (source, self.is_pad) if stack.side == "source" else (positions_from(batch.x), None)
        if isinstance(block, CrossBlock):
            assert batch.memory is not None
            memory = Memory(batch.memory, masks[1], source, self.is_pad)
            return block(batch.x, masks[0], positions, memory, is_pad)
        return block(batch.x, masks[0], positions, is_pad)

    def with_knockouts(self, sublayer: AttentionSublayer, n: int, joining: list[Part]) -> Tensor:
        """The mask of a sublayer for `n` passes [batch head query key]. In the last rows, those of `joining`, a row's
        edge is forbidden if it belongs to this attention."""
        mask = self.mask(sublayer.attention, sublayer.layer).to(self.checkpoint.device).expand(n, -1, -1, -1)
        rows = enumerate(joining, n - len(joining))
        here = [(i, part) for i, part in rows if isinstance(part, Edge) and part.attention == sublayer.attention]
        if here:
            mask = mask.clone(memory_format=torch.contiguous_format)
            for i, edge in here:
                mask[i, heads_of(edge), edge.query, edge.key] |= EDITED
        return mask


def heads_of(edge: Edge) -> slice:
    """The heads in which an edge is, of a dimension that counts them."""
    return slice(None) if edge.head is None else slice(edge.head, edge.head + 1)
