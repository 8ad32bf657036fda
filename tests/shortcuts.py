"""Calls of `model/` with a checkpoint and ids, which tests use as oracles: one line each in the place of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Unpack

from chumoku.model.attribution.norm_contributions import River, route_of
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.anatomy import Options
from chumoku.model.explain.head_labels import Head, labels_of
from chumoku.model.explain.lens import Lens, lens_of
from chumoku.model.generate import Generator, Step, steps
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.session import TargetSession
from chumoku.model.traceable import ZooModel


def run_of(ids: Sequence[int], options: Options) -> Run:
    """The run that has the options of an explanation."""
    return Run(ids, **{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]


def route(checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> list[River]:
    return route_of(ZooModel(checkpoint), run_of(ids, options))


def labels(checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> list[Head]:
    return labels_of(ZooModel(checkpoint), run_of(ids, options))


def logit_lens(checkpoint: Checkpoint, ids: Sequence[int], *, k: int = 5, **options: Unpack[Options]) -> Lens:
    return lens_of(ZooModel(checkpoint), run_of(ids, options), k=k)


def target_generator(
    checkpoint: Checkpoint, source: Sequence[int] | Run, settings: SamplingSettings, names: Sequence[str] = ()
) -> Generator:
    """A target that grows on request; `ids` are the target's, START first."""
    run = source if isinstance(source, Run) else Run(source)
    return Generator(TargetSession(checkpoint, run, names), settings, checkpoint.tokenizer.never_sampled)


def generate_target(
    checkpoint: Checkpoint,
    source: Sequence[int] | Run,
    settings: SamplingSettings,
    max_new_tokens: int,
    names: Sequence[str] = (),
) -> Iterator[Step]:
    """The step of START, then up to `max_new_tokens` more; stops after an END or at the end of the window."""
    yield from steps(target_generator(checkpoint, source, settings, names), checkpoint.tokenizer.end_id, max_new_tokens)
