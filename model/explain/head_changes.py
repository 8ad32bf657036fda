"""How far each head's weights move from one run to another, without holding all weights of either in memory.

With 24 × 16 heads and 1,024 tokens, the weights of a run are 1.6 GB. So layers are compared in parts: the first run's
weights are kept as float16, and the second run is measured against them while it runs (`taps.keeping`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from chumoku.model.describe import Attention, Side
from chumoku.model.run import Run
from chumoku.model.taps import Keep, keeping
from chumoku.model.traceable import TraceableModel

KEPT = 2**27
"""How many weights of the first run are kept at once, two bytes each."""

Places = Mapping[Side, Sequence[int | None] | None]
"""For each side's tokens in the first run, their positions in the second (None: not in it). A side without places is
not compared."""


@dataclass(frozen=True)
class Change:
    """How one attention changed, float64 [layer head]: means over the rows of the sentence, PADs not included."""

    attention: str
    moved: Tensor
    """Total variation ½ Σ|after − before| of the rows in both runs."""
    future: Tensor
    """The weight on later tokens in the second run, if the model is causal."""
    pad: Tensor
    """The weight on PADs in the second run."""


@torch.inference_mode()
def changes_of(traceable: TraceableModel, before: Run, after: Run, places: Places) -> list[Change]:
    """One change for each attention with an overview whose tokens correspond, in the order of the forward pass."""
    compared = [
        attention
        for attention in traceable.description.attentions
        if attention.overview and places[attention.queries] and places[attention.keys]
    ]
    found: dict[str, Tensor] = {}
    for names in parts(compared, places):
        with keeping(dict.fromkeys(names, Tensor.half)):
            was = traceable.trace(before, list(names)).tensors
        meeting = {name: Meeting(attention, places, before, after) for name, attention in names.items()}
        measured: dict[str, Keep] = {name: meeting[name].against(was.pop(name)) for name in names}
        with keeping(measured):
            found |= traceable.trace(after, list(names)).tensors
    stacked = {
        attention.id: torch.stack([found[tap] for tap in attention.roles[str(attention.overview)].taps])
        for attention in compared
    }
    return [Change(attention.id, *stacked[attention.id].unbind(-1)) for attention in compared]


def parts(attentions: Sequence[Attention], places: Places) -> Iterator[dict[str, Attention]]:
    """The overviews by their taps, in parts that fit into `KEPT`."""
    part: dict[str, Attention] = {}
    left = KEPT
    for attention in attentions:
        size = attention.n_head * len(places[attention.queries] or []) * len(places[attention.keys] or [])
        for tap in attention.roles[str(attention.overview)].taps:
            if part and size > left:
                yield part
                part, left = {}, KEPT
            part[tap] = attention
            left -= size
    if part:
        yield part


class Meeting:
    """Which rows and keys of an attention correspond in two runs."""

    def __init__(self, attention: Attention, places: Places, before: Run, after: Run) -> None:
        queries, keys = places[attention.queries] or [], places[attention.keys] or []
        real_tokens = real(before, attention.queries, len(queries))
        rows = [(was, now) for was, now in enumerate(queries) if was in real_tokens and now is not None]
        both = [(was, now) for was, now in enumerate(keys) if now is not None]
        self.rows, self.keys = (torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T for pairs in (rows, both))
        self.attention, self.after = attention, after

    def against(self, was: Tensor) -> Keep:
        """Reduces the second run's weights [1 head query key], compared with `was` [head query key], to [1 head 3]: the
        three numbers of `Change`."""

        def measured(x: Tensor) -> Tensor:
            heads = [[self.moved(a.float(), b), *self.leaks(b)] for a, b in zip(was, halves(x[0]), strict=True)]
            return torch.tensor([heads], dtype=torch.float64)

        return measured

    def moved(self, was: Tensor, now: Tensor) -> float:
        """Total variation of was and now [query key]. A key that only one run has counts with weight 0 in the other."""
        if not self.rows.shape[1]:
            return 0.0
        a, b = was[self.rows[0]], now[self.rows[1]]
        both = (a[:, self.keys[0]] - b[:, self.keys[1]]).abs().sum(dtype=torch.float64)
        gone = without(a, self.keys[0]).sum(dtype=torch.float64) + without(b, self.keys[1]).sum(dtype=torch.float64)
        return float(both + gone) / 2 / self.rows.shape[1]

    def leaks(self, now: Tensor) -> tuple[float, float]:
        """The share of weight on later tokens and on PADs, in the sentence's rows."""
        queries, keys = (
            real(self.after, side, n)
            for side, n in zip((self.attention.queries, self.attention.keys), now.shape, strict=True)
        )
        rows = now[queries.start : queries.stop]
        within = rows[:, keys.start : keys.stop]
        later = within.triu(1 + queries.start - keys.start).sum(dtype=torch.float64) if self.attention.causal else 0.0
        outside = rows[:, : keys.start].sum(dtype=torch.float64) + rows[:, keys.stop :].sum(dtype=torch.float64)
        return float(later) / len(queries), float(outside) / len(queries)


def halves(x: Tensor) -> Iterator[Tensor]:
    """Each head of x [head query key], rounded like the first run's weights, so that equal runs differ by 0."""
    return (head.half().float().cpu() for head in x)


def without(x: Tensor, keys: Tensor) -> Tensor:
    """x [query key] without these keys."""
    left = torch.ones(x.shape[1], dtype=torch.bool)
    left[keys] = False
    return x[:, left]


def real(run: Run, side: Side, n: int) -> range:
    """The positions of the sentence's tokens among n; all others are PADs."""
    count = run.pad.count if side == "source" else 0
    return range(count, n) if run.pad.side == "left" else range(n - count)
