"""What a request runs, found to be in order before the model runs: shared by traces and explanations."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from app.api.run import Run
from app.errors import AppError
from app.services import tokens
from app.services.interventions.base import Lengths, Site
from app.services.interventions.edits import Edits, edits_of
from app.services.targets import Target, target_of
from model.checkpoint import Checkpoint
from model.describe import describe
from model.explain.anatomy import Options
from model.trace import Masks, Padding, pad_ids, trace

MAX_SOURCES = 16


@dataclass(frozen=True)
class RunPlan:
    """One run: the ids that are read ([CLS] included, PADs not), the target, and how."""

    checkpoint: Checkpoint
    ids: list[int]
    target: Target | None
    use: Masks
    pad: Padding
    edits: Edits

    @property
    def options(self) -> Options:
        """What `model.trace.trace` and all of `model.explain` take beside the ids."""
        options: Options = {"use": self.use, "pad": self.pad, "edit": self.edits.taps}
        return options if self.target is None else {**options, "target": self.target.ids}

    @property
    def padded(self) -> list[int]:
        """The ids with their PADs: positions count in these."""
        return pad_ids(self.ids, self.pad, self.checkpoint.tokenizer.pad_id)

    @property
    def lengths(self) -> Lengths:
        return lengths_of(self.ids, self.target, self.pad)


def plan_run(checkpoint: Checkpoint, request: Run, max_chars: int) -> RunPlan:
    """Read the request; where it gives a translator no target, let the model write one.

    Raises `AppError` for whatever is wrong with the sentence, the target or the interventions.
    """
    pad = Padding(request.pad.count, request.pad.side, request.pad.follow)
    ids = tokens.read(checkpoint, request, max_chars)
    target = target_of(checkpoint, ids, request.target, request.target_ids, max_chars)
    lengths = lengths_of(ids, target, pad)
    site = Site(checkpoint.name, describe(checkpoint.config), lengths, lengths, Traced(checkpoint, max_chars))
    use = Masks(request.masks.causal, request.masks.padding)
    return RunPlan(checkpoint, ids, target, use, pad, edits_of(request.interventions, site))


class Traced:
    """One tensor of another run, as interventions ask for it."""

    def __init__(self, checkpoint: Checkpoint, max_chars: int) -> None:
        self.checkpoint, self.max_chars = checkpoint, max_chars
        self.left = MAX_SOURCES

    def __call__(self, run: Run, tap: str) -> Tensor:
        """Raises `too_many_sources`, and what is wrong with the run."""
        if not self.left:
            message = f"A run takes numbers from more than {MAX_SOURCES} others."
            raise AppError("too_many_sources", message, "Take fewer.", where="interventions", limit=MAX_SOURCES)
        self.left -= 1
        plan = plan_run(self.checkpoint, run, self.max_chars)
        return trace(self.checkpoint, plan.ids, [tap], **plan.options).tensors[tap]


def lengths_of(ids: list[int], target: Target | None, pad: Padding) -> Lengths:
    return {"source": len(ids) + pad.count, "target": len(target.ids) if target else 0}
