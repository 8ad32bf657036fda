"""What attention costs: counted from shapes, measured by length, and what the KV cache saves of it on a text."""

from __future__ import annotations

from dataclasses import asdict, replace

import torch

from chumoku.app.api.explain.requests import CachingRequest
from chumoku.app.api.schema import ModelRequest
from chumoku.app.errors import AppError
from chumoku.app.services.capabilities import CLASSIFIES, check_can
from chumoku.app.services.memory_budget import Reserve, Size
from chumoku.app.services.plan import plan_writing
from chumoku.app.services.wire import Event, Json
from chumoku.model.explain.caching import Readings
from chumoku.model.explain.timings import LENGTHS, Timings
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.mechanisms.mixer import sizes
from chumoku.model.traceable import About, TraceableModel

COUNTS = 64_000
"""Most bytes of JSON for the formulas of all mechanisms."""


def cost(traceable: TraceableModel, request: ModelRequest, reserve: Reserve) -> Json:
    reserve(Size(COUNTS, "There are too many mechanisms."))
    costs = {name: mixer.cost() for name, mixer in MECHANISMS.items()}
    own = traceable.description.attentions[0].kind
    return {
        "own": own if costs.get(own) else None,
        "sizes": sizes_of(traceable.about),
        "forms": [{"name": name, **asdict(found)} for name, found in costs.items() if found is not None],
    }


def sizes_of(about: About) -> dict[str, int]:
    """The model's sizes, with defaults for a model without a window or a rank."""
    given = {name: about.config[name] for name in ("reach", "rank") if isinstance(about.config.get(name), int)}
    return sizes(about.description.d_model, about.description.attentions[0].n_head, **given)


class TimingsSession:
    """Takes measurements one by one, on request, from one thread at a time."""

    def __init__(self, about: About, device: torch.device) -> None:
        self.timings = Timings(sizes_of(about), device)

    def start(self) -> Event:
        about = {"device": self.timings.device.type, "threads": torch.get_num_threads(), "sizes": self.timings.sizes}
        return Event("start", {"forms": self.timings.forms, "lengths": list(LENGTHS), **about})

    def step(self) -> Event | None:
        """The next measurement; None after the last."""
        timing = self.timings.step()
        return None if timing is None else Event("point", asdict(timing))


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
