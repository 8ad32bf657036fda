"""Generation, one token per step, with a KV cache and everything that a trace can show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import torch
from torch import Tensor

from chumoku.model import batched_decoding
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.sampling import Distribution, SamplingSettings, distribution, draw, uniform
from chumoku.model.session import DecoderSession, Forward, Session


@dataclass(frozen=True)
class Step:
    """One forward pass of a generation: first over the prompt, then over each new token.

    `ids` are all tokens so far. `drawn` is the distribution that the newest was drawn from, `u` in [0, 1) the random
    number that drew it (None if it was forced; both None for the prompt); `next` is the distribution of the next token.
    `tensors` are the requested taps without batch dimension: the queries are the `computed` newest positions, the keys
    all positions. `seconds` is what the forward pass took, of which `together` texts had a part.
    """

    ids: list[int]
    drawn: Distribution | None
    u: float | None
    next: Distribution
    tensors: dict[str, Tensor]
    computed: int
    cache_bytes: int
    seconds: float
    together: int = 1


class Generator:
    """A generation that advances on request: first `prefill`, then `step` for each token. It never draws `banned`
    ids, and writes those of `forced` before it draws any."""

    def __init__(
        self, session: Session, settings: SamplingSettings, banned: Sequence[int], forced: Sequence[int] = ()
    ) -> None:
        self.session, self.settings, self.banned, self.forced = session, settings, banned, list(forced)

    @property
    def ids(self) -> list[int]:
        return self.session.ids

    @property
    def full(self) -> bool:
        """Whether the window is full."""
        return len(self.ids) >= self.session.window

    def prefill(self, known: Distribution | None = None) -> Step:
        """Read the prompt, except for the part that the session has resumed. `known`: what follows it, if that was
        computed before."""
        return self._read(self.session.prompt[len(self.ids) :], None, None, known)

    def step(self) -> Step:
        """Draw the next token and read it. Raises `ValueError` if the window is full."""
        drawn, u, newest = self.draw()
        return self._read([newest], drawn, u)

    def draw(self) -> tuple[Distribution, float | None, int]:
        """The distribution of the next token, the random number that draws it (None: it is forced), and the token."""
        if self.full:
            raise ValueError(f"the model's window of {self.session.window} tokens is full")
        if self.forced:
            return self.next, None, self.forced[0]
        u = uniform(self.settings.seed, len(self.ids))
        return self.next, u, draw(self.next, u)

    def _read(
        self, ids: Sequence[int], drawn: Distribution | None, u: float | None, known: Distribution | None = None
    ) -> Step:
        start = perf_counter()
        return self._took(self.session.step(ids), drawn, u, perf_counter() - start, known=known)

    def _took(
        self,
        forward: Forward,
        drawn: Distribution | None,
        u: float | None,
        seconds: float,
        together: int = 1,
        known: Distribution | None = None,
    ) -> Step:
        if drawn is not None:
            self.forced = self.forced[1:]
        self.next = known or distribution(forward.logits, self.settings, self.banned, self.ids)
        of_pass = (forward.tensors, forward.computed, forward.cache_bytes, seconds, together)
        return Step(list(self.ids), drawn, u, self.next, *of_pass)


def step_together(generators: Sequence[Generator]) -> list[Step]:
    """Each generation's next step, in one forward pass. Their sessions belong to one `batched_decoding.group`."""
    drawn = [generator.draw() for generator in generators]
    sessions = [generator.session for generator in generators if batched_decoding.is_decoder(generator.session)]
    start = perf_counter()
    forwards = batched_decoding.step(sessions, [newest for _, _, newest in drawn])
    seconds = perf_counter() - start
    return [
        generator._took(forward, dist, u, seconds, len(forwards))
        for generator, forward, (dist, u, _) in zip(generators, forwards, drawn, strict=True)
    ]


def generate(
    checkpoint: Checkpoint,
    ids: Sequence[int] | Run,
    settings: SamplingSettings,
    max_new_tokens: int,
    names: Sequence[str] = (),
) -> Iterator[Step]:
    """The prompt's step, then up to `max_new_tokens` more; stops after an END or when the window is full."""
    run = ids if isinstance(ids, Run) else Run(ids)
    session = DecoderSession(checkpoint, run, names)
    yield from steps(
        Generator(session, settings, checkpoint.tokenizer.never_sampled), checkpoint.tokenizer.end_id, max_new_tokens
    )


@torch.inference_mode()
def greedy_ids(session: Session, banned: Sequence[int], end_id: int | None, longest: int) -> list[int]:
    """The prompt and up to `longest` tokens of its greedy continuation, without the END that stops it."""
    forward = session.step(session.prompt)
    for _ in range(longest):
        logits = forward.logits.clone()
        logits[list(banned)] = -torch.inf
        newest = int(logits.argmax())
        if newest == end_id or len(session.ids) >= session.window:
            break
        forward = session.step([newest])
    return list(session.ids)


def steps(
    generator: Generator, end_id: int | None, max_new_tokens: int, stops: Callable[[list[int]], bool] = lambda _: False
) -> Iterator[Step]:
    """The prompt's step, then up to `max_new_tokens` more; stops after an END, where `stops` says so of the ids so far,
    or when the window is full."""
    yield generator.prefill()
    for _ in range(max_new_tokens):
        if generator.full:
            return
        step = generator.step()
        yield step
        if step.ids[-1] == end_id or stops(step.ids):
            return


def completes(ids: Sequence[int], texts: Sequence[str], token_bytes: Callable[[int], bytes]) -> bool:
    """Whether the newest of `ids` completes one of `texts`, which may begin in tokens before it, as in transformers'
    `stop_strings`."""
    wanted = [text.encode() for text in texts]
    newest, tail = token_bytes(ids[-1]), b""
    for one in reversed(ids[:-1]):  # as much as the longest text can reach back
        if len(tail) >= max(map(len, wanted), default=0):
            break
        tail = token_bytes(one) + tail
    found = tail + newest
    return any(found.rfind(text) + len(text) > len(tail) for text in wanted if text in found)
