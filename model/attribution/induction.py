"""What every head does on random tokens that repeat: prefix matching and copying (Olsson et al. 2022, "In-context
Learning and Induction Heads", where a head with both is an induction head).

Nothing of what is measured can be known from the language, only from the earlier occurrence. **Prefix matching** is
the mean weight on the token after the earlier occurrence of the current one. **Copying** is how far a head's direct
effect raises the logit of the token that it attends to most, among those of the sequence: of the logits that the head
adds at a row, those above their mean, the share of that token. The share of a token that has nothing to do with what
the head writes is one of n, on average. The head's write is read with the norms and their scales of its own run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from chumoku.model import stopping
from chumoku.model.attribution.logit_attribution import norm_taps
from chumoku.model.attribution.walk_back import WalkBack, Weights, writes_by_part
from chumoku.model.describe import Attention, AttentionSublayer
from chumoku.model.run import Run
from chumoku.model.trace import Trace
from chumoku.model.traceable.protocols import TraceableModel

REPEATED, SEQUENCES = 24, 4
"""Random tokens before they repeat, and how many such sequences are averaged."""


@dataclass(frozen=True)
class InductionHead:
    """A head of an attention (by its id): its prefix matching, a mean weight, and its copying, a mean share; each in
    [0, 1]. `copying` is None for a model whose logits are not a sum over what its heads write."""

    attention: str
    layer: int
    head: int
    prefix_matching: float
    copying: float | None


@dataclass(frozen=True)
class Induction:
    """Every head, in the model's order. `chance`: prefix matching of a head that attends evenly; `copying_chance`: one
    of the `repeated` tokens."""

    heads: list[InductionHead]
    repeated: int
    sequences: int
    chance: float
    copying_chance: float


@torch.inference_mode()
def induction_of(traceable: TraceableModel) -> Induction:
    """Raises `ValueError` for a model without heads that read the tokens it predicts, and for one that reads too few
    tokens."""
    description, n = traceable.description, n_repeated(traceable)
    parts = [part for part in description.readout.sublayers if isinstance(part, AttentionSublayer)]
    parts = [part for part in parts if reads_tokens(description.attention(part.attention))]
    if description.predicts not in ("next", "same") or not parts or "target" in description.sides:
        raise ValueError(f"{traceable.name} has no heads that read the tokens it predicts")
    if n < 2:
        raise ValueError(f"{traceable.name} reads too few tokens: they could not repeat")
    weights = Weights(description, cache(lambda name: traceable.weights([name])[name]))
    found_on = [scores_on(traceable, weights, parts, ids) for ids in sequences(traceable, n)]
    means = [torch.stack(ones).mean(0) for ones in zip(*found_on, strict=True)]  # score head, for each part
    heads = [
        InductionHead(part.attention, part.layer, head, float(found[0, head]), finite(found[1, head]))
        for part, found in zip(parts, means, strict=True)
        for head in range(found.shape[1])
    ]
    return Induction(heads, n, SEQUENCES, chance(n, parts_causal(traceable, parts)), 1 / n)


def finite(x: Tensor) -> float | None:
    return float(x) if bool(x.isfinite()) else None


def reads_tokens(about: Attention) -> bool:
    return about.queries == about.keys and "pattern" in about.roles


def parts_causal(traceable: TraceableModel, parts: list[AttentionSublayer]) -> bool:
    return any(traceable.description.attention(part.attention).causal for part in parts)


def n_repeated(traceable: TraceableModel) -> int:
    return min(REPEATED, traceable.description.max_seq_len // 2)


def chance(n: int, causal: bool) -> float:
    """The mean weight of one key, where every key of a repeated sequence's second half gets the same."""
    keys = range(n + 1, 2 * n + 1) if causal else [2 * n]
    return sum(1 / n_keys for n_keys in keys) / len(keys)


def sequences(traceable: TraceableModel, n: int) -> Iterator[list[int]]:
    """Random tokens, none of them special and no two the same: the same ones for each vocabulary."""
    never = {*traceable.about.never_sampled, *traceable.about.special.ids}
    tokens = torch.tensor([id for id in range(traceable.description.vocab_size) if id not in never])
    if len(tokens) < n:
        raise ValueError(f"{traceable.name} has too few tokens")
    generator = torch.Generator().manual_seed(0)
    for _ in range(SEQUENCES):
        yield tokens[torch.randperm(len(tokens), generator=generator)[:n]].tolist()


def scores_on(
    traceable: TraceableModel, weights: Weights, parts: list[AttentionSublayer], ids: list[int]
) -> list[Tensor]:
    """Prefix matching and copying on `ids` twice: [score head] for each part."""
    stopping.check()
    description, n = traceable.description, len(ids)
    can = description.can
    splits = can.get("direct", False) or can.get("contributions", False)
    patterns = [description.attention(part.attention).tap("pattern", part.layer) for part in parts]
    writes = [writes_by_part(description, part) for part in parts] if splits else []
    run = traceable.trace(Run(ids * 2), [*patterns, *writes, *(norm_taps(description, {}) if splits else [])])
    found = []
    for part, tap in zip(parts, patterns, strict=True):
        pattern = run.tensors[tap].double()  # head query key
        first = pattern.shape[-1] - 2 * n  # [CLS] may be before the tokens
        rows = torch.arange(first + n, first + 2 * n)
        matched = pattern[:, rows, rows - n + 1].mean(-1)
        attended = pattern[:, rows].argmax(-1) - first  # head row
        copied = copying(weights, run, part, ids, rows, attended) if splits else torch.full_like(matched, torch.nan)
        found.append(torch.stack([matched, copied]))
    return found


def copying(
    weights: Weights, run: Trace, part: AttentionSublayer, ids: list[int], rows: Tensor, attended: Tensor
) -> Tensor:
    """The mean share of each head [head] over `rows`. `attended` [head row]: the place in the sequence; negative: none
    of its tokens."""
    description = weights.description
    about = description.attention(part.attention)
    wrote = run.tensors[writes_by_part(description, part)].double()  # head position d_head|d_model
    if "head_out" not in about.roles:
        w_o = weights.parameter(about.parameters["w_o"][part.layer]).double().cpu()  # d_model head·d_head
        wrote = torch.einsum("hpd,mhd->hpm", wrote, w_o.unflatten(1, (len(wrote), -1)))
    unembedding = description.logits.parameters["unembedding"]
    assert unembedding is not None  # the logits are a sum
    w_u = weights.parameter(unembedding)[ids].double().cpu()  # id d_model
    at_rows = {tap: run.tensors[tap][rows].double() for tap in norm_taps(description, {})}  # row d_model
    logits = WalkBack(weights, at_rows, w_u, w_u[0]).as_read(wrote[:, rows], part) @ w_u.T  # head row id
    raised = (logits - logits.mean(-1, keepdim=True)).relu()
    shares = raised / raised.sum(-1, keepdim=True).clamp(min=1e-30)
    own = shares.gather(-1, attended[..., None].clamp(min=0) % len(ids))[..., 0]
    return torch.where(attended < 0, 0.0, own).mean(-1)
