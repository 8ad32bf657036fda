"""Beam search over a text or a target, one step at a time: it takes turns with other work and can be cancelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import torch

from chumoku.app.api.requests import BeamsRequest, SearchRequest
from chumoku.app.errors import AppError
from chumoku.app.services import tokens
from chumoku.app.services.capabilities import CLASSIFIES, check_can
from chumoku.app.services.generation import check_max_new
from chumoku.app.services.plan import plan_writing
from chumoku.app.services.predictions import check_left, sequences
from chumoku.model.beams import Considered, Hypothesis, TextSearch
from chumoku.model.generate import completes
from chumoku.model.traceable import TraceableModel, TraceableTokenizer


class BeamsSession:
    """A search that advances on request until it is no longer `open`, from one thread at a time."""

    def __init__(self, traceable: TraceableModel, request: BeamsRequest, max_chars: int, max_new: int) -> None:
        """Reads the text. Raises `AppError` for an invalid request, and for a window that is full."""
        start = perf_counter()
        check_can(traceable, "generate", CLASSIFIES)
        check_max_new(request.max_new_tokens, max_new)
        self.traceable, self.request = traceable, request
        self.plan = plan_writing(traceable, request, max_chars)
        tokenizer, window = traceable.tokenizer, traceable.description.max_seq_len
        self.prompt = self.plan.padded if self.plan.run.target is None else list(self.plan.run.target)
        if len(self.prompt) >= window:
            message = f"The model's window of {window} tokens is full."
            raise AppError("too_long", message, "Shorten the text.", got=len(self.prompt), limit=window - 1)
        allowed = allowed_by(traceable, request)
        with torch.inference_mode():
            self.search = TextSearch(
                lambda: traceable.start(self.plan.run, []),
                tokenizer.special.end,
                tokenizer.never_sampled,
                max_new=request.max_new_tokens,
                beams=request.beams,
                alpha=request.alpha,
            )
        self.search.banned, self.search.stops = allowed
        self.seconds = perf_counter() - start

    def step(self) -> bool:
        """Add a token to every beam. Returns whether there is more to do."""
        start = perf_counter()
        self.search.step()
        self.seconds += perf_counter() - start
        return self.search.open

    def answer(self) -> dict[str, Any]:
        """The answer of `/api/beams` when the search is over."""
        tokenizer, request = self.traceable.tokenizer, self.request
        return {
            "model": self.traceable.name,
            "run": self.plan.resolved(request),
            "tokens": tokens.tokens_json(tokenizer, self.plan.padded),
            "n_prompt": len(self.prompt),
            "hypotheses": [hypothesis_json(tokenizer, found) for found in self.search.best],
            "steps": [self._considered(step) for step in self.search.considered],
            "beams": request.beams,
            "alpha": request.alpha,
            "seconds": self.seconds,
        }

    def _considered(self, step: list[Considered]) -> list[dict[str, Any]]:
        named = tokens.vocabulary_tokens(self.traceable.tokenizer, [one.id for one in step])
        return [
            {"parent": one.parent, "token": token, "log_p": one.log_p, "fate": one.fate}
            for one, token in zip(step, named, strict=True)
        ]


Allowed = tuple[Sequence[Sequence[int]], Callable[[list[int]], bool] | None]
"""The `banned` and `stops` of a search."""


def allowed_by(traceable: TraceableModel, request: SearchRequest) -> Allowed:
    """What a search may write, known before it reads anything. Raises `AppError` if every token is banned."""
    tokenizer = traceable.tokenizer
    check_left(tokenizer, banned := sequences(traceable, request.banned))
    return banned, partial(completes, texts=request.stop, token_bytes=tokenizer.token_bytes) if request.stop else None


def hypothesis_json(tokenizer: TraceableTokenizer, found: Hypothesis) -> dict[str, Any]:
    return {
        "text": tokens.text_of(tokenizer, found.ids),
        "tokens": tokens.tokens_json(tokenizer, found.ids),
        "log_p": found.log_p,
        "score": found.score,
        "ended": found.ended,
    }
