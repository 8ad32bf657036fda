"""A translation token by token: the generation of an encoder-decoder, which can be stopped, sampled and inspected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.generate import Generator, Step, steps
from chumoku.model.run import Run
from chumoku.model.sampling import Settings
from chumoku.model.session import TargetSession


def target_generator(
    checkpoint: Checkpoint, source: Sequence[int] | Run, settings: Settings, names: Sequence[str] = ()
) -> Generator:
    """A target that grows on request; `ids` are the target's, START first. Raises what `TargetSession` raises."""
    run = source if isinstance(source, Run) else Run(source)
    return Generator(TargetSession(checkpoint, run, names), settings, checkpoint.tokenizer.never_sampled)


def generate_target(
    checkpoint: Checkpoint,
    source: Sequence[int] | Run,
    settings: Settings,
    max_new_tokens: int,
    names: Sequence[str] = (),
) -> Iterator[Step]:
    """The step of START, then up to `max_new_tokens` more of the target of `source`; stops after an END or at the end
    of the window."""
    yield from steps(target_generator(checkpoint, source, settings, names), checkpoint.tokenizer.end_id, max_new_tokens)
