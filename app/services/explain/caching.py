"""What the KV cache saves on a text, measured length by length."""

from __future__ import annotations

from dataclasses import asdict, replace

import torch

from chumoku.app.api.explain.requests import CachingRequest
from chumoku.app.errors import AppError
from chumoku.app.services.capabilities import CLASSIFIES, check_can
from chumoku.app.services.plan import plan_writing
from chumoku.app.services.wire import Event
from chumoku.model.explain.caching import Readings
from chumoku.model.traceable import TraceableModel


class CachingSession:
    """Reads a text with and without a cache, on request, from one thread at a time."""

    def __init__(self, traceable: TraceableModel, request: CachingRequest, max_chars: int) -> None:
        """Raises `AppError` for an invalid request, and for a run in which a query may see a later key."""
        check_can(traceable, "generate", CLASSIFIES)
        self.traceable, self.plan = traceable, plan_writing(traceable, request, max_chars)
        run = self.plan.run
        if not run.keeps:
            message = "A query may attend to a later key: each new token changes what was read, so nothing can be kept."
            raise AppError("cannot", message, "Turn the causal mask on, and allow no later cell.", where="masks.causal")
        kept, again = (traceable.start(replace(run, cache=cache), []) for cache in (True, False))
        self.readings = Readings(kept, again, kept.prompt, traceable.device)

    def start(self) -> Event:
        about = {"device": self.traceable.device.type, "threads": torch.get_num_threads()}
        return Event("start", {"lengths": list(self.readings.left), **about})

    def step(self) -> list[Event]:
        """The next length; none after the last."""
        reading = self.readings.step()
        return [] if reading is None else [Event("reading", asdict(reading))]
