"""Whether a cross-attention head aligns target with source: different target tokens look at different source tokens.

The score is Cramér's V² (Cramér 1946, section 21.9) of the pattern, read as a contingency table of target token i and
source token j:

    V² = φ² / (m − 1),  φ² + 1 = Σ_ij N_ij² / (r_i c_j),  r_i = Σ_j N_ij,  c_j = Σ_i N_ij,  m = min(rows, keys).

It is 0 if all rows are the same (one sink, two sinks, or an even spread), and 1 if each source token has its own target
tokens, in any order (Japanese reverses English word order) and any number (a word may be several tokens). The key with
the most weight is removed first, so that a sink does not hide an alignment. Rows count by their remaining weight;
`rows` is their effective number (Σ r)² / Σ r². V² measures whether a head distinguishes source tokens, not whether it
finds the right ones.
"""

from __future__ import annotations

import torch
from torch import Tensor

from chumoku.model.explain.head_scores import MIN_KEYS, HeadKind, Tally, first_tally, prepare, spread_tally


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
