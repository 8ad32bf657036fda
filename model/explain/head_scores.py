"""What a head does, from its pattern and the token ids alone: a score in [0, 1] for each known kind of head.

Two things must not pass for a habit. **An attention sink** (Xiao et al. 2024): a head with nothing to say rests its
weight on one key. So that key is taken out first, and a score is a share of the weight that is left,

    score = (hit − chance) / (rest − chance),  0 where negative,

with hit the weight on the keys that the kind asks for, rest all weight beside the sink, both summed over the rows that
count: rows that rest on the sink say little, and weigh little. **A short row**: chance is what an even spread over the
same keys would have put there, so that it scores 0. A row counts for a kind only if it has a key of that kind, and
another one, beside the sink; PADs are neither rows nor keys. `first` is the sink's own score: the same formula with
hit its weight, over rows of three keys or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

HeadKind = Literal["previous", "first", "self", "same", "induction", "spread", "alignment"]
MIN_KEYS = 3


@dataclass(frozen=True)
class Tally:
    """The sums behind a score, float64 [head] each; those of several texts add up."""

    hit: Tensor
    chance: Tensor
    rest: Tensor
    rows: Tensor
    """How many rows count."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.hit + other.hit, self.chance + other.chance, self.rest + other.rest, self.rows + other.rows
        )  # fmt: skip

    @property
    def score(self) -> Tensor:
        """(hit − chance) / (rest − chance) in [0, 1]; 0 where no row counts: [head]"""
        room = self.rest - self.chance
        return torch.where(room > 0, (self.hit - self.chance) / room.clamp(min=1e-30), 0.0).clamp(0, 1)

    @property
    def share(self) -> Tensor:
        """The part of a row's weight that the score speaks of, mean over the rows that count: [head]"""
        return self.rest / self.rows.clamp(min=1)


def self_scores(
    pattern: Tensor, ids: Sequence[int], allowed: Tensor, *, pad_id: int = -1, sink: bool = True
) -> dict[HeadKind, Tally]:
    """Tallies of a self-attention: pattern [head query key], allowed bool [(head) query key], True = may attend.

    `sink=False` leaves the first key in: what the scores would be without the rule.
    """
    p, keys, first = prepare(pattern, ids, ids, allowed, pad_id)
    at_first = {"first": first_tally(p, keys, first & ~first.mT)}
    keys = keys & ~first if sink else keys
    kinds = {kind: tally(p, keys, match) for kind, match in matches(torch.tensor(ids)).items()}
    return {**kinds, **at_first, "spread": spread_tally(p, keys)}  # type: ignore[dict-item]


def prepare(
    pattern: Tensor, query_ids: Sequence[int], key_ids: Sequence[int], allowed: Tensor, pad_id: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The pattern in float64, the cells that count, those of the first key that any query sees: [head query key]."""
    real = (torch.tensor(query_ids) != pad_id)[:, None] & (torch.tensor(key_ids) != pad_id)  # query key
    keys = (allowed & real).expand(pattern.shape)
    first = keys.any(-2, keepdim=True).to(torch.uint8).argmax(-1, keepdim=True)  # head 1 1
    is_first = torch.arange(pattern.shape[-1]) == first  # head 1 key
    return pattern.double() * keys, keys, is_first.expand(pattern.shape)


def matches(ids: Tensor) -> dict[HeadKind, Tensor]:
    """For each kind the cells that it asks for: bool [query key].

    previous: the key just before. self: the query's own. same: another one with the query's token. induction: one that
    stands behind such another one (Olsson et al. 2022). Under a causal mask the other one is an earlier one.
    """
    n = len(ids)
    own = torch.eye(n, dtype=torch.bool)
    same = (ids[:, None] == ids) & ~own
    behind = torch.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    previous = torch.ones(n, n, dtype=torch.bool).tril(-1).triu(-1)
    return {"previous": previous, "self": own, "same": same, "induction": behind & ~own}


def tally(p: Tensor, keys: Tensor, match: Tensor) -> Tally:
    """p, keys [head query key], match [query key]: the sums over the rows that have a match and a key that is none."""
    wanted = match & keys
    n_wanted, n = wanted.sum(-1), keys.sum(-1)  # head query
    counts = (n_wanted > 0) & (n_wanted < n)
    rest = (p * keys).sum(-1) * counts
    chance = rest * n_wanted / n.clamp(min=1)
    return Tally(((p * wanted).sum(-1) * counts).sum(-1), chance.sum(-1), rest.sum(-1), counts.sum(-1).double())


def first_tally(p: Tensor, keys: Tensor, first: Tensor) -> Tally:
    """The weight on the first key beyond what an even row has there; the first key's own row is left out (`first` is
    False in it)."""
    n = keys.sum(-1)
    counts = (n >= MIN_KEYS) & (first & keys).any(-1)  # head query
    rest = p.sum(-1) * counts
    chance = rest / n.clamp(min=1)
    return Tally(((p * first).sum(-1) * counts).sum(-1), chance.sum(-1), rest.sum(-1), counts.sum(-1).double())


def spread_tally(p: Tensor, keys: Tensor) -> Tally:
    """1 − the distance from an even spread (total variation, over its largest value 1 − 1/n): 0 for one key alone."""
    n = keys.sum(-1)  # head query
    counts = n >= MIN_KEYS
    rest = (p * keys).sum(-1) * counts
    even = rest[..., None] / n.clamp(min=1)[..., None]
    apart = ((p - even).abs() * keys).sum(-1) / 2 * counts  # rest · distance
    hit = rest - apart / (1 - 1 / n.clamp(min=MIN_KEYS))
    return Tally(hit.sum(-1), torch.zeros(len(p), dtype=p.dtype), rest.sum(-1), counts.sum(-1).double())
