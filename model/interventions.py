"""The arithmetic of interventions: edits of a tap's tensor, as `taps.record` applies them.

An edit gets a copy, so it may write in place. With a cache, the tensor's first row is `first_query`. What a request may
ask for, and how it is checked, is in the app.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from chumoku.model.describe import Attention, Description, FfnSublayer, Norm, Role, Side
from chumoku.model.masks import EDITED, REASONS, WINDOW
from chumoku.model.taps import Edit, earlier, read_by

ALL = sum(REASONS.values())


@dataclass(frozen=True)
class AblateHead:
    """Sets a head's numbers to 0; None: all numbers. On z, before W_O, the head then writes nothing to the stream."""

    head: int | None = None

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head? ..]"""
        x[(slice(None),) if self.head is None else (slice(None), self.head)] = 0.0
        return x


def ablated_taps(description: Description, attention: Attention, layer: int, role: str) -> list[str]:
    """The taps that become 0 with a role of an attention, or of the FFN in its layer; none: neither has the role.

    What a sublayer writes is 0 also after a norm of it (`res-post`), where β alone would be left.
    """
    if role in attention.roles:
        found = attention.tap(role, layer)
    else:
        found = next((ffn.roles[role].tap for ffn in ffns_of(description, attention, layer) if role in ffn.roles), "")
    sublayers = description.stack(attention.stack).layers[layer].sublayers
    return [tap for one in sublayers if one.writes.tap == found for tap in (found, one.added.tap)] or [found] * (
        found != ""
    )


def ffns_of(description: Description, attention: Attention, layer: int) -> list[FfnSublayer]:
    """The FFN in a layer of an attention's stack, or none."""
    sublayers = description.stack(attention.stack).layers[layer].sublayers
    return [one for one in sublayers if isinstance(one, FfnSublayer)]


@dataclass(frozen=True)
class Scale:
    """Multiplies the numbers of a head, or of all heads."""

    factor: float
    head: int | None = None

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head ..]"""
        x[(slice(None),) if self.head is None else (slice(None), self.head)] *= self.factor
        return x


@dataclass(frozen=True)
class Unscale(Scale):
    """A `Scale` that several edits of one tap make at most once in each head; `done`: heads that have it already."""

    done: frozenset[int] = frozenset()

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head ..]"""
        heads = range(x.shape[1]) if self.head is None else (self.head,)
        for head in heads:
            if head not in self.done:
                x[:, head] *= self.factor
        return x


@dataclass(frozen=True)
class Copy:
    """Replaces a tensor by an earlier one of the same pass: q before its rotation, say."""

    tap: str

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.tap,)

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        return earlier(self.tap).reshape(x.shape).clone()


def positional_taps(description: Description) -> list[str]:
    """What depends on positions alone and is added: to embeddings, to scores, or to values."""
    embedded = [
        stack.embedding.roles["positional"].tap
        for stack in description.stacks
        if stack.embedding.positions != "none" and "positional" in stack.embedding.roles
    ]
    return embedded + [
        tap
        for attention in description.attentions
        for role in (*positional_parts(attention), *(["position_bias"] if "position_bias" in attention.roles else []))
        for tap in attention.roles[role].taps
    ]


def positional_parts(attention: Attention) -> list[str]:
    """The summands of its scores and of its z that depend on positions."""
    return [role for parts in attention.parts.values() for role in parts if not role.startswith("content_")]


def rotated_taps(description: Description) -> list[tuple[str, str]]:
    """q and k before and after their rotation, in every layer."""
    pairs = [("q", "q_rotated"), ("k", "k_rotated")]
    return [
        both
        for attention in description.attentions
        for plain, turned in pairs
        if turned in attention.roles
        for both in zip(attention.roles[plain].taps, attention.roles[turned].taps, strict=True)
    ]


def scaled_roles(attention: Attention) -> list[str]:
    """What is divided by √d_head: the scores, or those parts of them that are products."""
    products = ("scaled_product", "scaled_row_product")
    return [identity.gives for identity in attention.identities if identity.op in products]


def norms_of(description: Description) -> list[Norm]:
    """All norms of the stream and of what is added to it."""
    found = []
    for stack in description.stacks:
        found += [stack.embedding.norm, *(sublayer.norm for sublayer in stack.sublayers), stack.final_norm]
    return [norm for norm in found if norm is not None]


@dataclass(frozen=True)
class FrozenNorm:
    """The output of a norm with the other run's 1/σ at each position that it has; the mean is live.

    The output is (x − mean)/σ · gain + bias, so less the bias it is proportional to 1/σ. An RMSNorm (`centred` False)
    divides by √(mean(x²) + ε) instead of σ, and subtracts no mean.
    """

    other: OtherRun
    tap: str
    centred: bool
    eps: float
    bias: Tensor | None

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.tap,)

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch position d_model]"""
        theirs = self.other.tensors[self.tap][first_query : first_query + x.shape[1]].to(x.device)  # position d_model
        n = len(theirs)
        ratio = self.spread(earlier(self.tap)[:, :n]) / self.spread(theirs)  # batch position 1
        bias = 0.0 if self.bias is None else self.bias.to(x.device)
        x[:, :n] = torch.where(ratio == 1, x[:, :n], (x[:, :n] - bias) * ratio + bias)
        return x

    def spread(self, x: Tensor) -> Tensor:
        """σ with ε, of x [.. d_model]: [.. 1]"""
        x = x - x.mean(-1, keepdim=True) if self.centred else x
        return (x.square().mean(-1, keepdim=True) + self.eps).sqrt()


@dataclass(frozen=True)
class EditCells:
    """Forbids cells of a mask (reason `edited`), or allows them. None: every head, query or key.

    `lifts`: the reasons that allowing lifts, bit by bit; None: all. Forbidding one cell in all heads of a layer is
    attention knockout (Geva et al. 2023).
    """

    allow: bool
    head: int | None = None
    query: int | None = None
    key: int | None = None
    lifts: int | None = None

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x: reasons, uint8 [batch head query key]; a cell that does not exist (yet) is skipped."""
        every, row = slice(None), None if self.query is None else self.query - first_query
        if (row is None or 0 <= row < x.shape[-2]) and (self.key is None or self.key < x.shape[-1]):
            heads, rows, keys = (every if place is None else place for place in (self.head, row, self.key))
            cells = x[:, heads, rows, keys]
            kept = 0 if self.lifts is None else ALL & ~self.lifts
            x[:, heads, rows, keys] = cells & kept if self.allow else cells | EDITED
        return x


@dataclass(frozen=True)
class LimitWindow:
    """Local attention (Beltagy et al. 2020): forbids keys that are `size` or more positions from their query (reason
    `window`). Under a causal mask, each query sees the last `size` keys. None: every head."""

    size: int
    head: int | None = None

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x: reasons, uint8 [batch head query key]"""
        queries = torch.arange(first_query, first_query + x.shape[-2], device=x.device)
        far = (queries[:, None] - torch.arange(x.shape[-1], device=x.device)).abs() >= self.size  # [query key]
        x[:, slice(None) if self.head is None else self.head] |= far * WINDOW
        return x


@dataclass
class OtherRun:
    """The run that patches copy from: its lengths, the taps to copy, and their tensors once it has run."""

    lengths: Mapping[Side, int]
    """The number of tokens on each side, PADs, [CLS] and START included."""
    taps: set[str] = field(default_factory=set)
    tensors: Mapping[str, Tensor] = field(default_factory=dict)


class ReplaceRows:
    """Activation patching: replaces a row of a tensor by row `theirs` of the other run's (None: the same row), in one
    head or in all. `row` None: every row that both have."""

    def __init__(
        self, other: OtherRun, tap: str, role: Role, head: int | None, row: int | None, theirs: int | None = None
    ) -> None:
        self.other, self.tap, self.role, self.row, self.theirs = other, tap, role, row, theirs
        self.axis = role.dims.split().index("position")
        self.before = (slice(None) if head is None else head, *(slice(None),) * (self.axis - 1))[: self.axis]

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head? position ..]"""
        theirs = self.other.tensors[self.tap]  # head? position ..
        first = 0 if self.role.rows == "key" else first_query
        for row in range(theirs.shape[self.axis]) if self.row is None else (self.row,):
            if 0 <= row - first < x.shape[1 + self.axis]:
                of = row if self.theirs is None else self.theirs
                x[(slice(None), *self.before, row - first)] = theirs[(*self.before, of)].to(x.device)
        return x


class Composed:
    """Several edits of one tap, applied in order, each to the result of the previous edit. What can be left out or
    frozen only once is."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self.edits = once_each(edits)
        self.reads = tuple(tap for edit in edits for tap in read_by(edit))

    def __call__(self, x: Tensor, first_query: int = 0) -> Tensor:
        x = x.clone(memory_format=torch.contiguous_format)  # all heads may share one broadcast mask
        for edit in self.edits:
            x = edit(x, first_query)
        return x


def once_each(edits: Sequence[Edit]) -> list[Edit]:
    """The edits without a repeated `FrozenNorm`, and with what an earlier `Unscale` has done."""
    found: list[Edit] = []
    for edit in edits:
        before = [one.head for one in found if isinstance(one, Unscale)]
        if isinstance(edit, Unscale):
            if None not in before and (edit.head is None or edit.head not in before):
                found.append(replace(edit, done=frozenset(head for head in before if head is not None)))
        elif not (isinstance(edit, FrozenNorm) and any(isinstance(one, FrozenNorm) for one in found)):
            found.append(edit)
    return found
