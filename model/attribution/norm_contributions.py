"""Norm-based contributions rolled out over layers (Kobayashi et al. 2020, 2021; Abnar & Zuidema 2020).

The page draws them as the river: how much of each position is mixed into every other, layer by layer. In an attention
sublayer, query q's stream x_q receives c_qk = Σ_h a_hqk v_hk W_h^O from each key k, and

    share(q←k) = ‖c_qk‖ / (‖x_q‖ + Σ_j ‖c_qj‖),   with ‖x_q‖ added to k = q

(Kobayashi et al. 2020, "Attention is Not Only a Weight"; 2021 for the residual connection). Norms measure size, not
direction: two keys that cancel each other have two wide lines. Shares leave out what comes from no key: b_O, and what
an intervention wrote in place of a head's output. b_V is part of v, so it belongs to the keys.

x_q is the stream before the sublayer, in every norm order. Post-norm: shares of the sum x_q + Σ c_qk, before the
LayerNorm that follows. Res-post-norm: what is added is LayerNorm(Σ c_qk), so c_qk is what that LayerNorm makes of it
with its scale held fixed at its value in this run; its bias is in no share.

Shares are computed while the model runs, sublayer by sublayer (`taps.keeping`), so that the patterns and values of only
one layer are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

import torch
from torch import Tensor

from chumoku.model import stopping
from chumoku.model.describe import Attention, AttentionSublayer, Description, Norm, Side, Stack
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.mechanisms.mixer import SeparatesKeys
from chumoku.model.run import Run
from chumoku.model.taps import Edit, Keep, keeping, read_by
from chumoku.model.trace import Trace
from chumoku.model.traceable import TraceableModel

MANY = 2**22
"""An attention with more shares than this keeps them in float32 instead of float64."""
PIECE = 2**23
"""The most numbers to compute at once where features have separate weights: key × d_model × d_model."""
NOTHING = torch.empty(1, 0)
"""What a trace holds in place of a tensor that is not kept."""


@dataclass(frozen=True)
class Flow:
    """The shares of one attention in all layers, float64; float32 if they are more than `MANY`.

    `share` [layer query key]: in self-attention, share[q, q] includes `residual`, and rows add up to 1. In
    cross-attention the stream is not a key: a row and its `residual` add up to 1.
    """

    attention: str
    queries: Side
    keys: Side
    share: Tensor
    residual: Tensor
    """[layer query]: ‖x_q‖ over the same denominator."""


@dataclass(frozen=True)
class River:
    """One stack: its attentions in their order within a layer, and `ffn` [layer position] = ‖f‖ / ‖x‖ of what each FFN
    adds to the stream. FFNs move nothing between positions; RWKV's token shift does, and is left out."""

    stack: str
    side: Side
    flows: list[Flow]
    ffn: Tensor


@torch.inference_mode()
def route_of(traceable: TraceableModel, run: Run) -> list[River]:
    """The shares of every stack, PADs included, in the order of the forward pass.

    Raises what `trace` raises, and `ValueError` for a model with an attention whose keys cannot be separated.
    """

    def traced(names: Sequence[str], edit: Mapping[str, Edit]) -> Trace:
        return traceable.trace(replace(run, edit=edit), names)

    if not traceable.description.can["route"]:
        raise ValueError(f"{traceable.name} has an attention without per-key contributions")
    return rivers(traceable.description, traced, lambda name: traceable.weights([name])[name], run.edit)


def rivers(
    description: Description,
    traced: Callable[[Sequence[str], Mapping[str, Edit]], Trace],
    weight: Callable[[str], Tensor],
    edit: Mapping[str, Edit],
) -> list[River]:
    """The rivers of a run that `traced` traces under these edits; `weight` returns a parameter by its name."""
    watched = {tap: WatchedEdit(change) for tap, change in edit.items()}
    mixing = Mixing(weight, description, watched)
    kept = mixing.kept()
    with keeping(kept):
        traced(list(kept), watched)
    return [mixing.river(stack) for stack in description.stacks]


class WatchedEdit:
    """An edit that remembers which rows it left unchanged: `kept` bool [.. query]."""

    def __init__(self, edit: Edit) -> None:
        self.edit, self.reads = edit, read_by(edit)
        self.kept: Tensor | None = None

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        before = x.clone()
        after = self.edit(x, first_query)
        self.kept = (before == after).all(-1)[0].cpu()
        return after


@dataclass(frozen=True)
class Mixing:
    """Collects what shares need from a run's tensors when they are visited. All arithmetic is in float64."""

    weight: Callable[[str], Tensor]
    description: Description
    edits: Mapping[str, WatchedEdit]
    sizes: dict[str, Tensor] = field(default_factory=dict)
    """‖x‖ [position] of a stream, or of what is added to it, by tap."""
    scales: dict[str, Tensor] = field(default_factory=dict)
    """The scale of a LayerNorm [query], by the tap of its input."""
    open: dict[str, Tensor] = field(default_factory=dict)
    """The tensors of the current sublayer, by tap."""
    found: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    """share [query key] and residual [query] of each sublayer, by the tap of what it adds."""

    def kept(self) -> dict[str, Keep]:
        """The function to call at each tap (`taps.keeping`). The tensors themselves are not kept."""
        kept: dict[str, Keep] = {}
        for part in (part for stack in self.description.stacks for part in stack.sublayers):
            kept |= {tap: partial(self.measure, tap) for tap in (part.reads.tap, part.added.tap) if tap not in kept}
            if not isinstance(part, AttentionSublayer):
                continue
            attention = self.description.attention(part.attention)
            for tap in (
                attention.tap(role, part.layer) for role in attention.contribution_roles if role in attention.roles
            ):
                kept[tap] = partial(self.hold, tap)
            if part.norm and part.norm.place == "res-post":
                kept[part.norm.roles["input"].tap] = partial(self.scale, part.norm)
            kept[part.added.tap] = partial(self.close, attention, part)
        return kept

    def measure(self, tap: str, x: Tensor) -> Tensor:
        self.sizes[tap] = x[0].cpu().double().norm(dim=-1)
        return NOTHING

    def scale(self, norm: Norm, x: Tensor) -> Tensor:
        self.scales[norm.roles["input"].tap] = (x[0].cpu().double().var(-1, correction=0) + norm.eps).rsqrt()
        return NOTHING

    def hold(self, tap: str, x: Tensor) -> Tensor:
        self.open[tap] = x[0].cpu()
        return NOTHING

    def close(self, attention: Attention, part: AttentionSublayer, x: Tensor) -> Tensor:
        """At the last tap of a sublayer: compute its shares and drop its tensors."""
        self.measure(part.added.tap, x)
        share, residual = self.shares(attention, part)
        self.found[part.added.tap] = share if attention.n_layer * share.numel() <= MANY else share.float(), residual
        self.open.clear()
        return NOTHING

    def river(self, stack: Stack) -> River:
        ids = dict.fromkeys(part.attention for part in stack.sublayers if isinstance(part, AttentionSublayer))
        return River(stack.id, stack.side, [self.flow(stack, id) for id in ids], self.ffn(stack))

    def ffn(self, stack: Stack) -> Tensor:
        """[layer position]"""
        sizes = [(self.sizes[part.added.tap], self.sizes[part.reads.tap]) for part in stack.ffns]
        return torch.stack([added / before.clamp(min=1e-30) for added, before in sizes])

    def flow(self, stack: Stack, id: str) -> Flow:
        attention = self.description.attention(id)
        parts = [part for part in stack.sublayers if isinstance(part, AttentionSublayer) and part.attention == id]
        share, residual = (
            torch.stack(x) for x in zip(*(self.found.pop(part.added.tap) for part in parts), strict=True)
        )
        return Flow(id, attention.queries, attention.keys, share, residual)

    def shares(self, attention: Attention, part: AttentionSublayer) -> tuple[Tensor, Tensor]:
        """share [query key] and residual [query] of one sublayer."""
        size = self.sizes[part.reads.tap]  # query
        norms_by_key = self.contribution_norms(attention, part)  # query key
        whole = size + norms_by_key.sum(-1)
        nothing = whole == 0
        share = norms_by_key / whole.masked_fill(nothing, 1.0)[:, None]
        residual = torch.where(nothing, 1.0, size / whole)
        return (share + residual.diag() if attention.queries == attention.keys else share), residual

    def contribution_norms(self, attention: Attention, part: AttentionSublayer) -> Tensor:
        """‖c_qk‖ [query key]. If features have separate weights, it takes some keys at a time: the contributions of all
        keys are key × d_model × d_model numbers."""
        of = {role: self.tensor(attention, role, part.layer) for role in attention.contribution_roles}
        if "weights" not in of or of["weights"].dim() == 3:
            return self.norms_of_keys(attention, part, of)
        by_key = {
            role: of.pop(role).split(max(1, PIECE // self.description.d_model**2), -2) for role in ("weights", "v")
        }
        pieces = (dict(zip(by_key, piece, strict=True)) for piece in zip(*by_key.values(), strict=True))
        return torch.cat([self.norms_of_keys(attention, part, of | piece) for piece in pieces], 1)

    def norms_of_keys(self, attention: Attention, part: AttentionSublayer, of: Mapping[str, Tensor]) -> Tensor:
        """‖c_qk‖ [query key] of the keys in `of`."""
        of = {role: x.double() for role, x in of.items()}
        weights, values = cast(SeparatesKeys, MECHANISMS[attention.kind]).key_contributions(of)
        for tap in self.later(attention, part.layer):
            kept = self.edits[tap].kept if tap in self.edits else None
            weights = weights if kept is None else weights * rows_kept(kept, len(weights))
        if part.norm is None or part.norm.place != "res-post":
            return norms(weights, values)
        scale = self.scales[part.norm.roles["input"].tap]  # query
        return norms(weights, self.through(part.norm, values)) * scale[:, None]

    def through(self, norm: Norm, values: Tensor) -> Tensor:
        """A LayerNorm without its scale and bias: (x − mean) · gain."""
        gain = self.weight(norm.parameters["gain"]).double().cpu()
        return (values - values.mean(-1, keepdim=True)) * gain

    def tensor(self, attention: Attention, role: str, layer: int) -> Tensor:
        """A role or a parameter of an attention in a layer."""
        if role in attention.roles:
            return self.open[attention.tap(role, layer)]
        return self.weight(attention.parameters[role][layer]).cpu()

    def later(self, attention: Attention, layer: int) -> list[str]:
        """The taps after the last contribution role: an edit there replaces what the keys contribute."""
        order = list(attention.roles)
        last = max(order.index(role) for role in attention.contribution_roles if role in order)
        return [attention.tap(role, layer) for role in order[last + 1 :]]


def rows_kept(kept: Tensor, n_weights: int) -> Tensor:
    """`kept` bool [query] or [head query], for each row of weights: [1|weight query 1]. A head may have several."""
    each = kept if kept.dim() == 1 else kept.repeat_interleave(n_weights // len(kept), 0)
    return each[..., None]


def norms(weights: Tensor, values: Tensor) -> Tensor:
    """‖Σ_h weights[h, q, k] values[h, k]‖ [query key], of weights [head query key] and values [head key d_model], or
    [head query key d_model] if they differ by query.

    Computed from the heads' inner products at each key, pair by pair, so that nothing larger than query × key is made.
    With at least as many heads as dimensions (where each feature has separate weights), the sums are cheaper.
    """
    if values.dim() == 4:
        return torch.stack([norms(weights[:, q : q + 1], values[:, q])[0] for q in range(weights.shape[1])])
    if len(weights) >= values.shape[-1]:
        return norms_of_sums(weights, values)
    of_key = values.transpose(0, 1)  # key head d_model
    products = of_key @ of_key.mT  # key head head
    squares = torch.zeros(weights.shape[1:], dtype=weights.dtype)  # query key
    for head, weight in enumerate(weights):
        sums = weight * products[:, head, head]
        for other in range(head + 1, len(weights)):
            sums.addcmul_(weights[other], 2 * products[:, head, other])
        squares.addcmul_(sums, weight)
    return squares.clamp(min=0).sqrt()


def norms_of_sums(weights: Tensor, values: Tensor) -> Tensor:
    """As `norms`, key by key. Queries before the first one with a weight are skipped, as under a causal mask."""
    found = torch.zeros(weights.shape[1:], dtype=weights.dtype)  # query key
    for key in range(weights.shape[2]):
        stopping.check()
        to_key = weights[:, :, key]  # head query
        first = int(to_key.any(0).int().argmax())
        found[first:, key] = (to_key[:, first:].T @ values[:, key]).norm(dim=-1)
    return found
