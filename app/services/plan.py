"""What a request runs, found to be in order before the model runs: shared by traces and explanations."""

from __future__ import annotations

from dataclasses import dataclass

from app.api.run import RunRequest
from app.services import tokens
from app.services.edits import Lengths, edits_of
from app.services.targets import Target, target_of
from model.checkpoint import Checkpoint
from model.explain.anatomy import Options
from model.taps import Edit
from model.trace import Masks, Padding, pad_ids


@dataclass(frozen=True)
class RunPlan:
    """One run: the ids that are read ([CLS] included, PADs not), the target, and how."""

    checkpoint: Checkpoint
    ids: list[int]
    target: Target | None
    use: Masks
    pad: Padding
    edits: dict[str, Edit]

    @property
    def options(self) -> Options:
        """What `model.trace.trace` and all of `model.explain` take beside the ids."""
        options: Options = {"use": self.use, "pad": self.pad, "edit": self.edits}
        return options if self.target is None else {**options, "target": self.target.ids}

    @property
    def padded(self) -> list[int]:
        """The ids with their PADs: positions count in these."""
        return pad_ids(self.ids, self.pad, self.checkpoint.tokenizer.pad_id)

    @property
    def lengths(self) -> Lengths:
        return lengths_of(self.ids, self.target, self.pad)


def plan_run(checkpoint: Checkpoint, request: RunRequest, max_chars: int) -> RunPlan:
    """Read the request; where it gives a translator no target, let the model write one.

    Raises `AppError` for whatever is wrong with the sentence, the target or the interventions.
    """
    pad = Padding(request.pad.count, request.pad.side, request.pad.follow)
    ids = tokens.resolve(checkpoint, request.text, request.token_ids, max_chars, pad.count)
    target = target_of(checkpoint, ids, request.target, request.target_ids, max_chars)
    edits = edits_of(request.interventions, checkpoint.config, lengths_of(ids, target, pad))
    use = Masks(request.masks.causal, request.masks.padding)
    return RunPlan(checkpoint, ids, target, use, pad, edits)


def lengths_of(ids: list[int], target: Target | None, pad: Padding) -> Lengths:
    return {"source": len(ids) + pad.count, "target": len(target.ids) if target else 0}
