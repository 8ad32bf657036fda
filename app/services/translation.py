"""A translation by beam search, one step at a time, so that it takes turns with other work and can be cancelled."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import torch

from chumoku.app.api.requests import TranslateRequest
from chumoku.app.services import tokens
from chumoku.app.services.beams import allowed_by, hypothesis_json
from chumoku.app.services.capabilities import check_can
from chumoku.app.services.languages import Languages, notes
from chumoku.app.services.plan import plan_writing
from chumoku.model.traceable import TraceableModel


class TranslationSession:
    """A search that advances on request until it is no longer `open`, from one thread at a time."""

    def __init__(self, traceable: TraceableModel, request: TranslateRequest, max_chars: int) -> None:
        """Read the source. Raises `AppError` for an invalid request."""
        start = perf_counter()
        check_can(traceable, "beams")
        self.traceable, self.request = traceable, request
        self.plan = plan_writing(traceable, request, max_chars)
        self.source = self.plan.padded
        allowed = allowed_by(traceable, request)
        with torch.inference_mode():
            self.search = traceable.search(self.plan.run, request.beams, request.alpha)
        self.search.banned, self.search.stops = allowed
        self.seconds = perf_counter() - start

    @torch.inference_mode()
    def step(self) -> bool:
        """Add a token to every beam. Returns whether there is more to do."""
        start = perf_counter()
        self.search.step()
        more = self.search.open
        self.seconds += perf_counter() - start
        return more

    def answer(self, loaded: Languages) -> dict[str, Any]:
        """The answer of `/api/translate` when the search is over."""
        tokenizer, request = self.traceable.tokenizer, self.request
        asked = request.sentence.text
        text = tokens.text_of(tokenizer, self.source) if asked is None else asked
        return {
            "model": self.traceable.name,
            "run": self.plan.resolved(request) | {"target_ids": None},
            "tokens": tokens.tokens_json(tokenizer, self.source),
            "hypotheses": [hypothesis_json(tokenizer, found) for found in self.search.best],
            "beams": request.beams,
            "alpha": request.alpha,
            "seconds": self.seconds,
            "notes": notes(self.traceable.about, text, loaded),
        }
