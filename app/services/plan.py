"""A checked run, validated before the model runs: shared by traces and explanations."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from chumoku.app.api.run import Run
from chumoku.app.errors import AppError, inside
from chumoku.app.services import tokens
from chumoku.app.services.capabilities import explained
from chumoku.app.services.interventions.base import Lengths, Site
from chumoku.app.services.interventions.edits import Edits, edits_of
from chumoku.app.services.pictures import bytes_of, check_hidden
from chumoku.app.services.targets import Target, resolve, start_of, target_of
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Side
from chumoku.model.explain.anatomy import Options
from chumoku.model.interventions import OtherRun
from chumoku.model.run import Run as ModelRun
from chumoku.model.trace import Masks, Padding, pad_ids
from chumoku.model.traceable import TraceableModel

MAX_SOURCES = 16


@dataclass(frozen=True)
class RunPlan:
    """One run: the ids ([CLS] included, PADs not), the target, and the options."""

    traceable: TraceableModel
    ids: list[int]
    target: Target | None
    use: Masks
    pad: Padding
    edits: Edits
    pixels: bytes | None = None
    """Of a picture whose ids are only places."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The modules that an explanation needs. Raises `cannot` for a model that is not made of ours."""
        return explained(self.traceable)

    @property
    def options(self) -> Options:
        """The arguments of `model.trace.trace` and of `chumoku.model.explain`, besides the ids."""
        options: Options = {"use": self.use, "pad": self.pad, "edit": self.edits.taps}
        return options if self.target is None else {**options, "target": self.target.ids}

    @property
    def run(self) -> ModelRun:
        """The run as the model takes it."""
        target = None if self.target is None else self.target.ids
        return ModelRun(self.ids, target, self.use, self.pad, self.edits.taps, self.edits.looks_ahead, self.pixels)

    @property
    def padded(self) -> list[int]:
        """The ids with their PADs: positions count in these."""
        pad_id = self.traceable.tokenizer.special.pad
        return self.ids if pad_id is None else pad_ids(self.ids, self.pad, pad_id)

    @property
    def lengths(self) -> Lengths:
        return lengths_of(self.ids, self.target, self.pad)

    def resolved(self, asked: Run) -> dict[str, Any]:
        """The run as requested, with the model's choices filled in: its name, the causal mask, target, attentions."""
        description = self.traceable.description
        causal = any(one.causal for one in description.attentions) if self.use.causal is None else self.use.causal
        run = asked.to_json(next((one.id for one in description.attentions), None))
        return run | {
            "model": self.traceable.name,
            "target_ids": self.target.ids if self.target is not None and asked.target is None else None,
            "masks": {"causal": causal, "padding": self.use.padding},
        }


def plan_run(traceable: TraceableModel, request: Run, max_chars: int) -> RunPlan:
    """Read the request. If a translator gets no target, the model writes one.

    Raises `AppError` for an invalid sentence, target or intervention.
    """
    ids = tokens.read(traceable, request, max_chars)
    target = target_of(traceable, ids, request.target, request.target_ids, max_chars)
    return planned(traceable, request, ids, target, max_chars)


def plan_writing(traceable: TraceableModel, request: Run, max_chars: int) -> RunPlan:
    """Read a request whose text or target the model will continue: interventions may name later tokens.

    Raises what `plan_run` raises, and `bad_pad` for PADs in the place of the new tokens.
    """
    writes = traceable.description.writes
    ids = tokens.read(traceable, request, max_chars, grows=writes == "source")
    if request.pad.count and request.pad.side == "right" and writes == "source":
        message = "PADs on the right are in the place of the new tokens."
        raise AppError("bad_pad", message, "Put PADs on the left.", where="pad.side", got="right")
    given = resolve(traceable, request.target, request.target_ids, max_chars)
    start = Target(given or start_of(traceable), "request") if writes == "target" else None
    return planned(traceable, request, ids, start, max_chars, grows=writes)


def planned(
    traceable: TraceableModel,
    run: Run,
    ids: list[int],
    target: Target | None,
    max_chars: int,
    grows: Side | None = None,
) -> RunPlan:
    check_hidden(traceable, run, ids)
    if run.pad.count and traceable.tokenizer.special.pad is None:
        message = f"{traceable.name!r} has no PAD."
        raise AppError("bad_pad", message, "Leave pad out.", where="pad.count", got=run.pad.count)
    pad = Padding(run.pad.count, run.pad.side, run.pad.follow, tuple(sorted(set(run.pad.hidden))))
    lengths = lengths_of(ids, target, pad)
    limits = lengths if grows is None else {**lengths, grows: traceable.description.max_seq_len}
    sources = Sources(traceable, max_chars)
    edits = edits_of(run.interventions, Site(traceable.name, traceable.description, lengths, limits, sources.find))
    sources.trace()
    use = Masks(run.masks.causal, run.masks.padding)
    return RunPlan(traceable, ids, target, use, pad, edits, bytes_of(traceable, run.sentence.pixels))


class Sources:
    """The other runs that interventions take numbers from. Each is traced once, with all the taps asked of it."""

    def __init__(self, traceable: TraceableModel, max_chars: int) -> None:
        self.traceable, self.max_chars = traceable, max_chars
        self.found: dict[str, tuple[RunPlan, OtherRun]] = {}

    def find(self, run: Run, at: str) -> OtherRun:
        """The source for this run, whose path in the request is `at`.

        Raises `too_many_sources`, and any error of the run, with its place in the request.
        """
        key = json.dumps(run.to_json(None) | {"model": self.traceable.name}, sort_keys=True)
        if key not in self.found:
            if len(self.found) == MAX_SOURCES:
                message = f"A run can take numbers from at most {MAX_SOURCES} others."
                raise AppError("too_many_sources", message, "Take fewer.", where="interventions", limit=MAX_SOURCES)
            with inside(at):
                plan = plan_run(self.traceable, run, self.max_chars)
            self.found[key] = plan, OtherRun(plan.lengths)
        return self.found[key][1]

    def trace(self) -> None:
        """Run each source, and fill in the tensors that were asked of it."""
        for plan, source in self.found.values():
            source.tensors = self.traceable.trace(plan.run, sorted(source.taps)).tensors


def lengths_of(ids: list[int], target: Target | None, pad: Padding) -> Lengths:
    return {"source": len(ids) + pad.count, "target": len(target.ids) if target else 0}
