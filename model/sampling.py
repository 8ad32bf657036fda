"""From logits to a token, in transformers' order: repetition penalty (Keskar et al. 2019), banned tokens, temperature,
top-k, top-p (Holtzman et al. 2020), min-p (Nguyen et al. 2024), and the draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SamplingSettings:
    """temperature 0 is greedy; top_k 0, top_p 1 and min_p 0 keep every token, repetition_penalty 1 changes none.
    `banned` are sequences of ids that are not written: the last id of each is banned where the text ends with those
    before it. Raises `ValueError` for values out of range."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    banned: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be a finite number, 0 or more, got {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top_k must be 0 (off) or more, got {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p}")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p must be in [0, 1], got {self.min_p}")
        if not (math.isfinite(self.repetition_penalty) and self.repetition_penalty > 0):
            raise ValueError(f"repetition_penalty must be a finite number above 0, got {self.repetition_penalty}")
        if self.seed < 0:
            raise ValueError(f"seed must be 0 or more, got {self.seed}")


@dataclass(frozen=True)
class Distribution:
    """The next token's probabilities, each [vocab], float64, on the CPU.

    `before`: softmax(logits) over the whole vocabulary; `after`: what is sampled from, 0 for dropped tokens; `kept`:
    bool, what the filters keep; `cut`: uint8, which filter dropped a token (1 + its index in `FILTERS`; 0: none did,
    which also holds where the temperature rounds a probability to 0); `ranked`: the ids of the kept, the most likely
    first; `masses`: the probability that each filter dropped, at the given temperature and penalty.
    """

    before: Tensor
    after: Tensor
    kept: Tensor
    cut: Tensor
    ranked: Tensor
    masses: tuple[float, ...]

    @property
    def n_kept(self) -> int:
        return len(self.ranked)

    @property
    def entropy_bits(self) -> float:
        """H(before) in bits."""
        return float(torch.special.entr(self.before).sum() / math.log(2))


FILTERS = ("banned", "top_k", "top_p", "min_p")
"""In the order in which they are applied."""


def distribution(
    logits: Tensor, settings: SamplingSettings, banned: Sequence[int] = (), seen: Sequence[int] = ()
) -> Distribution:
    """Probabilities over the whole vocabulary first, then the settings: logits [vocab] → `Distribution`.

    Tokens in `banned` (PAD) have probability 0 in every part; those of `settings.banned` only after the settings. Those
    in `seen`, the text so far, are penalised. Ties are broken by the lower id. Raises `ValueError` if nothing is left.
    """
    logits = logits.detach().to("cpu", torch.float64, copy=True)  # vocab
    row = logits.numpy()  # the same memory: NumPy takes a third of torch's time for what is this small
    row[list(banned)] = -np.inf
    before = logits.softmax(-1)
    penalise(row, settings.repetition_penalty, seen)
    forbidden = [one for one in endings(settings.banned, seen) if before[one] > 0]
    mass_banned = float(tempered_by(settings.temperature, row)[forbidden].sum()) if forbidden else 0.0
    row[forbidden] = -np.inf
    if not (row > -np.inf).any():
        raise ValueError("every token is banned")
    tempered = tempered_by(settings.temperature, row)

    order = ranking(tempered, settings.top_k or len(tempered))  # rank
    ordered = tempered[order]
    keep = ordered > 0
    # The smallest set of tokens whose probability reaches top_p: a token stays if those before it do not reach it.
    if settings.top_p < 1:
        keep &= ordered.cumsum() - ordered < settings.top_p * ordered.sum()
        keep[0] = True  # the product of a subnormal top_p rounds to 0, which keeps nothing
    likely = ordered >= settings.min_p * ordered[0]
    reached, unlikely = (ordered > 0) & ~keep, keep & ~likely
    keep &= likely
    ranked, shares = order[keep], ordered[keep]

    cut = np.where(tempered > 0, np.uint8(2), np.uint8(0))  # vocab; 2: by top-k, which `order` was not
    cut[order] = np.where(reached, np.uint8(3), np.where(unlikely, np.uint8(4), np.uint8(0)))
    cut[forbidden] = 1
    kept, after = np.zeros(len(row), bool), np.zeros(len(row))
    kept[ranked], after[ranked] = True, shares / shares.sum()
    tempered[order] = 0
    others = (float(tempered.sum()), float(ordered[reached].sum()), float(ordered[unlikely].sum()))
    masses = (mass_banned, *((1 - mass_banned) * mass for mass in others))
    of = torch.from_numpy
    return Distribution(before, of(after), of(kept), of(cut), of(ranked), masses)


def penalise(logits: Array, penalty: float, seen: Sequence[int]) -> None:
    """A token that the text has already is less likely: its logit is divided by the penalty; multiplied if negative."""
    if penalty != 1 and seen:
        ids = sorted(set(seen))
        theirs = logits[ids]
        logits[ids] = np.where(theirs > 0, theirs / penalty, theirs * penalty)


def endings(sequences: Sequence[Sequence[int]], seen: Sequence[int]) -> list[int]:
    """The ids that would complete one of `sequences` after `seen`, each once."""
    return sorted({one[-1] for one in sequences if list(one[:-1]) == list(seen[len(seen) - len(one) + 1 :])})


def tempered_by(temperature: float, logits: Array) -> Array:
    """softmax(logits / temperature), float64; at 0 the limit, all on the largest."""
    if not temperature:
        one_hot = np.zeros(len(logits))
        one_hot[logits.argmax()] = 1.0
        return one_hot
    # Without the subtraction, a temperature near 0 gives infinities, whose softmax is NaN.
    return (torch.from_numpy(logits - logits.max()) / temperature).softmax(-1).numpy()


def likeliest(p: Tensor, n: int) -> Tensor:
    """The ids of the `n` largest of p [vocab], largest first, or all if there are fewer; ties go to the lower id."""
    return torch.from_numpy(ranking(p.numpy(), n))


def most_likely(logits: Tensor, banned: Sequence[int] = ()) -> int:
    """The id of the largest of logits [vocab] that is not banned; ties go to the lower id."""
    row = logits.detach().cpu().numpy().copy()
    row[list(banned)] = -np.inf
    return int(row.argmax())


def ranking(p: Array, n: int) -> Array:
    if n > len(p) // 2:
        return np.argsort(-p, kind="stable")[:n]
    ids = np.flatnonzero(p >= np.partition(p, len(p) - n)[len(p) - n])  # more than n with ties; only these are sorted
    return ids[np.argsort(-p[ids], kind="stable")[:n]]


def uniform(seed: int, index: int) -> float:
    """The random number in [0, 1) that picks the token at `index`. Depends only on seed and index, so any step can be
    replayed."""
    # From an array, the generator is the one of the list [seed, index], in a fifth of the time.
    entropy = np.array([seed, index], np.uint32) if max(seed, index) < 2**32 else [seed, index]
    return float(np.random.default_rng(entropy).random())


def draw(dist: Distribution, u: float) -> int:
    """The token whose interval of [0, 1) contains `u`; the intervals are ordered by probability, largest first.

    Float32 sums taken in another order (several tokens read at once, or one by one) can draw another token where `u` is
    within 1e-5 of a border, or where two tokens are equally likely within 1e-4 of their probability: those can swap.
    """
    ranked = dist.ranked.numpy()
    place = int(np.searchsorted(dist.after.numpy()[ranked].cumsum(), u, side="right"))
    return int(ranked[min(place, len(ranked) - 1)])
