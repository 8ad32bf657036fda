"""The logit lens (nostalgebraist 2020, "interpreting GPT: the logit lens"): what each layer's stream would predict.

It is a lens, not the model's output: only the last layer was trained to be decoded this way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from chumoku.model import stopping
from chumoku.model.describe import Description
from chumoku.model.explain.anatomy import rows_of, without
from chumoku.model.run import Run
from chumoku.model.taps import record
from chumoku.model.trace import Trace
from chumoku.model.traceable.protocols import TraceableModel

AT_ONCE = 2**22
"""How many probabilities in float64 are held at once: 32 MB. With 1,024 tokens and 50,000 answers, each depth has 400
MB."""


@dataclass(frozen=True)
class Followed:
    """One answer per row, followed through the layers. A row without an answer has id −1, probability NaN and rank
    −1."""

    ids: Tensor
    """int64 [row]"""
    probability: Tensor
    """float64 [depth row]"""
    rank: Tensor
    """int64 [depth row]: how many answers are more likely; 0 = it leads."""


@dataclass(frozen=True)
class Lens:
    """Depth 0 is before the first layer, depth n + 1 after layer n; the last depth is the model's own output.

    Answers are token ids, or the classes of an encoder-only model, whose only row is [CLS].
    """

    taps: list[str]
    """The tap that is decoded at each depth."""
    rows: list[int]
    """The position of each row; PADs have none."""
    top: Tensor
    """int64 [depth row k]: the most likely answers, best first."""
    probability: Tensor
    """float64 [depth row k]: their probabilities over the vocabulary; 0 for what is never sampled (PAD, START)."""
    final: Followed
    """The model's final first choice."""
    next: Followed
    """The token of the text that the row predicts: the next one, or in a masked language model the one at the row. The
    last row of a text, [CLS], [MASK] and rows of classes have none."""


@torch.inference_mode()
def lens_of(traceable: TraceableModel, run: Run, *, k: int = 5) -> Lens:
    """resid_post → final norm (post-norm models: none) → unembedding → softmax, at every depth and row.

    Raises what `trace` raises, and `ValueError` for a k below 1.
    """
    traced = traceable.trace(run, traceable.description.readout.stream)
    norm = traceable.description.readout.final_norm
    taps = norm.roles.values() if norm is not None else ()
    with record(edit={one.tap: run.edit[one.tap] for one in taps if one.tap in run.edit}):
        return Reading(traceable.description, traceable.about.never_sampled, traceable.read).lens(traced, k)


@dataclass(frozen=True)
class Reading:
    """How a model reads a stream [position d_model]: as logits [position vocab|class]."""

    description: Description
    never_sampled: Sequence[int]
    read: Callable[[Tensor], Tensor]

    def lens(self, run: Trace, k: int) -> Lens:
        if k < 1:
            raise ValueError(f"k must be at least 1, got k={k}")
        taps, rows = self.description.readout.stream, rows_of(self.description, run)
        final, following, depths = None, self.next_ids(run, rows), []
        for name in reversed(taps):
            logits = self.logits(run.tensors[name], rows)  # row answer
            final = logits.argmax(-1) if final is None else final
            depths.append(decoded(logits, final, following, k))
        assert final is not None
        top, probability, *followed = (torch.stack(column) for column in zip(*reversed(depths), strict=True))
        chosen, written = Followed(final, *followed[:2]), Followed(following, *followed[2:])
        return Lens(taps, rows, top, probability, chosen, written)

    def logits(self, stream: Tensor, rows: Sequence[int]) -> Tensor:
        """[row vocab|class]; −∞ for tokens that are never sampled."""
        if self.description.predicts == "classes":
            return self.read(stream[rows])
        # reads all rows, as the model does, so that no bit differs
        return without(self.read(stream)[rows], self.never_sampled)

    def next_ids(self, run: Trace, rows: Sequence[int]) -> Tensor:
        """The token of the text that each row predicts: int64 [row], −1 if there is none."""
        if self.description.predicts == "classes":
            return torch.tensor([-1])
        ids = run.ids if run.target_ids is None else run.target_ids
        if self.description.predicts == "same":
            return torch.tensor([-1 if ids[t] in self.never_sampled else ids[t] for t in rows])
        is_pad = run.pads(self.description.readout.side)
        return torch.tensor([-1 if t + 1 == len(ids) or is_pad[t + 1] else ids[t + 1] for t in rows])


def decoded(logits: Tensor, final: Tensor, following: Tensor, k: int) -> tuple[Tensor, ...]:
    """For one depth's logits [row answer]: the most likely answers and their probabilities [row k], then the
    probability and rank [row] of the ids `final` [row], and of `following` [row]."""
    at_once, parts = max(1, AT_ONCE // logits.shape[-1]), []
    for rows, chosen, written in zip(*(x.split(at_once) for x in (logits, final, following)), strict=True):
        stopping.check()
        p = rows.double().softmax(-1)
        probability, top = p.topk(min(k, p.shape[-1]))
        parts.append((top, probability, *follow(p, chosen), *follow(p, written)))
    return tuple(torch.cat(column) for column in zip(*parts, strict=True))


def follow(p: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The probability and the rank of `ids` [row] in p [row answer]."""
    there = ids >= 0
    probability = p.gather(-1, ids.clamp(min=0)[:, None])  # row 1
    rank = (p > probability).sum(-1)  # row
    return torch.where(there, probability[:, 0], torch.nan), torch.where(there, rank, -1)
