"""A generation as events: `start`, then one `step` for each new token, then `end`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import torch

from chumoku.app.api.requests import GenerateRequest
from chumoku.app.api.schema import Sampling
from chumoku.app.errors import AppError
from chumoku.app.services import tokens
from chumoku.app.services.batching import Batching
from chumoku.app.services.capabilities import CLASSIFIES, check_can
from chumoku.app.services.plan import plan_writing
from chumoku.app.services.predictions import prediction_json, settings_of
from chumoku.app.services.prefixes import Prediction, Prefixes
from chumoku.app.services.wire import EncodedDict, EncodedList, Event, in_json
from chumoku.model import batched_decoding
from chumoku.model.describe import Description
from chumoku.model.generate import Generator, Step, completes, step_together
from chumoku.model.session import Prefix, is_resumable
from chumoku.model.stopping import Stopped
from chumoku.model.traceable import TraceableModel

NUMBERS = tuple(name for name in Sampling.model_fields if name != "banned")


class GenerationSession:
    """A generation that advances on request, from one thread at a time."""

    def __init__(
        self,
        traceable: TraceableModel,
        request: GenerateRequest,
        max_chars: int,
        max_new: int,
        prefixes: Prefixes | None = None,
    ) -> None:
        """Raises `AppError` for an invalid request. `prefixes`: KV caches of earlier generations."""
        check_can(traceable, "generate", CLASSIFIES)
        check_max_new(request.max_new_tokens, max_new)
        self.traceable, self.request = traceable, request
        plan = plan_writing(traceable, request, max_chars)
        self.plan = replace(plan, run=replace(plan.run, cache=request.cache))
        self.taps = written_rows(traceable.description) if request.rows else {}
        names = [name for taps in self.taps.values() for name in taps]
        settings = settings_of(request, traceable, request.seed)
        session = traceable.start(self.plan.run, names)
        forced = forced_ids(traceable, request, session.prompt, max_chars)
        self.generator = Generator(session, settings, traceable.tokenizer.never_sampled, forced)
        self.prefixes = prefixes if prefixes and request.cache else Prefixes(0)
        self.key = self.prefixes.key(self.plan, request, names)
        self.reused = 0  # tokens of the prompt that an earlier generation has read
        self.prefix: Prefix | None = None
        """What it has read, if that is in the cache."""
        self.asked = (request.n, *(getattr(request, name) for name in NUMBERS), tuple(request.banned))
        self.tokens = EncodedList()
        """On the wire, those of the text that grows."""

    @property
    def group(self) -> Hashable:
        """Generations of the same group can step as one batch; None: only alone."""
        return batched_decoding.group(self.generator.session)

    @property
    def prompt(self) -> list[int]:
        """The ids to continue: an encoder-decoder's target, otherwise the text itself."""
        return self.generator.session.prompt

    @property
    def n_new(self) -> int:
        return max(0, len(self.generator.ids) - len(self.prompt))

    @property
    def ended(self) -> str | None:
        """Why the generation ends, or None. A target given with its END is already complete."""
        ids = self.generator.ids
        is_target = self.plan.run.target is not None and len(self.prompt) > 1  # more than START
        if (self.n_new or is_target) and ids[-1] == self.traceable.tokenizer.special.end:
            return "end_of_text"
        if self.n_new and completes(ids, self.request.stop, self.traceable.tokenizer.token_bytes):
            return "stop"
        if self.n_new >= self.request.max_new_tokens:
            return "max_new_tokens"
        return "window_full" if self.generator.full else None

    @property
    def is_read(self) -> bool:
        """Whether nothing of the prompt is left to read."""
        return len(self.generator.ids) >= len(self.prompt)

    def resume(self) -> None:
        """Starts after the longest prefix of the prompt that is in the cache."""
        self.prefix = self.prefixes.resume(self.key, self.generator.session)
        self.reused = len(self.generator.ids)

    def follow(self, other: GenerationSession) -> None:
        """Starts where another stands that has the same run and prediction, and has read its prompt."""
        session, theirs = self.generator.session, other.generator.session
        prefix = theirs.prefix if is_resumable(theirs) else None
        if prefix is None or not is_resumable(session):
            self.start()
            return
        session.resume(prefix)
        self.generator.next, self.tokens = other.generator.next, other.tokens

    def start(self) -> Event:
        """Reads the rest of the prompt; returns its tokens and the prediction after them."""
        whole = self.prefix if self.is_read else None
        known = None if whole is None else self.prefixes.predictions.find(whole.logits, self.asked)
        step = self.generator.prefill(None if known is None else known.dist)
        if whole is None:
            self._keep()
        tokenizer, writes_target = self.traceable.tokenizer, self.plan.run.target is not None
        if known is None:
            known = self._told(step, EncodedList(tokens.tokens_json(tokenizer, self.prompt)))
            self._keep_prediction(known)
        self.tokens = known.tokens
        data = {
            "model": self.traceable.name,
            "tokens": tokens.tokens_json(tokenizer, self.plan.padded) if writes_target else self.tokens,
            "target_tokens": self.tokens if writes_target else None,
            "n_prompt": len(self.prompt),
            "run": self.plan.resolved(self.request),
            "prediction": known.told,
            "cache": {"reused": self.reused} | cache_json(step),
        }
        return Event("start", data)

    def step(self) -> Event:
        """Draw the next token and read it."""
        start = perf_counter()
        return self.tell(self.generator.step(), start)

    def tell(self, step: Step, start: float) -> Event:
        """The event of a step that began at `start`; stores the prefix in the cache."""
        self._keep()
        assert step.drawn is not None
        self.tokens = tokens.grown(self.traceable.tokenizer, self.tokens, step.ids)
        token, found = self.tokens[-1], self._told(step, self.tokens)
        if self.ended is not None:  # the next request begins here; those between would only take memory
            self._keep_prediction(found)
        data = {
            "index": token["index"],
            "token": token,
            "u": step.u,
            "before": float(step.drawn.before[token["id"]]),
            "after": float(step.drawn.after[token["id"]]),
            "rows": {id: rows_json(step, taps) for id, taps in self.taps.items()} if self.request.rows else None,
            "prediction": found.told,
            "cache": cache_json(step),
        }
        return Event("step", data | {"seconds": perf_counter() - start})

    def end(self) -> Event:
        return Event("end", {"reason": self.ended, "n_new": self.n_new})

    def _keep(self) -> None:
        """Stores what was read for other generations."""
        self.prefix = self.prefixes.keep(self.key, self.generator.session)

    def _told(self, step: Step, shown: EncodedList) -> Prediction:
        """The prediction after the newest token."""
        position = len(step.ids) - 1
        found = prediction_json(self.traceable.tokenizer, step.next, self.request.n, self.request)
        return Prediction(step.next, EncodedDict({"position": position, "next_index": position + 1} | found), shown)

    def _keep_prediction(self, found: Prediction) -> None:
        """For the generation that continues from here."""
        if self.prefix is not None:
            self.prefixes.predictions.keep(self.prefix.logits, self.asked, found)


@dataclass(eq=False)
class Begun:
    """A generation with its first events. Without `start`, its prompt has yet to be read in a separate turn; so has the
    first `step`, unless it is here."""

    session: GenerationSession
    start: Event | None
    may_step: bool
    step: Event | Exception | None = None


def begin(makers: Sequence[Callable[[], GenerationSession]]) -> list[Begun | Exception]:
    """Begins several generations. Those whose prompts are cached take their first step, in one forward pass. No prompt
    is read here, so a long one does not delay the others.
    """
    begun = [begin_one(make) for make in makers]
    groups: dict[Hashable, list[Begun]] = {}
    for one in begun:
        if isinstance(one, Begun) and one.may_step:
            groups.setdefault(one.session.group, []).append(one)
    for those in groups.values():
        for one, step in zip(those, steps([one.session for one in those]), strict=True):
            one.step = step
    return begun


def begin_one(make: Callable[[], GenerationSession]) -> Begun | Exception:
    """A generation, with its start if its prompt is cached; or its error, which does not affect the others."""
    try:
        session = make()
        session.resume()
        if not session.is_read:
            return Begun(session, None, may_step=False)
        return Begun(session, session.start(), session.group is not None and session.ended is None)
    except Stopped:
        raise
    except Exception as error:
        return error


def steps(sessions: Sequence[GenerationSession]) -> list[Event | Exception]:
    """The next step of several generations, in one forward pass: their sessions are of one `batched_decoding.group`.

    If the pass fails, each steps alone, so that one error does not end the others.
    """
    start = perf_counter()
    try:
        taken = step_together([one.generator for one in sessions])
    except Stopped:
        raise
    except Exception as error:
        return [error] if len(sessions) == 1 else [event for one in sessions for event in steps([one])]
    return [told(one, step, start) for one, step in zip(sessions, taken, strict=True)]


def told(session: GenerationSession, step: Step, start: float) -> Event | Exception:
    """A step's event, or its error, which does not affect the others."""
    try:
        return session.tell(step, start)
    except Exception as error:
        return error


Steps = Batching[GenerationSession, Event]
Beginnings = Batching[Callable[[], GenerationSession], Begun]


def forced_ids(traceable: TraceableModel, request: GenerateRequest, prompt: list[int], max_chars: int) -> list[int]:
    """What is left to write of the forced beginning: nothing once the answer has another one."""
    if not request.begin:
        return []
    where = tokens.TARGET if traceable.description.writes == "target" else "begin"
    ids = tokens.encode(traceable.tokenizer, request.begin, max_chars, where)
    written = prompt[max(0, len(prompt) - request.n_written) :]
    return ids[len(written) :] if written == ids[: len(written)] else []


def check_max_new(asked: int, limit: int) -> None:
    """Raise `too_many_tokens` for more new tokens than the server allows."""
    if asked > limit:
        message = f"{asked} new tokens are more than the limit of {limit}."
        hint = f"Ask for at most {limit}, and continue from there."
        raise AppError("too_many_tokens", message, hint, where="max_new_tokens", got=asked, limit=limit)


def written_rows(description: Description) -> dict[str, list[str]]:
    """The overviews of each attention of the stack that writes, one tap per layer, by the attention's id."""
    shown = [one for one in description.attentions if one.stack == description.logits.stack]
    return {one.id: list(one.roles[one.overview].taps) for one in shown if one.overview}


def cache_json(step: Step) -> dict[str, Any]:
    """What a step read and keeps, and how long its forward pass took, of which `together` texts had a part."""
    read = {"positions": len(step.ids), "computed": step.computed, "bytes": step.cache_bytes}
    return read | {"milliseconds": 1000 * step.seconds, "together": step.together}


def rows_json(step: Step, overviews: Sequence[str]) -> dict[str, Any]:
    """The newest query's weights in every layer and head of one attention, [layer head key], as bytes round(255·w) in
    base64."""
    rows = torch.stack([step.tensors[name][:, -1] for name in overviews])  # layer head key
    return in_json("pattern", rows, "uint8")
