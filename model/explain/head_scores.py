"""What a head does, from its pattern and the token ids: a score in [0, 1] for each known kind of head.

Two effects must not be mistaken for behaviour. **An attention sink** (Xiao et al. 2024): an idle head puts its weight
on one key. That key is removed first, and a score is a share of the remaining weight,

    score = (hit − chance) / (rest − chance),  0 if negative,

where hit is the weight on the keys that the kind asks for and rest is all weight outside the sink, both summed over the
counted rows: rows on the sink say little and weigh little. **A short row**: chance is the weight that an even spread
would put on the same keys, so an even spread scores 0. A row counts for a kind only if it has a key of that kind and
another key, outside the sink. PADs are neither rows nor keys. `first` is the score of the sink itself: the same formula
with its weight as hit, over rows of three keys or more.

A cross-attention head has a score for alignment: different target tokens attend to different source tokens. It is
Cramér's V² (Cramér 1946, section 21.9) of the pattern, read as a contingency table of target tokens i and source tokens
j:

    V² = φ² / (m − 1),  φ² + 1 = Σ_ij N_ij² / (r_i c_j),  r_i = Σ_j N_ij,  c_j = Σ_i N_ij,  m = min(rows, keys).

It is 0 if all rows are the same (one sink, two sinks, or an even spread), and 1 if each source token has its own target
tokens, in any order (Japanese reverses English word order) and any number (a word may be several tokens). The key with
the most weight is removed first, so that a sink does not hide an alignment. Rows count by their remaining weight, so
`rows` in m is their effective number (Σ r)² / Σ r². V² measures whether a head distinguishes source tokens, not whether
it finds the right ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import torch
from torch import Tensor

HeadKind = Literal["previous", "first", "self", "same", "induction", "spread", "alignment"]
MIN_KEYS = 3


@dataclass(frozen=True)
class Tally:
    """The sums that make up a score, each float64 [… head]."""

    hit: Tensor
    chance: Tensor
    rest: Tensor
    rows: Tensor
    """The number of counted rows."""

    @property
    def score(self) -> Tensor:
        """(hit − chance) / (rest − chance) in [0, 1]; 0 if no row counts: [… head]"""
        span = self.rest - self.chance
        return torch.where(span > 0, (self.hit - self.chance) / span.clamp(min=1e-30), 0.0).clamp(0, 1)

    @property
    def share(self) -> Tensor:
        """The share of a row's weight that the score covers, averaged over the counted rows: [… head]"""
        return self.rest / self.rows.clamp(min=1)


def join(parts: Sequence[Tally], dim: int = 0) -> Tally:
    """Concatenate tallies of groups of layers; with `dim` −1, of groups of heads."""
    return Tally(*(torch.cat([getattr(part, column.name) for part in parts], dim) for column in fields(Tally)))


def self_scores(pattern: Tensor, ids: Sequence[int], counted: Tensor, *, sink: bool = True) -> dict[HeadKind, Tally]:
    """Tallies of a self-attention, of one layer or of several. pattern [… head query key], counted bool
    [(… head) query key]: True = the query may attend to the key, and neither is a PAD.

    `sink=False` keeps the first key: the scores without the sink rule.
    """
    p, keys, first = prepare(pattern, counted)
    at_first = {"first": first_tally(p, keys, first & ~first.mT)}
    keys = keys & ~first if sink else keys
    kinds = {kind: tally(p, keys, match) for kind, match in matches(torch.tensor(ids)).items()}
    return {**kinds, **at_first, "spread": spread_tally(p, keys)}  # type: ignore[dict-item]


def prepare(pattern: Tensor, counted: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The pattern in float64, the counted cells, and the cells of the first key that any query may attend to: each […
    head query key]."""
    keys = counted.expand(pattern.shape)
    first = keys.any(-2, keepdim=True).to(torch.uint8).argmax(-1, keepdim=True)  # … head 1 1
    is_first = torch.arange(pattern.shape[-1]) == first  # … head 1 key
    return pattern.double() * keys, keys, is_first.expand(pattern.shape)


def matches(ids: Tensor) -> dict[HeadKind, Tensor]:
    """The cells that each kind asks for: bool [query key].

    previous: the key just before. self: the query itself. same: another occurrence of the query's token. induction: the
    key after another occurrence (Olsson et al. 2022). Under a causal mask, the other occurrence is an earlier one.
    """
    n = len(ids)
    itself = torch.eye(n, dtype=torch.bool)
    same = (ids[:, None] == ids) & ~itself
    after = torch.zeros_like(same)
    after[:, 1:] = same[:, :-1]
    previous = torch.ones(n, n, dtype=torch.bool).tril(-1).triu(-1)
    return {"previous": previous, "self": itself, "same": same, "induction": after & ~itself}


def tally(p: Tensor, keys: Tensor, match: Tensor) -> Tally:
    """The sums over the rows with a matching key and another key. p, keys [… head query key], match [query key]."""
    wanted = match & keys
    n_wanted, n = wanted.sum(-1), keys.sum(-1)  # … head query
    counts = (n_wanted > 0) & (n_wanted < n)
    rest = (p * keys).sum(-1) * counts
    chance = rest * n_wanted / n.clamp(min=1)
    return Tally(((p * wanted).sum(-1) * counts).sum(-1), chance.sum(-1), rest.sum(-1), counts.sum(-1).double())


def first_tally(p: Tensor, keys: Tensor, first: Tensor) -> Tally:
    """The weight on the first key above an even share; the row of the first key itself is excluded (`first` is False in
    it)."""
    n = keys.sum(-1)
    counts = (n >= MIN_KEYS) & (first & keys).any(-1)  # … head query
    rest = p.sum(-1) * counts
    chance = rest / n.clamp(min=1)
    return Tally(((p * first).sum(-1) * counts).sum(-1), chance.sum(-1), rest.sum(-1), counts.sum(-1).double())


def spread_tally(p: Tensor, keys: Tensor) -> Tally:
    """1 − the distance from an even spread (total variation, divided by its maximum 1 − 1/n): 0 for a single key."""
    n = keys.sum(-1)  # … head query
    counts = n >= MIN_KEYS
    rest = (p * keys).sum(-1) * counts
    even = rest[..., None] / n.clamp(min=1)[..., None]
    apart = ((p - even).abs() * keys).sum(-1) / 2 * counts  # rest · distance
    hit = rest - apart / (1 - 1 / n.clamp(min=MIN_KEYS))
    hit, rest = hit.sum(-1), rest.sum(-1)
    return Tally(hit, torch.zeros_like(hit), rest, counts.sum(-1).double())


def cross_scores(pattern: Tensor, counted: Tensor) -> dict[HeadKind, Tally]:
    """Tallies of a cross-attention, of one layer or of several. pattern [… head query key], counted bool
    [(… head) query key]: True = the query may attend to the key, and neither is a PAD."""
    p, keys, first = prepare(pattern, counted)
    without = without_sink(p, keys)
    return {
        "alignment": alignment_tally(p * without, without),
        "first": first_tally(p, keys, first),
        "spread": spread_tally(p, without),
    }


def without_sink(p: Tensor, keys: Tensor) -> Tensor:
    """`keys` [… head query key] without the key that gets the most weight, for each head."""
    most = p.sum(-2, keepdim=True).argmax(-1, keepdim=True)  # … head 1 1
    return keys & (torch.arange(p.shape[-1]) != most)


def alignment_tally(n: Tensor, keys: Tensor) -> Tally:
    """V² of each head's table N [… head query key], as a tally: hit = V² · Σ r."""
    r, c = n.sum(-1), n.sum(-2)  # … head query, … head key
    phi = (n.square() / (r[..., None] * c[..., None, :]).clamp(min=1e-30)).sum((-2, -1)) - 1
    n_rows = r.sum(-1).square() / r.square().sum(-1).clamp(min=1e-30)
    m = torch.minimum(n_rows, keys.any(-2).sum(-1))
    counts = keys.any(-1).sum(-1)  # … head
    enough = (counts >= MIN_KEYS) & (m > 1 + 1e-9)
    v = torch.where(enough, phi / (m - 1).clamp(min=1e-9), 0.0).clamp(0, 1)
    rest = r.sum(-1)
    return Tally(v * rest, torch.zeros_like(rest), rest, counts.double())
