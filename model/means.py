"""What parts of a model write on average, and the edit that puts such a mean in a part's place.

A mean is over many windows of the corpus, or over given sentences, at the same position. Beside the weights there may
be `means.safetensors`: for each tap the mean at each of the first positions, float16, and in the metadata over how many
windows of what. `python -m chumoku.model.training.means` writes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from chumoku.model.describe import Description
from chumoku.model.interventions import OtherRun

FILE = "means.safetensors"


@dataclass(frozen=True)
class Means:
    """`n` windows of `on`, of at most `n_positions` tokens."""

    path: Path
    n: int
    n_positions: int
    on: str

    def of(self, tap: str) -> Tensor | None:
        """The mean of a tap [.. position ..], float32; None if it is not stored."""
        with safe_open(self.path, "pt") as file:
            return file.get_tensor(tap).float() if tap in file.keys() else None  # noqa: SIM118


def read_means(folder: Path) -> Means | None:
    """The means in a model's folder; None without the file. Raises `ValueError` naming a file that is not one."""
    path = folder / FILE
    if not os.path.lexists(path):
        return None
    try:
        with safe_open(path, "pt") as file:
            about = json.loads(file.metadata()["chumoku"])
        return Means(path, int(about["n"]), int(about["positions"]), str(about["on"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a file of means: {error}") from None


def tapped(description: Description) -> list[str]:
    """The taps whose means are stored: each head's z, and what each attention and FFN writes."""
    z = [tap for attention in description.attentions if "z" in attention.roles for tap in attention.roles["z"].taps]
    sublayers = [part for stack in description.stacks for part in stack.sublayers]
    return list(dict.fromkeys([*z, *(tap.tap for part in sublayers for tap in (part.writes, part.added))]))


class MeanSource(Protocol):
    """Where a mean comes from: the numbers [.. position ..] of one tap, at each position and over all."""

    def at_positions(self) -> Tensor: ...


@dataclass(frozen=True)
class StoredMean:
    mean: Tensor

    def at_positions(self) -> Tensor:
        return self.mean


@dataclass(frozen=True)
class MeanOverRuns:
    """The mean over runs, at each position over those that have it."""

    runs: Sequence[OtherRun]
    tap: str
    axis: int

    def at_positions(self) -> Tensor:
        found = [run.tensors[self.tap].movedim(self.axis, 0) for run in self.runs]  # position ..
        longest = max(len(x) for x in found)
        rows = [torch.stack([x[t] for x in found if t < len(x)]).mean(0) for t in range(longest)]
        return torch.stack(rows).movedim(0, self.axis)


@dataclass(frozen=True)
class ReplaceByMean:
    """Replaces the numbers of a head, or all, by a mean at the same position. Later positions than the mean has get its
    mean over all of them.

    `axis` counts positions, without the batch; `first`: the row of position 0, after PADs on the left; `by_key`: its
    rows are all keys so far, whatever the first query.
    """

    source: MeanSource
    axis: int
    head: int | None = None
    first: int = 0
    by_key: bool = False

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head? position ..]"""
        mean = self.source.at_positions().movedim(self.axis, 0).to(x)  # position head? ..
        rows = torch.cat((mean, mean.mean(0, keepdim=True)))
        start = (0 if self.by_key else first_query) - self.first
        at = torch.arange(start, start + x.shape[1 + self.axis], device=x.device).clamp(0, len(mean))
        new = rows[at].movedim(0, self.axis)  # head? position ..
        if self.head is None:
            return new.expand_as(x).clone()
        x[:, self.head] = new[self.head]
        return x


def means_over(windows: Sequence[Mapping[str, Tensor]], axes: Mapping[str, int], n_positions: int) -> dict[str, Tensor]:
    """The mean of each tap over windows, at each of the first positions that any of them has: float16."""
    found = {}
    for tap, axis in axes.items():
        rows = [window[tap].movedim(axis, 0)[:n_positions].double() for window in windows]  # position ..
        longest = max(len(x) for x in rows)
        mean = torch.stack([torch.stack([x[t] for x in rows if t < len(x)]).mean(0) for t in range(longest)])
        found[tap] = mean.movedim(0, axis).half().contiguous()
    return found
